//! What silos may use, and what they do use.
//!
//! What is in use is not kept anywhere: it is the sum over the rows that use it. A transaction that
//! is about to use more adds them up, and conflicts with any other that would change the sum. That
//! is done for silos with quotas alone.

use super::error::TxResult;
use super::paging::{page, page_by};
use super::silo::live_silo;
use super::{Datastore, now};
use db_model::schema::{disk, instance, project, silo, silo_quotas, snapshot};
use db_model::{Instance, InstanceState, Silo, SiloQuotas};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use nexus_common::{Error, PageBy, PageParams};
use std::collections::HashMap;
use uuid::Uuid;

/// Amounts of what silos use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    pub cpus: i64,
    /// Bytes.
    pub memory: i64,
    /// Bytes.
    pub storage: i64,
}

/// The quotas that a silo without quotas is shown to have: more than any rack has.
const UNLIMITED: Amounts = Amounts {
    cpus: 9_999_999_999,
    memory: 999_999_999_999_999_999,
    storage: 999_999_999_999_999_999,
};

/// A change of quotas; what is none stays.
#[derive(Clone, Copy, Debug, Default)]
pub struct QuotasUpdate {
    pub cpus: Option<i64>,
    pub memory: Option<i64>,
    pub storage: Option<i64>,
}

/// A silo, what it may use, and what it uses.
#[derive(Clone, Debug)]
pub struct SiloUse {
    pub silo: Silo,
    pub quotas: Amounts,
    pub in_use: Amounts,
}

fn quotas_of(conn: &mut PgConnection, silo_id: Uuid) -> QueryResult<Option<SiloQuotas>> {
    silo_quotas::table
        .filter(silo_quotas::silo_id.eq(silo_id))
        .select(SiloQuotas::as_select())
        .first(conn)
        .optional()
}

fn amounts(quotas: Option<&SiloQuotas>) -> Amounts {
    let of = |q: &SiloQuotas| Amounts { cpus: q.cpus, memory: q.memory, storage: q.storage };
    quotas.map_or(UNLIMITED, of)
}

/// CPUs and memory of the instances that have a VMM, by silo.
fn compute_in_use(
    conn: &mut PgConnection,
    silos: &[Uuid],
) -> QueryResult<HashMap<Uuid, (i64, i64)>> {
    let rows: Vec<(Uuid, i64, i64)> = instance::table
        .filter(instance::silo_id.eq_any(silos))
        .filter(instance::time_deleted.is_null())
        .filter(instance::state.eq(InstanceState::Vmm))
        .group_by(instance::silo_id)
        .select((
            instance::silo_id,
            sql::<BigInt>("CAST(sum(instance.ncpus) AS INT8)"),
            sql::<BigInt>("CAST(sum(instance.memory) AS INT8)"),
        ))
        .load(conn)?;
    Ok(rows.into_iter().map(|(silo, cpus, memory)| (silo, (cpus, memory))).collect())
}

/// The bytes of disks and snapshots, by silo.
fn storage_in_use(conn: &mut PgConnection, silos: &[Uuid]) -> QueryResult<HashMap<Uuid, i64>> {
    let disks: Vec<(Uuid, i64)> = project::table
        .inner_join(disk::table.on(disk::project_id.eq(project::id)))
        .filter(project::silo_id.eq_any(silos))
        .filter(project::time_deleted.is_null())
        .filter(disk::time_deleted.is_null())
        .group_by(project::silo_id)
        .select((project::silo_id, sql::<BigInt>("CAST(sum(disk.size) AS INT8)")))
        .load(conn)?;
    let snapshots: Vec<(Uuid, i64)> = project::table
        .inner_join(snapshot::table.on(snapshot::project_id.eq(project::id)))
        .filter(project::silo_id.eq_any(silos))
        .filter(project::time_deleted.is_null())
        .filter(snapshot::time_deleted.is_null())
        .group_by(project::silo_id)
        .select((project::silo_id, sql::<BigInt>("CAST(sum(snapshot.size) AS INT8)")))
        .load(conn)?;
    let mut sums = HashMap::new();
    for (silo, size) in disks.into_iter().chain(snapshots) {
        *sums.entry(silo).or_default() += size;
    }
    Ok(sums)
}

/// Each of these silos with its quotas and what it uses.
fn with_use(conn: &mut PgConnection, silos: Vec<Silo>) -> QueryResult<Vec<SiloUse>> {
    let ids: Vec<Uuid> = silos.iter().map(|silo| silo.id).collect();
    let quotas: Vec<SiloQuotas> = silo_quotas::table
        .filter(silo_quotas::silo_id.eq_any(&ids))
        .select(SiloQuotas::as_select())
        .load(conn)?;
    let quotas: HashMap<Uuid, SiloQuotas> = quotas.into_iter().map(|q| (q.silo_id, q)).collect();
    let compute = compute_in_use(conn, &ids)?;
    let storage = storage_in_use(conn, &ids)?;
    let each = silos.into_iter().map(|silo| {
        let (cpus, memory) = compute.get(&silo.id).copied().unwrap_or_default();
        let storage = storage.get(&silo.id).copied().unwrap_or_default();
        SiloUse {
            quotas: amounts(quotas.get(&silo.id)),
            in_use: Amounts { cpus, memory, storage },
            silo,
        }
    });
    Ok(each.collect())
}

fn exceeded(what: &str, resource: &str, remedy: &str) -> Error {
    Error::capacity(format!(
        "{what} Limit Exceeded: Not enough {resource} to complete request. Either {remedy} to \
         free up resources or contact the rack operator to request a capacity increase."
    ))
}

/// Refuses to start an instance for which its silo's quotas leave no room.
pub(super) fn check_compute(conn: &mut PgConnection, starting: &Instance) -> TxResult<()> {
    let Some(quotas) = quotas_of(conn, starting.silo_id)? else { return Ok(()) };
    let in_use = compute_in_use(conn, &[starting.silo_id])?;
    let (cpus, memory) = in_use.get(&starting.silo_id).copied().unwrap_or_default();
    if cpus + i64::from(starting.ncpus) > quotas.cpus {
        return Err(exceeded("vCPU", "vCPUs", "stop unused instances").into());
    }
    if memory + starting.memory > quotas.memory {
        return Err(exceeded("Memory", "memory", "stop unused instances").into());
    }
    Ok(())
}

/// Refuses a disk or a snapshot of so many bytes for which the silo's quotas leave no room.
pub(super) fn check_storage(conn: &mut PgConnection, silo_id: Uuid, size: i64) -> TxResult<()> {
    let Some(quotas) = quotas_of(conn, silo_id)? else { return Ok(()) };
    let in_use = storage_in_use(conn, &[silo_id])?;
    if in_use.get(&silo_id).copied().unwrap_or_default() + size > quotas.storage {
        return Err(exceeded("Storage", "storage", "remove unneeded disks and snapshots").into());
    }
    Ok(())
}

impl Datastore {
    /// The quotas of a silo.
    pub async fn silo_quotas(&self, silo_id: Uuid) -> Result<Amounts, Error> {
        self.statement("silo quotas", move |conn| Ok(amounts(quotas_of(conn, silo_id)?.as_ref())))
            .await
    }

    /// A page of the quotas of all silos, by silo.
    pub async fn silo_quotas_list(
        &self,
        page: PageParams<Uuid>,
    ) -> Result<Vec<(Uuid, Amounts)>, Error> {
        self.statement("quotas of silos", move |conn| {
            let query = silo::table
                .left_join(silo_quotas::table.on(silo_quotas::silo_id.eq(silo::id)))
                .filter(silo::time_deleted.is_null())
                .select((silo::id, Option::<SiloQuotas>::as_select()));
            let rows: Vec<(Uuid, Option<SiloQuotas>)> =
                page!(query, silo::id, &page, |id: &Uuid| *id).load(conn)?;
            Ok(rows.into_iter().map(|(id, quotas)| (id, amounts(quotas.as_ref()))).collect())
        })
        .await
    }

    /// Changes the quotas of a silo.
    pub async fn silo_quotas_update(
        &self,
        silo_id: Uuid,
        change: QuotasUpdate,
    ) -> Result<Amounts, Error> {
        self.transaction("update silo quotas", move |conn| {
            live_silo(conn, silo_id)?;
            let known = quotas_of(conn, silo_id)?;
            let before = amounts(known.as_ref());
            let modified = now();
            let row = SiloQuotas {
                silo_id,
                cpus: change.cpus.unwrap_or(before.cpus),
                memory: change.memory.unwrap_or(before.memory),
                storage: change.storage.unwrap_or(before.storage),
                time_created: known.as_ref().map_or(modified, |known| known.time_created),
                time_modified: modified,
            };
            if known.is_none() {
                diesel::insert_into(silo_quotas::table).values(&row).execute(conn)?;
            } else {
                diesel::update(silo_quotas::table.filter(silo_quotas::silo_id.eq(silo_id)))
                    .set((
                        silo_quotas::cpus.eq(row.cpus),
                        silo_quotas::memory.eq(row.memory),
                        silo_quotas::storage.eq(row.storage),
                        silo_quotas::time_modified.eq(row.time_modified),
                    ))
                    .execute(conn)?;
            }
            Ok(amounts(Some(&row)))
        })
        .await
    }

    /// A page of the silos that are shown in lists, with their quotas and what they use.
    pub async fn silo_use_list(&self, page: PageBy) -> Result<Vec<SiloUse>, Error> {
        self.transaction("use of silos", move |conn| {
            let shown = silo::time_deleted.is_null().and(silo::discoverable);
            let silos: Vec<Silo> = page_by!(conn, silo, Silo, shown, &page)?;
            Ok(with_use(conn, silos)?)
        })
        .await
    }

    /// A silo with its quotas and what it uses.
    pub async fn silo_use(&self, silo: Silo) -> Result<SiloUse, Error> {
        self.transaction("use of silo", move |conn| {
            let mut with = with_use(conn, vec![silo.clone()])?;
            with.pop().ok_or_else(|| Error::internal("a silo without an answer").into())
        })
        .await
    }
}
