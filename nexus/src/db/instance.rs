//! Instances: their records, and the transactions that start, migrate and delete them.

use super::address::{PoolRequest, resolve_pool};
use super::attach::{Location, check_room, start_attaching};
use super::disk::disk_by;
use super::error::{TxError, TxResult, taken};
use super::external_ip::{
    allocate_ephemeral, allocate_snat, floating_ip_by, ips_of_instance, release, whole_address_row,
};
use super::instance_disk::{InstanceDisk, attach_disks, detach_all_disks};
use super::nat::{ensure_entries_of_instance, remove_entries_of_instance};
use super::nic::{NicRequest, has_version, insert_nics, primary_nic};
use super::paging::page;
use super::port::note_all;
use super::project::live_project;
use super::quotas::check_compute;
use super::saga::{SagaRef, fence};
use super::ssh_key::{SshKeyRequest, assign_keys, forget_keys};
use super::vmm::{delete_vmm, insert_vmm};
use super::{Datastore, now};
use db_model::schema::{external_ip, instance, migration, network_interface, vmm};
use db_model::{
    ExternalIp, Instance, InstanceState, IpKind, IpState, Migration, MigrationState, Vmm, VmmState,
};
use diesel::prelude::*;
use nexus_common::{Error, IpVersion, Name, NameOrId, PageBy, ResourceType};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use uuid::Uuid;

/// An external address of a new instance.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ExternalIpRequest {
    /// An address of a pool's own, under this id.
    Ephemeral { id: Uuid, pool: PoolRequest },
    /// A floating IP of the project.
    Floating(NameOrId),
}

/// An instance to be made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewInstance {
    pub row: Instance,
    pub nics: Vec<NicRequest>,
    pub external_ips: Vec<ExternalIpRequest>,
    /// The boot disk first, if there is one.
    pub disks: Vec<InstanceDisk>,
    pub has_boot_disk: bool,
    pub ssh_keys: SshKeyRequest,
}

/// What an instance is to be afterwards.
#[derive(Clone, Debug)]
pub struct InstanceUpdate {
    pub ncpus: i32,
    /// Bytes.
    pub memory: i64,
    pub boot_disk_id: Option<Uuid>,
    pub auto_restart_policy: Option<String>,
    pub cpu_platform: Option<String>,
}

/// An instance and the VMM that is its active one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InstanceAndVmm {
    pub instance: Instance,
    pub vmm: Option<Vmm>,
}

/// The live instance with this id.
pub(super) fn live_instance(conn: &mut PgConnection, id: Uuid) -> TxResult<Instance> {
    let found = instance::table
        .filter(instance::id.eq(id))
        .filter(instance::time_deleted.is_null())
        .select(Instance::as_select())
        .first(conn)
        .optional()?;
    Ok(found.ok_or_else(|| Error::not_found(ResourceType::Instance, id))?)
}

/// Refuses two ephemeral IPs whose pools turn out to be of one version.
fn same_version(requests: &[ExternalIpRequest], version: db_model::IpVersion) -> Error {
    let named = |request: &&ExternalIpRequest| {
        matches!(request, ExternalIpRequest::Ephemeral { pool: PoolRequest::Pool(_), .. })
    };
    let why = match requests.iter().filter(named).count() {
        2 => format!("both pools are {version}"),
        _ => format!("explicit pool and auto selection both specify {version}"),
    };
    Error::invalid(format!(
        "cannot request two ephemeral IPs of the same version ({version}): {why}"
    ))
}

/// Gives a new instance its external addresses, in the order in which they were asked for.
fn create_external_ips(conn: &mut PgConnection, new: &NewInstance, saga_id: Uuid) -> TxResult<()> {
    let instance = &new.row;
    for request in &new.external_ips {
        let id = match request {
            ExternalIpRequest::Floating(selector) => {
                let ip = floating_ip_by(conn, Some(instance.project_id), selector)?;
                if ip.project_id != instance.project_id {
                    let message = "floating IP must be in the same project as the instance";
                    return Err(Error::invalid(message).into());
                }
                if ip.state != IpState::Detached {
                    return Err(super::attach::not_detached(&ip, instance.id).into());
                }
                start_attaching(conn, &ip, instance.id, saga_id)?.id
            }
            ExternalIpRequest::Ephemeral { id, pool } => {
                let pool = resolve_pool(conn, instance.silo_id, pool)?;
                let kind = IpKind::Ephemeral;
                check_room(conn, instance.id, kind, pool.ip_version)?;
                if ips_of_instance(conn, instance.id)?
                    .iter()
                    .any(|ip| ip.kind == kind && ip.ip_version == pool.ip_version)
                {
                    return Err(same_version(&new.external_ips, pool.ip_version).into());
                }
                allocate_ephemeral(conn, pool.id, |address| ExternalIp {
                    state: IpState::Attaching,
                    instance_id: Some(instance.id),
                    saga_id: Some(saga_id),
                    ..whole_address_row(*id, kind, instance.silo_id, instance.project_id, address)
                })?
                .id
            }
        };
        diesel::update(external_ip::table.filter(external_ip::id.eq(id)))
            .set((external_ip::state.eq(IpState::Attached), external_ip::saga_id.eq(None::<Uuid>)))
            .execute(conn)?;
    }
    Ok(())
}

/// Gives the instance source NAT if it has an IPv4 interface and none yet. Where none can be had,
/// an instance that has another IPv4 external address does without.
fn ensure_snat(conn: &mut PgConnection, instance: &Instance) -> TxResult<()> {
    let has_v4_stack =
        primary_nic(conn, instance.id)?.is_some_and(|nic| has_version(&nic, IpVersion::V4));
    let ips = ips_of_instance(conn, instance.id)?;
    if !has_v4_stack || ips.iter().any(|ip| ip.kind == IpKind::Snat) {
        return Ok(());
    }
    let has_other = ips.iter().any(|ip| ip.ip_version == IpVersion::V4.into());
    match allocate_snat(conn, instance.silo_id, instance.project_id, instance.id) {
        Ok(_) => Ok(()),
        Err(TxError::Refused(Error::NotFound { .. } | Error::InsufficientCapacity { .. }))
            if has_other =>
        {
            Ok(())
        }
        Err(error) => Err(error),
    }
}

impl Datastore {
    /// Makes an instance with all that belongs to it: interfaces, addresses, disks. All of it or
    /// nothing, in one transaction, so there is no half-made instance to unwind. Doing it again
    /// with the same row finds it done.
    pub async fn instance_create(
        &self,
        saga: SagaRef,
        new: NewInstance,
    ) -> Result<Instance, Error> {
        let snat = PoolRequest::Default(Some(IpVersion::V4));
        let _turn = self.pool_turn(new.row.silo_id, &snat).await;
        self.transaction("create instance", move |conn| {
            fence(conn, saga)?;
            let again = instance::table
                .filter(instance::id.eq(new.row.id))
                .select(Instance::as_select())
                .first(conn)
                .optional()?;
            if let Some(again) = again {
                return Ok(again);
            }
            let project = live_project(conn, new.row.project_id)?;
            let row = Instance { boot_disk_id: None, ..new.row.clone() };
            diesel::insert_into(instance::table).values(&row).execute(conn).map_err(taken(
                "instance_name",
                ResourceType::Instance,
                &row.name,
            ))?;
            insert_nics(conn, row.project_id, row.id, &new.nics)?;
            create_external_ips(conn, &new, saga.id)?;
            ensure_snat(conn, &row)?;
            let disks = attach_disks(conn, &project, row.id, &new.disks)?;
            assign_keys(conn, row.id, &new.ssh_keys)?;
            let boot_disk_id = disks.first().copied().filter(|_| new.has_boot_disk);
            diesel::update(instance::table.filter(instance::id.eq(row.id)))
                .set(instance::boot_disk_id.eq(boot_disk_id))
                .execute(conn)?;
            Ok(Instance { boot_disk_id, ..row })
        })
        .await
    }

    /// The instance with this id, without its VMM.
    pub async fn instance_by_id(&self, id: Uuid) -> Result<Instance, Error> {
        self.statement("instance by id", move |conn| live_instance(conn, id)).await
    }

    /// The instance with this id, or with this name in the project.
    pub async fn instance_fetch(
        &self,
        project_id: Option<Uuid>,
        selector: NameOrId,
    ) -> Result<InstanceAndVmm, Error> {
        self.statement("instance", move |conn| {
            let query = instance::table
                .left_join(vmm::table.on(instance::active_vmm_id.eq(vmm::id.nullable())))
                .filter(instance::time_deleted.is_null())
                .select((Instance::as_select(), Option::<Vmm>::as_select()))
                .into_boxed();
            let query = match (&selector, project_id) {
                (NameOrId::Name(name), Some(project_id)) => query
                    .filter(instance::project_id.eq(project_id))
                    .filter(instance::name.eq(name.as_str())),
                (NameOrId::Id(id), _) => query.filter(instance::id.eq(*id)),
                (NameOrId::Name(_), None) => {
                    return Err(Error::not_found(ResourceType::Instance, &selector).into());
                }
            };
            let found: Option<(Instance, Option<Vmm>)> = query.first(conn).optional()?;
            let (instance, vmm) =
                found.ok_or_else(|| Error::not_found(ResourceType::Instance, &selector))?;
            Ok(InstanceAndVmm { instance, vmm })
        })
        .await
    }

    /// A page of a project's instances.
    pub async fn instance_list(
        &self,
        project_id: Uuid,
        by: PageBy,
    ) -> Result<Vec<InstanceAndVmm>, Error> {
        self.statement("instances", move |conn| {
            let query = instance::table
                .left_join(vmm::table.on(instance::active_vmm_id.eq(vmm::id.nullable())))
                .filter(instance::project_id.eq(project_id))
                .filter(instance::time_deleted.is_null())
                .select((Instance::as_select(), Option::<Vmm>::as_select()));
            let rows: Vec<(Instance, Option<Vmm>)> = match &by {
                PageBy::Name(by) => {
                    page!(query, instance::name, by, |name: &Name| name.to_string()).load(conn)?
                }
                PageBy::Id(by) => page!(query, instance::id, by, |id: &Uuid| *id).load(conn)?,
            };
            let with = |(instance, vmm)| InstanceAndVmm { instance, vmm };
            Ok(rows.into_iter().map(with).collect())
        })
        .await
    }

    /// Begins to start an instance: reserves a sled for a new VMM and makes it the active one.
    /// Idempotent for the saga.
    pub async fn begin_start(
        &self,
        saga: SagaRef,
        instance_id: Uuid,
        vmm_id: Uuid,
        avoid: Vec<Uuid>,
    ) -> Result<Vmm, Error> {
        self.transaction("begin start", move |conn| {
            fence(conn, saga)?;
            let instance = live_instance(conn, instance_id)?;
            if instance.active_vmm_id == Some(vmm_id) {
                let ours = vmm::table.filter(vmm::id.eq(vmm_id)).select(Vmm::as_select());
                return Ok(ours.first(conn)?);
            }
            if !matches!(instance.state, InstanceState::NoVmm | InstanceState::Failed) {
                let message = "instance changed state before it could be started";
                return Err(Error::conflict(message).into());
            }
            check_compute(conn, &instance)?;
            ensure_snat_at_start(conn, &instance)?;
            let row = insert_vmm(conn, &instance, vmm_id, saga.id, None, &avoid)?;
            diesel::update(instance::table.filter(instance::id.eq(instance_id)))
                .set((
                    instance::state.eq(InstanceState::Vmm),
                    instance::active_vmm_id.eq(Some(vmm_id)),
                    instance::saga_id.eq(Some(saga.id)),
                    instance::time_state_updated.eq(now()),
                ))
                .execute(conn)?;
            Ok(row)
        })
        .await
    }

    /// Takes a VMM that did not come to run from its instance, which is stopped again.
    pub async fn undo_begin_start(
        &self,
        saga: SagaRef,
        instance_id: Uuid,
        vmm_id: Uuid,
    ) -> Result<(), Error> {
        self.transaction("undo begin start", move |conn| {
            fence(conn, saga)?;
            stop_instance(conn, instance_id, vmm_id, InstanceState::NoVmm)?;
            Ok(delete_vmm(conn, vmm_id)?)
        })
        .await
    }

    /// Writes the NAT entries of a starting instance. Refused while an address comes or goes.
    /// Returns the addresses.
    pub async fn nat_add_all(
        &self,
        saga: SagaRef,
        instance_id: Uuid,
        vmm_id: Uuid,
        sled_id: Uuid,
    ) -> Result<Vec<IpAddr>, Error> {
        self.nat_transaction("add nat entries of instance", move |conn| {
            fence(conn, saga)?;
            let instance = live_instance(conn, instance_id)?;
            if instance.active_vmm_id != Some(vmm_id) {
                return Err(Error::busy("the instance has stopped meanwhile").into());
            }
            refuse_while_moving(conn, instance_id)?;
            note_all(conn, instance_id, vmm_id)?;
            ensure_entries_of_instance(conn, instance_id, sled_id)
        })
        .await
    }

    /// Removes the NAT entries of an instance, if this is still its VMM.
    pub async fn nat_remove_all(
        &self,
        saga: SagaRef,
        instance_id: Uuid,
        vmm_id: Uuid,
    ) -> Result<Vec<IpAddr>, Error> {
        self.nat_transaction("remove nat entries of instance", move |conn| {
            fence(conn, saga)?;
            let active: Option<Uuid> = instance::table
                .filter(instance::id.eq(instance_id))
                .filter(instance::active_vmm_id.eq(vmm_id))
                .select(instance::id)
                .first(conn)
                .optional()?;
            match active {
                Some(_) => Ok(remove_entries_of_instance(conn, instance_id)?),
                None => Ok(Vec::new()),
            }
        })
        .await
    }

    /// Deletes an instance that does not run: interfaces go, disks and floating IPs are detached,
    /// ephemeral and SNAT addresses released, NAT entries removed; by force, whatever sagas are
    /// about to do with them. Returns the addresses that had NAT entries. One that is gone
    /// already stays so.
    pub async fn instance_delete(&self, saga: SagaRef, id: Uuid) -> Result<Vec<IpAddr>, Error> {
        self.nat_transaction("delete instance", move |conn| {
            fence(conn, saga)?;
            let Ok(instance) = live_instance(conn, id) else { return Ok(Vec::new()) };
            if instance.active_vmm_id.is_some() {
                return Err(Error::invalid(
                    "cannot delete instance: instance is running or has not yet fully stopped",
                )
                .into());
            }
            if !matches!(instance.state, InstanceState::NoVmm | InstanceState::Failed) {
                return Err(Error::invalid(format!(
                    "instance cannot be deleted in state \"{}\"",
                    instance.state
                ))
                .into());
            }
            let addresses = remove_entries_of_instance(conn, id)?;
            take_addresses(conn, id)?;
            detach_all_disks(conn, id)?;
            forget_keys(conn, id)?;
            diesel::update(
                network_interface::table
                    .filter(network_interface::instance_id.eq(id))
                    .filter(network_interface::time_deleted.is_null()),
            )
            .set(network_interface::time_deleted.eq(Some(now())))
            .execute(conn)?;
            diesel::update(instance::table.filter(instance::id.eq(id)))
                .set((
                    instance::state.eq(InstanceState::Destroyed),
                    instance::time_state_updated.eq(now()),
                    instance::time_deleted.eq(Some(now())),
                ))
                .execute(conn)?;
            Ok(addresses)
        })
        .await
    }

    /// Changes an instance. What only a stopped instance can have changed is refused for another,
    /// unless it would stay as it is.
    pub async fn instance_update(&self, id: Uuid, change: InstanceUpdate) -> Result<(), Error> {
        self.transaction("update instance", move |conn| {
            let old = live_instance(conn, id)?;
            check_update(conn, &old, &change)?;
            diesel::update(instance::table.filter(instance::id.eq(id)))
                .set((
                    instance::ncpus.eq(change.ncpus),
                    instance::memory.eq(change.memory),
                    instance::boot_disk_id.eq(change.boot_disk_id),
                    instance::auto_restart_policy.eq(&change.auto_restart_policy),
                    instance::cpu_platform.eq(&change.cpu_platform),
                    instance::time_modified.eq(now()),
                ))
                .execute(conn)?;
            Ok(())
        })
        .await
    }

    /// Makes an instance that failed a stopped one.
    pub async fn instance_failed_to_stopped(&self, id: Uuid) -> Result<(), Error> {
        self.statement("failed to stopped", move |conn| {
            diesel::update(
                instance::table
                    .filter(instance::id.eq(id))
                    .filter(instance::time_deleted.is_null())
                    .filter(instance::state.eq(InstanceState::Failed)),
            )
            .set((instance::state.eq(InstanceState::NoVmm), instance::time_state_updated.eq(now())))
            .execute(conn)?;
            Ok(())
        })
        .await
    }

    /// Begins a migration: reserves the sled for a target VMM. Refused while an address comes or
    /// goes. Returns the target and the source VMM.
    pub async fn begin_migrate(
        &self,
        saga: SagaRef,
        instance_id: Uuid,
        target: Location,
        migration_id: Uuid,
    ) -> Result<(Vmm, Vmm), Error> {
        self.transaction("begin migration", move |conn| {
            fence(conn, saga)?;
            let instance = live_instance(conn, instance_id)?;
            let by_id = |id: Uuid| vmm::table.filter(vmm::id.eq(id)).select(Vmm::as_select());
            let not_running = || Error::invalid("instance must be running before it can migrate");
            let source: Vmm = match instance.active_vmm_id {
                Some(id) => by_id(id).first(conn)?,
                None => return Err(not_running().into()),
            };
            if instance.migration_id == Some(migration_id) {
                return Ok((by_id(target.vmm_id).first(conn)?, source));
            }
            if instance.migration_id.is_some() {
                return Err(Error::conflict("instance is already migrating").into());
            }
            if source.state != VmmState::Running {
                return Err(not_running().into());
            }
            if source.sled_id == target.sled_id {
                let message = "instance is already running on destination sled";
                return Err(Error::invalid(message).into());
            }
            refuse_while_moving(conn, instance_id)?;
            let row =
                insert_vmm(conn, &instance, target.vmm_id, saga.id, Some(target.sled_id), &[])?;
            diesel::insert_into(migration::table)
                .values(new_migration(migration_id, instance_id, source.id, row.id))
                .execute(conn)?;
            diesel::update(instance::table.filter(instance::id.eq(instance_id)))
                .set((
                    instance::migration_id.eq(Some(migration_id)),
                    instance::target_vmm_id.eq(Some(row.id)),
                ))
                .execute(conn)?;
            Ok((row, source))
        })
        .await
    }

    /// Takes back a migration that did not begin.
    pub async fn undo_begin_migrate(
        &self,
        saga: SagaRef,
        instance_id: Uuid,
        migration_id: Uuid,
        target_vmm_id: Uuid,
    ) -> Result<(), Error> {
        self.transaction("undo begin migration", move |conn| {
            fence(conn, saga)?;
            clear_migration(conn, instance_id, migration_id)?;
            // Unless the migration went through after all.
            let active: Option<Uuid> = instance::table
                .filter(instance::active_vmm_id.eq(target_vmm_id))
                .select(instance::id)
                .first(conn)
                .optional()?;
            if active.is_none() {
                delete_vmm(conn, target_vmm_id)?;
            }
            Ok(())
        })
        .await
    }
}

fn check_update(conn: &mut PgConnection, old: &Instance, change: &InstanceUpdate) -> TxResult<()> {
    let stopped =
        matches!(old.state, InstanceState::Creating | InstanceState::NoVmm | InstanceState::Failed);
    let must_be_stopped =
        |to: &str| Err(Error::conflict(format!("instance must be stopped to {to}")).into());
    if !stopped && (old.ncpus, old.memory) != (change.ncpus, change.memory) {
        return must_be_stopped("change CPU or memory");
    }
    if !stopped && old.cpu_platform != change.cpu_platform {
        return must_be_stopped("change CPU platform");
    }
    if old.boot_disk_id == change.boot_disk_id {
        return Ok(());
    }
    if !stopped {
        return must_be_stopped("set boot disk");
    }
    if let Some(id) = change.boot_disk_id
        && disk_by(conn, None, &id.into())?.instance_id != Some(old.id)
    {
        return Err(Error::conflict("boot disk must be attached").into());
    }
    Ok(())
}

fn new_migration(
    id: Uuid,
    instance_id: Uuid,
    source_vmm_id: Uuid,
    target_vmm_id: Uuid,
) -> Migration {
    Migration {
        id,
        instance_id,
        source_vmm_id,
        source_state: MigrationState::Pending,
        source_generation: 0,
        target_vmm_id,
        target_state: MigrationState::Pending,
        target_generation: 0,
        time_created: now(),
        time_deleted: None,
    }
}

/// Ends a migration of an instance, if it is still that one.
pub(super) fn clear_migration(
    conn: &mut PgConnection,
    instance_id: Uuid,
    migration_id: Uuid,
) -> QueryResult<()> {
    diesel::update(
        instance::table
            .filter(instance::id.eq(instance_id))
            .filter(instance::migration_id.eq(migration_id)),
    )
    .set((instance::migration_id.eq(None::<Uuid>), instance::target_vmm_id.eq(None::<Uuid>)))
    .execute(conn)?;
    diesel::update(
        migration::table
            .filter(migration::id.eq(migration_id))
            .filter(migration::time_deleted.is_null()),
    )
    .set(migration::time_deleted.eq(Some(now())))
    .execute(conn)?;
    Ok(())
}

/// Leaves an instance without a VMM, in this state, if this was its VMM. Ends its migration too.
pub(super) fn stop_instance(
    conn: &mut PgConnection,
    instance_id: Uuid,
    vmm_id: Uuid,
    state: InstanceState,
) -> QueryResult<()> {
    diesel::update(
        instance::table
            .filter(instance::id.eq(instance_id))
            .filter(instance::active_vmm_id.eq(vmm_id)),
    )
    .set((
        instance::state.eq(state),
        instance::active_vmm_id.eq(None::<Uuid>),
        instance::saga_id.eq(None::<Uuid>),
        instance::target_vmm_id.eq(None::<Uuid>),
        instance::migration_id.eq(None::<Uuid>),
        instance::time_state_updated.eq(now()),
    ))
    .execute(conn)?;
    Ok(())
}

/// An instance that was made without source NAT, for want of an address, gets it at its start if
/// it can be had by then; if not, it starts as it is.
fn ensure_snat_at_start(conn: &mut PgConnection, instance: &Instance) -> TxResult<()> {
    match ensure_snat(conn, instance) {
        Err(TxError::Refused(Error::NotFound { .. } | Error::InsufficientCapacity { .. })) => {
            Ok(())
        }
        other => other,
    }
}

fn refuse_while_moving(conn: &mut PgConnection, instance_id: Uuid) -> TxResult<()> {
    let moving = ips_of_instance(conn, instance_id)?
        .into_iter()
        .find(|ip| matches!(ip.state, IpState::Attaching | IpState::Detaching));
    match moving {
        None => Ok(()),
        Some(ip) => Err(Error::busy(format!(
            "the {} IP {} of the instance is {}",
            ip.kind, ip.ip, ip.state
        ))
        .into()),
    }
}

/// Detaches the floating IPs of an instance that is being deleted, and releases the others.
fn take_addresses(conn: &mut PgConnection, instance_id: Uuid) -> QueryResult<()> {
    for ip in ips_of_instance(conn, instance_id)? {
        if ip.kind != IpKind::Floating {
            release(conn, &ip)?;
            continue;
        }
        diesel::update(external_ip::table.filter(external_ip::id.eq(ip.id)))
            .set((
                external_ip::state.eq(IpState::Detached),
                external_ip::instance_id.eq(None::<Uuid>),
                external_ip::saga_id.eq(None::<Uuid>),
                external_ip::time_modified.eq(now()),
            ))
            .execute(conn)?;
    }
    Ok(())
}
