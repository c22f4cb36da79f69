//! IP pools, their ranges, and their links to silos.

use super::address::linked_pool;
use super::error::{TxResult, taken};
use super::paging::{page, page_by};
use super::project::IdentityUpdate;
use super::silo::live_silo;
use super::{Datastore, now};
use db_model::schema::{
    external_ip, ip_pool, ip_pool_free_address, ip_pool_range, ip_pool_silo, ip_pool_snat_address,
};
use db_model::{Ip, IpKind, IpPool, IpPoolRange, IpPoolSilo, IpVersion, PoolAssignment, PoolType};
use diesel::dsl::exists;
use diesel::prelude::*;
use nexus_common::{Error, IpRange, LookupBy, NameOrId, PageBy, PageParams, ResourceType};
use std::net::IpAddr;
use uuid::Uuid;

/// Which pools a listing shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct PoolFilter {
    pub ip_version: Option<IpVersion>,
    pub pool_type: Option<PoolType>,
    pub assignment: Option<PoolAssignment>,
}

/// How many addresses a pool has, and how many of them are in use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Utilization {
    pub capacity: f64,
    pub allocated: f64,
}

/// The most addresses that the refusal to remove a range names.
const NAMED_ADDRESSES: i64 = 3;

/// The live pool with this id, for a transaction that changes something below it.
fn live_pool(conn: &mut PgConnection, id: Uuid) -> TxResult<IpPool> {
    let found = ip_pool::table
        .filter(ip_pool::id.eq(id))
        .filter(ip_pool::time_deleted.is_null())
        .select(IpPool::as_select())
        .first(conn)
        .optional()?;
    Ok(found.ok_or_else(|| Error::not_found(ResourceType::IpPool, id))?)
}

/// Addresses of a pool that are in use. Those that source NAT shares count once.
pub(super) fn allocated(conn: &mut PgConnection, pool_id: Uuid) -> QueryResult<i64> {
    let whole: i64 = external_ip::table
        .filter(external_ip::ip_pool_id.eq(pool_id))
        .filter(external_ip::time_deleted.is_null())
        .filter(external_ip::kind.ne(IpKind::Snat))
        .count()
        .get_result(conn)?;
    let shared: i64 = ip_pool_snat_address::table
        .filter(ip_pool_snat_address::ip_pool_id.eq(pool_id))
        .count()
        .get_result(conn)?;
    Ok(whole + shared)
}

macro_rules! filtered {
    ($condition:expr, $filter:expr) => {{
        let filter = $filter;
        let version = filter.ip_version.map(|v| vec![v]);
        let pool_type = filter.pool_type.map(|v| vec![v]);
        let assignment = filter.assignment.map(|v| vec![v]);
        $condition
            .and(ip_pool::time_deleted.is_null())
            .and(
                ip_pool::ip_version
                    .eq_any(version.unwrap_or_else(|| vec![IpVersion::V4, IpVersion::V6])),
            )
            .and(
                ip_pool::pool_type.eq_any(
                    pool_type.unwrap_or_else(|| vec![PoolType::Unicast, PoolType::Multicast]),
                ),
            )
            .and(
                ip_pool::assignment.eq_any(assignment.unwrap_or_else(|| {
                    vec![PoolAssignment::Silos, PoolAssignment::SystemServices]
                })),
            )
    }};
}

impl Datastore {
    /// A page of all pools.
    pub async fn pool_list(&self, filter: PoolFilter, page: PageBy) -> Result<Vec<IpPool>, Error> {
        self.statement("ip pools", move |conn| {
            let wanted = filtered!(ip_pool::id.is_not_null(), filter);
            Ok(page_by!(conn, ip_pool, IpPool, wanted, &page)?)
        })
        .await
    }

    /// The pool with this name or id.
    pub async fn pool_fetch(&self, selector: NameOrId) -> Result<IpPool, Error> {
        self.statement("ip pool", move |conn| {
            let query = ip_pool::table
                .filter(ip_pool::time_deleted.is_null())
                .select(IpPool::as_select())
                .into_boxed();
            let query = match &selector {
                NameOrId::Id(id) => query.filter(ip_pool::id.eq(*id)),
                NameOrId::Name(name) => query.filter(ip_pool::name.eq(name.as_str())),
            };
            let found = query.first(conn).optional()?;
            Ok(found.ok_or_else(|| Error::not_found(ResourceType::IpPool, &selector))?)
        })
        .await
    }

    /// Makes a pool.
    pub async fn pool_create(&self, row: IpPool) -> Result<IpPool, Error> {
        self.statement("create ip pool", move |conn| {
            diesel::insert_into(ip_pool::table).values(&row).execute(conn).map_err(taken(
                "ip_pool_name",
                ResourceType::IpPool,
                &row.name,
            ))?;
            Ok(row.clone())
        })
        .await
    }

    /// Renames a pool, or changes its description.
    pub async fn pool_update(&self, id: Uuid, change: IdentityUpdate) -> Result<IpPool, Error> {
        self.transaction("update ip pool", move |conn| {
            let old = live_pool(conn, id)?;
            let name = change.name.clone().unwrap_or(old.name);
            let updated = diesel::update(ip_pool::table.filter(ip_pool::id.eq(id)))
                .set((
                    ip_pool::name.eq(&name),
                    ip_pool::description.eq(change.description.clone().unwrap_or(old.description)),
                    ip_pool::time_modified.eq(now()),
                ))
                .returning(IpPool::as_returning())
                .get_result(conn)
                .map_err(taken("ip_pool_name", ResourceType::IpPool, &name))?;
            Ok(updated)
        })
        .await
    }

    /// Deletes a pool that has no ranges. Its links to silos go with it.
    pub async fn pool_delete(&self, id: Uuid) -> Result<(), Error> {
        self.transaction("delete ip pool", move |conn| {
            live_pool(conn, id)?;
            let ranges: bool = diesel::select(exists(
                ip_pool_range::table
                    .filter(ip_pool_range::ip_pool_id.eq(id))
                    .filter(ip_pool_range::time_deleted.is_null()),
            ))
            .get_result(conn)?;
            if ranges {
                let message = "IP Pool cannot be deleted while it contains IP ranges";
                return Err(Error::invalid(message).into());
            }
            diesel::delete(ip_pool_silo::table.filter(ip_pool_silo::ip_pool_id.eq(id)))
                .execute(conn)?;
            diesel::update(ip_pool::table.filter(ip_pool::id.eq(id)))
                .set(ip_pool::time_deleted.eq(Some(now())))
                .execute(conn)?;
            Ok(())
        })
        .await
    }

    /// A page of a pool's ranges, by first address.
    pub async fn range_list(
        &self,
        pool_id: Uuid,
        page: PageParams<IpAddr>,
    ) -> Result<Vec<IpPoolRange>, Error> {
        self.statement("ip pool ranges", move |conn| {
            let query = ip_pool_range::table
                .filter(ip_pool_range::ip_pool_id.eq(pool_id))
                .filter(ip_pool_range::time_deleted.is_null())
                .select(IpPoolRange::as_select());
            let marker = |ip: &IpAddr| Ip(*ip);
            Ok(page!(query, ip_pool_range::first_address, &page, marker).load(conn)?)
        })
        .await
    }

    /// Adds a range, disjoint from all others, to a pool of its version.
    pub async fn range_add(&self, pool_id: Uuid, range: IpRange) -> Result<IpPoolRange, Error> {
        self.transaction("add ip pool range", move |conn| {
            live_pool(conn, pool_id)?;
            if overlaps(conn, &range)? {
                return Err(Error::invalid(format!(
                    "The provided IP range {}-{} overlaps with an existing IP pool range or \
                     subnet pool member",
                    range.first(),
                    range.last()
                ))
                .into());
            }
            let row = IpPoolRange {
                id: Uuid::new_v4(),
                ip_pool_id: pool_id,
                first_address: Ip(range.first()),
                last_address: Ip(range.last()),
                next_address: Some(Ip(range.first())),
                time_created: now(),
                time_deleted: None,
            };
            diesel::insert_into(ip_pool_range::table).values(&row).execute(conn)?;
            Ok(row)
        })
        .await
    }

    /// Removes a range, given by both its ends, from which no address is in use.
    pub async fn range_remove(&self, pool_id: Uuid, range: IpRange) -> Result<(), Error> {
        self.transaction("remove ip pool range", move |conn| {
            let row = ip_pool_range::table
                .filter(ip_pool_range::ip_pool_id.eq(pool_id))
                .filter(ip_pool_range::first_address.eq(Ip(range.first())))
                .filter(ip_pool_range::last_address.eq(Ip(range.last())))
                .filter(ip_pool_range::time_deleted.is_null())
                .select(IpPoolRange::as_select())
                .first(conn)
                .optional()?;
            let Some(row) = row else {
                return Err(Error::invalid(format!(
                    "The provided range {}-{} does not exist",
                    range.first(),
                    range.last()
                ))
                .into());
            };
            refuse_if_in_use(conn, row.id)?;
            diesel::delete(
                ip_pool_free_address::table
                    .filter(ip_pool_free_address::ip_pool_range_id.eq(row.id)),
            )
            .execute(conn)?;
            // Clearing the mark takes the range away from allocations that are looking at it.
            diesel::update(ip_pool_range::table.filter(ip_pool_range::id.eq(row.id)))
                .set((
                    ip_pool_range::time_deleted.eq(Some(now())),
                    ip_pool_range::next_address.eq(None::<Ip>),
                ))
                .execute(conn)?;
            Ok(())
        })
        .await
    }

    /// Capacity and use of a pool. Addresses that source NAT shares count once.
    pub async fn pool_utilization(&self, pool_id: Uuid) -> Result<Utilization, Error> {
        self.transaction("ip pool utilization", move |conn| {
            let mut capacity = 0.0;
            let mut after: Option<Ip> = None;
            loop {
                const CHUNK: i64 = 1000;
                let mut query = ip_pool_range::table
                    .filter(ip_pool_range::ip_pool_id.eq(pool_id))
                    .filter(ip_pool_range::time_deleted.is_null())
                    .into_boxed();
                if let Some(after) = after {
                    query = query.filter(ip_pool_range::first_address.gt(after));
                }
                let ranges: Vec<IpPoolRange> = query
                    .order(ip_pool_range::first_address)
                    .limit(CHUNK)
                    .select(IpPoolRange::as_select())
                    .load(conn)?;
                let sizes =
                    ranges.iter().filter_map(|r| IpRange::new(r.first_address.0, r.last_address.0));
                capacity += sizes.map(|range| range.size()).sum::<f64>();
                after = ranges.last().map(|range| range.first_address);
                if (ranges.len() as i64) < CHUNK {
                    break;
                }
            }
            Ok(Utilization { capacity, allocated: allocated(conn, pool_id)? as f64 })
        })
        .await
    }

    /// A page of the pool's links, by silo.
    pub async fn pool_silo_list(
        &self,
        pool_id: Uuid,
        page: PageParams<Uuid>,
    ) -> Result<Vec<IpPoolSilo>, Error> {
        self.statement("ip pool links", move |conn| {
            let query = ip_pool_silo::table
                .filter(ip_pool_silo::ip_pool_id.eq(pool_id))
                .select(IpPoolSilo::as_select());
            Ok(page!(query, ip_pool_silo::silo_id, &page, |id: &Uuid| *id).load(conn)?)
        })
        .await
    }

    /// Links a pool to a silo.
    pub async fn pool_silo_link(
        &self,
        pool_id: Uuid,
        silo_id: Uuid,
        is_default: bool,
    ) -> Result<IpPoolSilo, Error> {
        self.transaction("link ip pool", move |conn| {
            let pool = live_pool(conn, pool_id)?;
            live_silo(conn, silo_id)?;
            if pool.assignment == PoolAssignment::SystemServices {
                return Err(Error::invalid(
                    "IP Pools cannot be both linked to Silos and assigned for system services \
                     use.",
                )
                .into());
            }
            let mut clash = ip_pool_silo::table
                .filter(ip_pool_silo::silo_id.eq(silo_id))
                .filter(ip_pool_silo::ip_pool_id.eq(pool_id))
                .into_boxed();
            if is_default {
                clash = clash.or_filter(
                    ip_pool_silo::silo_id
                        .eq(silo_id)
                        .and(ip_pool_silo::pool_type.eq(pool.pool_type))
                        .and(ip_pool_silo::ip_version.eq(pool.ip_version))
                        .and(ip_pool_silo::is_default),
                );
            }
            if clash.select(ip_pool_silo::silo_id).first::<Uuid>(conn).optional()?.is_some() {
                let key =
                    format!("ip_pool_id: {pool_id}, resource_id: {silo_id}, resource_type: Silo");
                return Err(Error::already_exists(ResourceType::IpPoolResource, key).into());
            }
            let link = IpPoolSilo {
                ip_pool_id: pool_id,
                silo_id,
                ip_version: pool.ip_version,
                pool_type: pool.pool_type,
                is_default,
            };
            diesel::insert_into(ip_pool_silo::table).values(&link).execute(conn)?;
            Ok(link)
        })
        .await
    }

    /// Makes a pool the silo's default, in place of the one that was, or no longer the default.
    pub async fn pool_silo_update(
        &self,
        pool_id: Uuid,
        silo_id: Uuid,
        is_default: bool,
    ) -> Result<IpPoolSilo, Error> {
        self.transaction("update ip pool link", move |conn| {
            let link = ip_pool_silo::table
                .filter(ip_pool_silo::silo_id.eq(silo_id))
                .filter(ip_pool_silo::ip_pool_id.eq(pool_id))
                .select(IpPoolSilo::as_select())
                .first(conn)
                .optional()?;
            let Some(link) = link else {
                let key = format!("ip_pool_id: {pool_id}, silo_id: {silo_id}");
                let by = LookupBy::CompositeId(key);
                return Err(Error::not_found(ResourceType::IpPoolResource, by).into());
            };
            if is_default {
                diesel::update(
                    ip_pool_silo::table
                        .filter(ip_pool_silo::silo_id.eq(silo_id))
                        .filter(ip_pool_silo::pool_type.eq(link.pool_type))
                        .filter(ip_pool_silo::ip_version.eq(link.ip_version))
                        .filter(ip_pool_silo::is_default)
                        .filter(ip_pool_silo::ip_pool_id.ne(pool_id)),
                )
                .set(ip_pool_silo::is_default.eq(false))
                .execute(conn)?;
            }
            diesel::update(
                ip_pool_silo::table
                    .filter(ip_pool_silo::silo_id.eq(silo_id))
                    .filter(ip_pool_silo::ip_pool_id.eq(pool_id)),
            )
            .set(ip_pool_silo::is_default.eq(is_default))
            .execute(conn)?;
            Ok(IpPoolSilo { is_default, ..link })
        })
        .await
    }

    /// Takes a pool from a silo that uses none of its addresses. A pool that is not linked stays
    /// so.
    pub async fn pool_silo_unlink(&self, pool_id: Uuid, silo_id: Uuid) -> Result<(), Error> {
        self.transaction("unlink ip pool", move |conn| {
            let in_use: bool = diesel::select(exists(
                external_ip::table
                    .filter(external_ip::ip_pool_id.eq(pool_id))
                    .filter(external_ip::silo_id.eq(silo_id))
                    .filter(external_ip::time_deleted.is_null()),
            ))
            .get_result(conn)?;
            if in_use {
                let message = "IP addresses from this pool are in use in the linked silo";
                return Err(Error::invalid(message).into());
            }
            diesel::delete(
                ip_pool_silo::table
                    .filter(ip_pool_silo::silo_id.eq(silo_id))
                    .filter(ip_pool_silo::ip_pool_id.eq(pool_id)),
            )
            .execute(conn)?;
            Ok(())
        })
        .await
    }

    /// A page of the pools that a silo may use, each with whether it is a default.
    pub async fn silo_pool_list(
        &self,
        silo_id: Uuid,
        filter: PoolFilter,
        page: PageBy,
    ) -> Result<Vec<(IpPool, bool)>, Error> {
        self.statement("ip pools of silo", move |conn| {
            let query = ip_pool::table
                .inner_join(ip_pool_silo::table.on(ip_pool_silo::ip_pool_id.eq(ip_pool::id)))
                .filter(filtered!(ip_pool_silo::silo_id.eq(silo_id), filter))
                .select((IpPool::as_select(), ip_pool_silo::is_default));
            Ok(match &page {
                PageBy::Name(by) => {
                    page!(query, ip_pool::name, by, |name: &nexus_common::Name| name.to_string())
                        .load(conn)?
                }
                PageBy::Id(by) => page!(query, ip_pool::id, by, |id: &Uuid| *id).load(conn)?,
            })
        })
        .await
    }

    /// A pool that the silo may use, with whether it is a default.
    pub async fn silo_pool_fetch(
        &self,
        silo_id: Uuid,
        selector: NameOrId,
    ) -> Result<(IpPool, bool), Error> {
        self.transaction("ip pool of silo", move |conn| {
            let pool = linked_pool(conn, silo_id, &selector)?;
            let is_default = ip_pool_silo::table
                .filter(ip_pool_silo::silo_id.eq(silo_id))
                .filter(ip_pool_silo::ip_pool_id.eq(pool.id))
                .select(ip_pool_silo::is_default)
                .first(conn)?;
            Ok((pool, is_default))
        })
        .await
    }
}

/// Whether any live range shares an address with this one. Live ranges are disjoint, so it is
/// enough to look at the one that begins last among those that begin no later than the end.
fn overlaps(conn: &mut PgConnection, range: &IpRange) -> QueryResult<bool> {
    let nearest: Option<Ip> = ip_pool_range::table
        .filter(ip_pool_range::first_address.le(Ip(range.last())))
        .filter(ip_pool_range::time_deleted.is_null())
        .order(ip_pool_range::first_address.desc())
        .select(ip_pool_range::last_address)
        .first(conn)
        .optional()?;
    Ok(nearest
        .is_some_and(|Ip(last)| last.is_ipv4() == range.first().is_ipv4() && last >= range.first()))
}

fn refuse_if_in_use(conn: &mut PgConnection, range_id: Uuid) -> TxResult<()> {
    let live = external_ip::table
        .filter(external_ip::ip_pool_range_id.eq(range_id))
        .filter(external_ip::time_deleted.is_null());
    let some: Vec<Ip> = live
        .order(external_ip::ip)
        .select(external_ip::ip)
        .distinct()
        .limit(NAMED_ADDRESSES)
        .load(conn)?;
    if some.is_empty() {
        return Ok(());
    }
    let count: i64 =
        live.select(diesel::dsl::count(external_ip::ip).aggregate_distinct()).get_result(conn)?;
    let named: Vec<String> = some.iter().map(Ip::to_string).collect();
    let more = if count > NAMED_ADDRESSES { ", …" } else { "" };
    Err(Error::invalid(format!(
        "IP pool ranges cannot be deleted while external IP addresses are allocated from them: \
         {count} in use ({}{more})",
        named.join(", ")
    ))
    .into())
}
