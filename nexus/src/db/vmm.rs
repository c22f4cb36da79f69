//! VMMs: placing them, taking in what sleds report of them, and what follows for their instances.

use super::error::TxResult;
use super::instance::{clear_migration, stop_instance};
use super::nat::{ensure_entries_of_instance, remove_entries_of_instance};
use super::port::{forget_port, note_all};
use super::{Datastore, now};
use chrono::{DateTime, Utc};
use db_model::schema::{instance, migration, nat_entry, sled, vmm};
use db_model::{
    Instance, InstanceState, Migration, MigrationState, ProvisionPolicy, Sled, Vmm, VmmState,
};
use diesel::dsl::sum;
use diesel::prelude::*;
use nexus_common::{Error, ResourceType};
use std::net::IpAddr;
use uuid::Uuid;

/// What a sled says of a VMM.
#[derive(Clone, Debug)]
pub struct VmmReport {
    pub state: VmmState,
    pub generation: i64,
    pub time_updated: DateTime<Utc>,
    pub migration_in: Option<MigrationReport>,
    pub migration_out: Option<MigrationReport>,
}

/// What a sled says of its side of a migration.
#[derive(Clone, Debug)]
pub struct MigrationReport {
    pub migration_id: Uuid,
    pub state: MigrationState,
    pub generation: i64,
}

/// What became of an instance after a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// NAT entries of these addresses changed: push them, and settle again.
    NatChanged(Vec<IpAddr>),
    /// There was nothing more to do.
    Done,
}

/// Reserves room for an instance's VMM: on the sled that is named, or on the one with the fewest
/// VMMs that has room.
pub(super) fn insert_vmm(
    conn: &mut PgConnection,
    instance: &Instance,
    id: Uuid,
    saga_id: Uuid,
    on: Option<Uuid>,
    avoid: &[Uuid],
) -> TxResult<Vmm> {
    let sled_id = place(conn, instance, on, avoid)?;
    let created = now();
    let row = Vmm {
        id,
        instance_id: instance.id,
        sled_id,
        ncpus: instance.ncpus,
        memory: instance.memory,
        state: VmmState::Creating,
        generation: 1,
        saga_id,
        time_created: created,
        time_state_updated: created,
        time_deleted: None,
    };
    diesel::insert_into(vmm::table).values(&row).execute(conn)?;
    Ok(row)
}

fn place(
    conn: &mut PgConnection,
    instance: &Instance,
    on: Option<Uuid>,
    avoid: &[Uuid],
) -> TxResult<Uuid> {
    let mut query = sled::table.select(Sled::as_select()).into_boxed();
    query = match on {
        Some(id) => query.filter(sled::id.eq(id)),
        None => query.filter(sled::provision_policy.eq(ProvisionPolicy::Provisionable)),
    };
    // A rack has at most 32 sleds; this is a bound, not a page.
    let sleds: Vec<Sled> = query.order(sled::id).limit(1000).load(conn)?;
    if let (Some(id), true) = (on, sleds.is_empty()) {
        return Err(Error::not_found(ResourceType::Sled, id).into());
    }
    let mut best: Option<(i64, Uuid)> = None;
    let sleds = sleds
        .iter()
        .filter(|sled| !avoid.contains(&sled.id))
        .filter(|sled| has_platform(sled, instance.cpu_platform.as_deref()));
    for sled in sleds {
        let used = vmm::table.filter(vmm::sled_id.eq(sled.id)).filter(vmm::time_deleted.is_null());
        let count: i64 = used.count().get_result(conn)?;
        let (cpus, memory): (Option<i64>, Option<i64>) = used
            .select((
                sum(vmm::ncpus),
                diesel::dsl::sql::<diesel::sql_types::Nullable<diesel::sql_types::BigInt>>(
                    "CAST(sum(memory) AS INT8)",
                ),
            ))
            .first(conn)?;
        let fits = cpus.unwrap_or(0) + i64::from(instance.ncpus) <= sled.usable_hardware_threads
            && memory.unwrap_or(0) + instance.memory <= sled.reservoir_size;
        if fits && best.is_none_or(|(least, _)| count < least) {
            best = Some((count, sled.id));
        }
    }
    let (_, id) = best.ok_or_else(|| {
        Error::capacity(match &instance.cpu_platform {
            None => "Failed to place instance: no sled has enough free CPUs and memory".to_string(),
            Some(platform) => format!(
                "Failed to place instance: no sled with the CPU platform {platform} has enough \
                 free CPUs and memory"
            ),
        })
    })?;
    Ok(id)
}

/// Whether an instance that needs this CPU platform can run on the sled. Each family has all that
/// the ones before it have.
fn has_platform(sled: &Sled, platform: Option<&str>) -> bool {
    let family = sled.cpu_family.as_str();
    match platform {
        None => true,
        Some("amd_milan") => matches!(family, "amd_milan" | "amd_turin" | "amd_turin_dense"),
        Some(_) => matches!(family, "amd_turin" | "amd_turin_dense"),
    }
}

/// A VMM that is no more stops counting against its sled.
pub(super) fn delete_vmm(conn: &mut PgConnection, id: Uuid) -> QueryResult<()> {
    diesel::update(vmm::table.filter(vmm::id.eq(id)).filter(vmm::time_deleted.is_null()))
        .set(vmm::time_deleted.eq(Some(now())))
        .execute(conn)?;
    forget_port(conn, id)
}

impl Datastore {
    /// The VMM with this id, deleted or not.
    pub async fn vmm_fetch(&self, id: Uuid) -> Result<Vmm, Error> {
        self.statement("vmm", move |conn| {
            let found = vmm::table
                .filter(vmm::id.eq(id))
                .select(Vmm::as_select())
                .first(conn)
                .optional()?;
            Ok(found.ok_or_else(|| Error::not_found(ResourceType::Vmm, id))?)
        })
        .await
    }

    /// A page of the VMMs that are not deleted, by id.
    pub async fn vmm_list(&self, after: Option<Uuid>, limit: i64) -> Result<Vec<Vmm>, Error> {
        self.statement("vmms", move |conn| {
            let mut query = vmm::table
                .filter(vmm::time_deleted.is_null())
                .select(Vmm::as_select())
                .into_boxed();
            if let Some(after) = after {
                query = query.filter(vmm::id.gt(after));
            }
            Ok(query.order(vmm::id).limit(limit).load(conn)?)
        })
        .await
    }

    /// Takes in a report, each part only if it is newer than what is known. Returns the VMM's
    /// instance.
    pub async fn vmm_report(&self, id: Uuid, report: VmmReport) -> Result<Uuid, Error> {
        self.transaction("vmm report", move |conn| {
            let known = vmm::table
                .filter(vmm::id.eq(id))
                .select(Vmm::as_select())
                .first(conn)
                .optional()?;
            let known = known.ok_or_else(|| Error::not_found(ResourceType::Vmm, id))?;
            // A VMM that has ended does not come back to life, whatever a late report says.
            if report.generation > known.generation && !known.state.is_terminal() {
                diesel::update(vmm::table.filter(vmm::id.eq(id)))
                    .set((
                        vmm::state.eq(report.state),
                        vmm::generation.eq(report.generation),
                        vmm::time_state_updated.eq(report.time_updated),
                    ))
                    .execute(conn)?;
            }
            apply_migration(conn, id, &report)?;
            Ok(known.instance_id)
        })
        .await
    }

    /// Records that a VMM is no more although nobody reported its end. Returns its instance.
    pub async fn vmm_mark_failed(&self, id: Uuid) -> Result<Uuid, Error> {
        let known = self.vmm_fetch(id).await?;
        let report = VmmReport {
            state: VmmState::Failed,
            generation: known.generation + 1,
            time_updated: now(),
            migration_in: None,
            migration_out: None,
        };
        self.vmm_report(id, report).await
    }

    /// Brings an instance's record in line with what is known of its VMMs, one step at a time:
    /// the NAT entries first, then the rest. So what users see as stopped, or as running on
    /// another sled, has its NAT entries changed, and, as the caller pushes them between two
    /// steps, the switches too. Each step is conditional on what it found, and may be repeated.
    pub async fn instance_settle(&self, instance_id: Uuid) -> Result<Settled, Error> {
        self.nat_transaction("settle instance", move |conn| {
            let found = instance::table
                .filter(instance::id.eq(instance_id))
                .select(Instance::as_select())
                .first(conn)
                .optional()?;
            let Some(found) = found else { return Ok(Settled::Done) };
            reap_strays(conn, &found)?;
            if let (Some(migration_id), Some(target)) = (found.migration_id, found.target_vmm_id)
                && let Some(changed) = settle_migration(conn, &found, migration_id, target)?
            {
                return Ok(changed);
            }
            settle_vmm(conn, &found)
        })
        .await
    }

    /// Instances whose record does not fit what is known of their VMMs, for the background task
    /// that settles them: a page by id.
    pub async fn unsettled_instances(
        &self,
        after: Option<Uuid>,
        limit: i64,
    ) -> Result<Vec<Uuid>, Error> {
        self.statement("unsettled instances", move |conn| {
            let mut query = vmm::table
                .filter(vmm::time_deleted.is_null())
                .filter(vmm::state.eq_any([VmmState::Failed, VmmState::Destroyed]))
                .into_boxed();
            if let Some(after) = after {
                query = query.filter(vmm::instance_id.gt(after));
            }
            let query = query.select(vmm::instance_id).distinct().order(vmm::instance_id);
            Ok(query.limit(limit).load(conn)?)
        })
        .await
    }
}

fn apply_migration(conn: &mut PgConnection, vmm_id: Uuid, report: &VmmReport) -> TxResult<()> {
    if let Some(side) = &report.migration_in {
        diesel::update(
            migration::table
                .filter(migration::id.eq(side.migration_id))
                .filter(migration::target_vmm_id.eq(vmm_id))
                .filter(migration::target_generation.lt(side.generation)),
        )
        .set((
            migration::target_state.eq(side.state),
            migration::target_generation.eq(side.generation),
        ))
        .execute(conn)?;
    }
    if let Some(side) = &report.migration_out {
        diesel::update(
            migration::table
                .filter(migration::id.eq(side.migration_id))
                .filter(migration::source_vmm_id.eq(vmm_id))
                .filter(migration::source_generation.lt(side.generation)),
        )
        .set((
            migration::source_state.eq(side.state),
            migration::source_generation.eq(side.generation),
        ))
        .execute(conn)?;
    }
    Ok(())
}

/// VMMs of the instance that have ended and that it does not refer to: those of migrations.
fn reap_strays(conn: &mut PgConnection, found: &Instance) -> QueryResult<()> {
    let ended: Vec<Uuid> = vmm::table
        .filter(vmm::instance_id.eq(found.id))
        .filter(vmm::time_deleted.is_null())
        .filter(vmm::state.eq_any([VmmState::Failed, VmmState::Destroyed]))
        .select(vmm::id)
        .load(conn)?;
    for id in ended {
        if Some(id) != found.active_vmm_id && Some(id) != found.target_vmm_id {
            delete_vmm(conn, id)?;
        }
    }
    Ok(())
}

fn vmm_state(conn: &mut PgConnection, id: Uuid) -> QueryResult<VmmState> {
    vmm::table.filter(vmm::id.eq(id)).select(vmm::state).first(conn)
}

/// A migration that ended: the target becomes the instance's VMM, or is forgotten.
fn settle_migration(
    conn: &mut PgConnection,
    found: &Instance,
    migration_id: Uuid,
    target: Uuid,
) -> TxResult<Option<Settled>> {
    let row: Migration = migration::table
        .filter(migration::id.eq(migration_id))
        .select(Migration::as_select())
        .first(conn)?;
    let target_state = vmm_state(conn, target)?;
    if row.target_state == MigrationState::Completed && !target_state.is_terminal() {
        let sled_id = vmm::table.filter(vmm::id.eq(target)).select(vmm::sled_id).first(conn)?;
        diesel::update(instance::table.filter(instance::id.eq(found.id)))
            .set((instance::active_vmm_id.eq(Some(target)), instance::time_state_updated.eq(now())))
            .execute(conn)?;
        clear_migration(conn, found.id, migration_id)?;
        note_all(conn, found.id, target)?;
        let addresses = ensure_entries_of_instance(conn, found.id, sled_id)?;
        return Ok(Some(Settled::NatChanged(addresses)));
    }
    let failed = row.target_state == MigrationState::Failed
        || row.source_state == MigrationState::Failed
        || target_state.is_terminal();
    if failed {
        clear_migration(conn, found.id, migration_id)?;
        if target_state.is_terminal() {
            delete_vmm(conn, target)?;
        }
        return Ok(Some(Settled::NatChanged(Vec::new())));
    }
    Ok(None)
}

/// An instance whose VMM ended: its NAT entries go, and then it is stopped, or failed.
fn settle_vmm(conn: &mut PgConnection, found: &Instance) -> TxResult<Settled> {
    let Some(active) = found.active_vmm_id else { return Ok(Settled::Done) };
    let state = vmm_state(conn, active)?;
    if !state.is_terminal() {
        return Ok(Settled::Done);
    }
    // A migration that is under way may still take the instance to its target.
    if found.migration_id.is_some()
        && state == VmmState::Destroyed
        && migration_is_open(conn, found)?
    {
        return Ok(Settled::Done);
    }
    let entries: i64 = nat_entry::table
        .filter(nat_entry::instance_id.eq(found.id))
        .filter(nat_entry::time_deleted.is_null())
        .count()
        .get_result(conn)?;
    if entries > 0 {
        return Ok(Settled::NatChanged(remove_entries_of_instance(conn, found.id)?));
    }
    let stopped = match state {
        VmmState::Failed => InstanceState::Failed,
        _ => InstanceState::NoVmm,
    };
    if let Some(migration_id) = found.migration_id {
        clear_migration(conn, found.id, migration_id)?;
    }
    stop_instance(conn, found.id, active, stopped)?;
    delete_vmm(conn, active)?;
    Ok(Settled::Done)
}

/// Whether the source reported that it handed everything over, while the target has yet to say
/// that it runs.
fn migration_is_open(conn: &mut PgConnection, found: &Instance) -> QueryResult<bool> {
    let Some(migration_id) = found.migration_id else { return Ok(false) };
    let row: Migration = migration::table
        .filter(migration::id.eq(migration_id))
        .select(Migration::as_select())
        .first(conn)?;
    Ok(row.source_state == MigrationState::Completed && !row.target_state.is_terminal())
}
