//! Attaching and detaching: the transactions behind the nodes of the two sagas.
//!
//! An address changes state only on behalf of a saga, and its row names that saga while it is
//! between states. Every transition here is conditional on the state *and* on the saga, so that a
//! step that runs late, or twice, touches nothing that another saga has done since.

use super::address::{PoolRequest, resolve_pool};
use super::error::TxResult;
use super::external_ip::{
    MAX_EXTERNAL_IPS, allocate_ephemeral, floating_ip_by, ips_of_instance, release,
    whole_address_row,
};
use super::instance::live_instance;
use super::nat::{ensure_entry, nat_target, remove_entries_of_ip};
use super::nic::{has_version, primary_nic};
use super::port::{note_change, note_change_on_instance};
use super::saga::{SagaRef, fence};
use super::{Datastore, now};
use db_model::schema::{external_ip, nat_entry, vmm};
use db_model::{ExternalIp, Instance, InstanceState, IpKind, IpState, IpVersion, Vmm, VmmState};
use diesel::prelude::*;
use nexus_common::{Error, ResourceType};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use uuid::Uuid;

/// Where an instance runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    pub vmm_id: Uuid,
    pub sled_id: Uuid,
}

/// How an attach or a detach began.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Begun {
    /// What was asked for is so already; there is nothing to do.
    AlreadySo(Box<ExternalIp>),
    /// The address is between states, on behalf of the saga.
    Moving {
        ip: Box<ExternalIp>,
        instance_id: Uuid,
        /// None if the instance does not run: then the database is all there is to change.
        location: Option<Location>,
    },
}

/// Where the instance runs, if its state lets addresses come and go.
fn changeable(
    conn: &mut PgConnection,
    instance: &Instance,
    verb: &str,
    kind: IpKind,
) -> TxResult<Option<Location>> {
    let from_to = if verb == "attach" { "to" } else { "from" };
    let refused = |state: &str| {
        Error::invalid(format!("cannot {verb} {kind} IP {from_to} instance in {state} state"))
    };
    if instance.migration_id.is_some() {
        return Err(Error::busy("the instance is migrating").into());
    }
    match (instance.state, instance.active_vmm_id) {
        (InstanceState::NoVmm, _) => Ok(None),
        (InstanceState::Vmm, Some(vmm_id)) => {
            let vmm = vmm::table.filter(vmm::id.eq(vmm_id)).select(Vmm::as_select()).first(conn)?;
            let busy = match vmm.state {
                VmmState::Running | VmmState::Rebooting => {
                    return Ok(Some(Location { vmm_id, sled_id: vmm.sled_id }));
                }
                VmmState::Creating | VmmState::Starting => "the instance is starting",
                VmmState::Migrating => "the instance is migrating",
                VmmState::Stopping | VmmState::Stopped | VmmState::Destroyed => {
                    "the instance is stopping"
                }
                VmmState::Failed => "the instance's failure is being recorded",
            };
            Err(Error::busy(busy).into())
        }
        (InstanceState::Creating, _) => Err(refused("creating").into()),
        (InstanceState::Failed, _) => Err(refused("failed").into()),
        (InstanceState::Destroyed, _) | (InstanceState::Vmm, None) => {
            Err(Error::not_found(ResourceType::Instance, instance.id).into())
        }
    }
}

/// Refuses an address that the instance has no room or no interface for.
pub(super) fn check_room(
    conn: &mut PgConnection,
    instance_id: Uuid,
    kind: IpKind,
    version: IpVersion,
) -> TxResult<()> {
    let rows = ips_of_instance(conn, instance_id)?;
    if rows.iter().filter(|row| row.kind != IpKind::Snat).count() >= MAX_EXTERNAL_IPS {
        return Err(Error::invalid(format!(
            "an instance may not have more than {MAX_EXTERNAL_IPS} external IP addresses"
        ))
        .into());
    }
    let nic = primary_nic(conn, instance_id)?;
    if !nic.is_some_and(|nic| has_version(&nic, version.into())) {
        return Err(Error::invalid(format!(
            "The {kind} external IP is an IP{version} address, but the instance with ID \
             {instance_id} does not have a primary network interface with a VPC-private \
             IP{version} address. Add a VPC-private IP{version} address to the interface, or \
             attach a different IP address"
        ))
        .into());
    }
    Ok(())
}

/// Takes an address out of one state into another, on the condition that it is as expected.
/// Returns whether it was.
fn transition(
    conn: &mut PgConnection,
    id: Uuid,
    from: (IpState, Option<Uuid>),
    to: (IpState, Option<Uuid>),
    instance_id: Option<Uuid>,
) -> QueryResult<bool> {
    let row = external_ip::table
        .filter(external_ip::id.eq(id))
        .filter(external_ip::time_deleted.is_null())
        .filter(external_ip::state.eq(from.0))
        .filter(external_ip::saga_id.is_not_distinct_from(from.1));
    let changed = diesel::update(row)
        .set((
            external_ip::state.eq(to.0),
            external_ip::saga_id.eq(to.1),
            external_ip::instance_id.eq(instance_id),
            external_ip::time_modified.eq(now()),
        ))
        .execute(conn)?;
    Ok(changed > 0)
}

/// Takes a detached floating IP for an instance, on behalf of a saga.
pub(super) fn start_attaching(
    conn: &mut PgConnection,
    ip: &ExternalIp,
    instance_id: Uuid,
    saga_id: Uuid,
) -> TxResult<ExternalIp> {
    check_room(conn, instance_id, ip.kind, ip.ip_version)?;
    let to = (IpState::Attaching, Some(saga_id));
    transition(conn, ip.id, (IpState::Detached, None), to, Some(instance_id))?;
    Ok(ExternalIp {
        state: IpState::Attaching,
        saga_id: Some(saga_id),
        instance_id: Some(instance_id),
        ..ip.clone()
    })
}

fn fetch(conn: &mut PgConnection, id: Uuid) -> QueryResult<Option<ExternalIp>> {
    external_ip::table
        .filter(external_ip::id.eq(id))
        .filter(external_ip::time_deleted.is_null())
        .select(ExternalIp::as_select())
        .first(conn)
        .optional()
}

/// Why a floating IP that is not detached cannot be given to an instance.
pub(super) fn not_detached(ip: &ExternalIp, instance_id: Uuid) -> Error {
    let here = ip.instance_id == Some(instance_id);
    match ip.state {
        IpState::Attaching if here => Error::busy("the floating IP is being attached"),
        IpState::Attaching => Error::busy("the floating IP is being attached to another instance"),
        IpState::Detaching => Error::busy("the floating IP is being detached"),
        IpState::Attached | IpState::Detached => Error::invalid(
            "floating IP cannot be attached to one instance while still attached to another",
        ),
    }
}

impl Datastore {
    /// Takes a floating IP for an instance: `detached → attaching`, by this saga.
    pub async fn begin_attach_floating(
        &self,
        saga: SagaRef,
        ip_id: Uuid,
        instance_id: Uuid,
    ) -> Result<Begun, Error> {
        self.transaction("begin attach of floating ip", move |conn| {
            fence(conn, saga)?;
            let ip = floating_ip_by(conn, None, &ip_id.into())?;
            let instance = live_instance(conn, instance_id)?;
            if ip.project_id != instance.project_id {
                let message = "floating IP must be in the same project as the instance";
                return Err(Error::invalid(message).into());
            }
            let ours = ip.saga_id == Some(saga.id) && ip.instance_id == Some(instance_id);
            match ip.state {
                IpState::Attached if ip.instance_id == Some(instance_id) => {
                    Ok(Begun::AlreadySo(Box::new(ip)))
                }
                IpState::Attaching if ours => again(conn, &instance, ip),
                IpState::Detached => {
                    let location = changeable(conn, &instance, "attach", IpKind::Floating)?;
                    let ip = start_attaching(conn, &ip, instance_id, saga.id)?;
                    moving(conn, ip, instance_id, location)
                }
                _ => Err(not_detached(&ip, instance_id).into()),
            }
        })
        .await
    }

    /// Takes an address from a pool for an instance, as its ephemeral IP under the id `ip_id`:
    /// straight to `attaching`, by this saga. An ephemeral IP of the pool's version that the
    /// instance has already is the answer, whatever pool it is from.
    pub async fn begin_attach_ephemeral(
        &self,
        saga: SagaRef,
        ip_id: Uuid,
        instance_id: Uuid,
        pool: PoolRequest,
    ) -> Result<Begun, Error> {
        let silo_id = self.instance_by_id(instance_id).await?.silo_id;
        let _turn = self.pool_turn(silo_id, &pool).await;
        self.transaction("begin attach of ephemeral ip", move |conn| {
            fence(conn, saga)?;
            let instance = live_instance(conn, instance_id)?;
            let kind = IpKind::Ephemeral;
            if let Some(ip) = fetch(conn, ip_id)?
                && ip.saga_id == Some(saga.id)
            {
                return again(conn, &instance, ip);
            }
            let pool = match resolve_pool(conn, instance.silo_id, &pool) {
                Ok(pool) => pool,
                Err(error) => return existing_instead(conn, instance_id, &pool, error),
            };
            if let Some(existing) = ephemeral_of(conn, instance_id, Some(pool.ip_version))?.pop() {
                return already_or_busy(existing);
            }
            let location = changeable(conn, &instance, "attach", kind)?;
            check_room(conn, instance_id, kind, pool.ip_version)?;
            let ip = allocate_ephemeral(conn, pool.id, |address| ExternalIp {
                state: IpState::Attaching,
                instance_id: Some(instance_id),
                saga_id: Some(saga.id),
                ..whole_address_row(ip_id, kind, instance.silo_id, instance.project_id, address)
            })?;
            moving(conn, ip, instance_id, location)
        })
        .await
    }

    /// Puts a floating IP back, or releases an ephemeral one, that this saga was attaching, with
    /// any NAT entry that the saga wrote without coming to record it. Returns the addresses of
    /// removed entries.
    pub async fn undo_begin_attach(
        &self,
        saga: SagaRef,
        ip_id: Uuid,
    ) -> Result<Vec<IpAddr>, Error> {
        self.nat_transaction("undo begin attach", move |conn| {
            fence(conn, saga)?;
            let Some(ip) = fetch(conn, ip_id)? else { return Ok(Vec::new()) };
            if ip.state != IpState::Attaching || ip.saga_id != Some(saga.id) {
                return Ok(Vec::new());
            }
            let addresses = remove_entries_of_ip(conn, ip_id)?;
            if let Some(instance_id) = ip.instance_id {
                note_change_on_instance(conn, instance_id, &ip)?;
            }
            if ip.kind == IpKind::Ephemeral {
                release(conn, &ip)?;
            } else {
                let from = (IpState::Attaching, Some(saga.id));
                transition(conn, ip_id, from, (IpState::Detached, None), None)?;
            }
            Ok(addresses)
        })
        .await
    }

    /// Ends an attach: `attaching → attached`. Fails if the address is no longer this saga's,
    /// because the instance was deleted meanwhile.
    pub async fn complete_attach(
        &self,
        saga: SagaRef,
        ip_id: Uuid,
        instance_id: Uuid,
    ) -> Result<ExternalIp, Error> {
        self.transaction("complete attach", move |conn| {
            fence(conn, saga)?;
            let from = (IpState::Attaching, Some(saga.id));
            let to = (IpState::Attached, None);
            transition(conn, ip_id, from, to, Some(instance_id))?;
            match fetch(conn, ip_id)? {
                // Also when this runs a second time.
                Some(ip)
                    if ip.state == IpState::Attached && ip.instance_id == Some(instance_id) =>
                {
                    Ok(ip)
                }
                _ => Err(Error::not_found(ResourceType::Instance, instance_id).into()),
            }
        })
        .await
    }

    /// Begins to take a floating IP off an instance: `attached → detaching`, by this saga.
    pub async fn begin_detach_floating(
        &self,
        saga: SagaRef,
        ip_id: Uuid,
        instance_id: Uuid,
    ) -> Result<Begun, Error> {
        self.transaction("begin detach of floating ip", move |conn| {
            fence(conn, saga)?;
            let ip = floating_ip_by(conn, None, &ip_id.into())?;
            if ip.state == IpState::Detached {
                return Ok(Begun::AlreadySo(Box::new(ip)));
            }
            if ip.instance_id != Some(instance_id) {
                let message = "floating IP is not attached to the target instance";
                return Err(Error::invalid(message).into());
            }
            begin_detach(conn, saga.id, ip, instance_id)
        })
        .await
    }

    /// Begins to take the instance's ephemeral IP of this version, or its only one, off it.
    pub async fn begin_detach_ephemeral(
        &self,
        saga: SagaRef,
        instance_id: Uuid,
        version: Option<IpVersion>,
    ) -> Result<Begun, Error> {
        self.transaction("begin detach of ephemeral ip", move |conn| {
            fence(conn, saga)?;
            let mut found = ephemeral_of(conn, instance_id, version)?;
            if let Some(ours) = found.iter().position(|ip| ip.saga_id == Some(saga.id)) {
                let ip = found.swap_remove(ours);
                return begin_detach(conn, saga.id, ip, instance_id);
            }
            if found.len() > 1 {
                let message = "instance has two ephemeral IPs; specify ip_version to select which \
                               to detach";
                return Err(Error::invalid(message).into());
            }
            let Some(ip) = found.pop() else {
                let message = "instance does not have an ephemeral IP attached";
                return Err(Error::invalid(message).into());
            };
            begin_detach(conn, saga.id, ip, instance_id)
        })
        .await
    }

    /// Leaves an address attached that this saga was detaching.
    pub async fn undo_begin_detach(&self, saga: SagaRef, ip_id: Uuid) -> Result<(), Error> {
        self.transaction("undo begin detach", move |conn| {
            fence(conn, saga)?;
            let Some(ip) = fetch(conn, ip_id)? else { return Ok(()) };
            let from = (IpState::Detaching, Some(saga.id));
            let left = transition(conn, ip_id, from, (IpState::Attached, None), ip.instance_id)?;
            if let (true, Some(instance_id)) = (left, ip.instance_id) {
                note_change_on_instance(conn, instance_id, &ip)?;
            }
            Ok(())
        })
        .await
    }

    /// Ends a detach: `detaching → detached`, and an ephemeral address is released. If the
    /// address is no longer this saga's, the instance's deletion has detached it.
    pub async fn complete_detach(&self, saga: SagaRef, ip_id: Uuid) -> Result<(), Error> {
        self.transaction("complete detach", move |conn| {
            fence(conn, saga)?;
            let Some(ip) = fetch(conn, ip_id)? else { return Ok(()) };
            if ip.state != IpState::Detaching || ip.saga_id != Some(saga.id) {
                return Ok(());
            }
            if let Some(instance_id) = ip.instance_id {
                note_change_on_instance(conn, instance_id, &ip)?;
            }
            if ip.kind == IpKind::Ephemeral {
                return Ok(release(conn, &ip)?);
            }
            let from = (IpState::Detaching, Some(saga.id));
            transition(conn, ip_id, from, (IpState::Detached, None), None)?;
            Ok(())
        })
        .await
    }

    /// Writes the NAT entry of an address that this saga moves, provided that the instance still
    /// runs where it did. Returns the entry's id, if one is due.
    pub async fn nat_add(
        &self,
        saga: SagaRef,
        ip_id: Uuid,
        instance_id: Uuid,
        location: Location,
    ) -> Result<Option<Uuid>, Error> {
        self.nat_transaction("add nat entry", move |conn| {
            fence(conn, saga)?;
            let Some(ip) = fetch(conn, ip_id)?.filter(|ip| ip.saga_id == Some(saga.id)) else {
                return Err(Error::not_found(ResourceType::Instance, instance_id).into());
            };
            let instance = live_instance(conn, instance_id)?;
            if changeable(conn, &instance, "attach", ip.kind)? != Some(location) {
                return Err(Error::busy("the instance has moved or stopped").into());
            }
            let Some(target) = nat_target(conn, instance_id, location.sled_id)? else {
                return Ok(None);
            };
            Ok(ensure_entry(conn, &ip, instance_id, &target)?.map(|entry| entry.id))
        })
        .await
    }

    /// Removes one NAT entry, if it is live. Returns its address.
    pub async fn nat_remove_entry(
        &self,
        saga: SagaRef,
        entry_id: Uuid,
    ) -> Result<Option<IpAddr>, Error> {
        self.nat_transaction("remove nat entry", move |conn| {
            fence(conn, saga)?;
            let address: Option<db_model::Ip> = nat_entry::table
                .filter(nat_entry::id.eq(entry_id))
                .select(nat_entry::external_address)
                .first(conn)
                .optional()?;
            super::nat::remove_entry(conn, entry_id)?;
            Ok(address.map(|ip| ip.0))
        })
        .await
    }

    /// Removes the NAT entries of an address that this saga is detaching; none, if the address is
    /// no longer the saga's.
    pub async fn nat_remove_ip(&self, saga: SagaRef, ip_id: Uuid) -> Result<Vec<IpAddr>, Error> {
        self.nat_transaction("remove nat entries of ip", move |conn| {
            fence(conn, saga)?;
            if fetch(conn, ip_id)?.is_none_or(|ip| ip.saga_id != Some(saga.id)) {
                return Ok(Vec::new());
            }
            Ok(remove_entries_of_ip(conn, ip_id)?)
        })
        .await
    }
}

/// The instance's live ephemeral IPs, of one version or of both.
fn ephemeral_of(
    conn: &mut PgConnection,
    instance_id: Uuid,
    version: Option<IpVersion>,
) -> QueryResult<Vec<ExternalIp>> {
    let rows = ips_of_instance(conn, instance_id)?;
    let wanted = |row: &ExternalIp| {
        row.kind == IpKind::Ephemeral && version.is_none_or(|version| version == row.ip_version)
    };
    Ok(rows.into_iter().filter(wanted).collect())
}

fn already_or_busy(existing: ExternalIp) -> TxResult<Begun> {
    match existing.state {
        IpState::Attached => Ok(Begun::AlreadySo(Box::new(existing))),
        IpState::Attaching => {
            Err(Error::busy("an ephemeral IP is being attached to the instance").into())
        }
        IpState::Detaching | IpState::Detached => {
            Err(Error::busy("the instance's ephemeral IP is being detached").into())
        }
    }
}

/// What to answer when the pool cannot be had: the ephemeral IP that the instance has already, if
/// the version was named and it has one.
fn existing_instead(
    conn: &mut PgConnection,
    instance_id: Uuid,
    pool: &PoolRequest,
    error: super::error::TxError,
) -> TxResult<Begun> {
    if let PoolRequest::Default(Some(version)) = pool
        && let Some(existing) = ephemeral_of(conn, instance_id, Some((*version).into()))?.pop()
    {
        return already_or_busy(existing);
    }
    Err(error)
}

fn begin_detach(
    conn: &mut PgConnection,
    saga_id: Uuid,
    ip: ExternalIp,
    instance_id: Uuid,
) -> TxResult<Begun> {
    let instance = live_instance(conn, instance_id)?;
    let ip = match ip.state {
        IpState::Detaching if ip.saga_id == Some(saga_id) => ip,
        IpState::Attached => {
            changeable(conn, &instance, "detach", ip.kind)?;
            let to = (IpState::Detaching, Some(saga_id));
            transition(conn, ip.id, (IpState::Attached, None), to, Some(instance_id))?;
            ExternalIp { state: IpState::Detaching, saga_id: Some(saga_id), ..ip }
        }
        IpState::Detaching => {
            return Err(Error::busy(format!("the {} IP is being detached", ip.kind)).into());
        }
        IpState::Attaching | IpState::Detached => {
            return Err(Error::busy(format!("the {} IP is being attached", ip.kind)).into());
        }
    };
    let location = running_location(conn, &instance)?;
    moving(conn, ip, instance_id, location)
}

/// The address is in the saga's hands; if there is a port, it is about to change.
fn moving(
    conn: &mut PgConnection,
    ip: ExternalIp,
    instance_id: Uuid,
    location: Option<Location>,
) -> TxResult<Begun> {
    if let Some(location) = location {
        note_change(conn, location.vmm_id, &ip)?;
    }
    Ok(Begun::Moving { ip: Box::new(ip), instance_id, location })
}

/// The second run of a begin that was done but not recorded. It must not fail, whatever has become
/// of the instance: the saga would be undone as if it had not begun. If the instance cannot take
/// addresses now, a later node finds out.
fn again(conn: &mut PgConnection, instance: &Instance, ip: ExternalIp) -> TxResult<Begun> {
    let location = running_location(conn, instance)?;
    moving(conn, ip, instance.id, location)
}

/// Where the instance's VMM is, whatever its state: a port may be there to take the address off.
fn running_location(conn: &mut PgConnection, instance: &Instance) -> QueryResult<Option<Location>> {
    let Some(vmm_id) = instance.active_vmm_id else { return Ok(None) };
    let sled_id = vmm::table.filter(vmm::id.eq(vmm_id)).select(vmm::sled_id).first(conn)?;
    Ok(Some(Location { vmm_id, sled_id }))
}
