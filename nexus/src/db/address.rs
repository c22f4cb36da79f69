//! Handing out addresses of pools: the lowest free one, or a given one, or a block of ports.
//!
//! Each range has a *mark*, `next_address`: it is free, and nothing at or above it was handed out
//! automatically. Below the mark every address is in use or stands in `ip_pool_free_address`. So
//! the lowest free address of a pool is the lower of two that indexes give at once: the lowest
//! row of the free list, and the lowest mark. Nothing here costs more when more is in use; the
//! one walk there is steps over addresses above the mark that were asked for by name, once.
//!
//! Source NAT shares an address among four instances. `ip_pool_snat_address` says which blocks of
//! a shared address are in use; to the rest of this module a shared address is one in use.
//!
//! Everything runs inside a transaction of the caller, who inserts (or deletes) the row of
//! `external_ip` in it. Two that take the same address conflict, on the mark, on the free list's
//! row, or on the unique index of live addresses, and one of them runs again.

use super::Datastore;
use super::error::TxResult;
use super::nic::lowest_gap;
use crate::turns::Turns;
use db_model::schema::{
    external_ip, ip_pool, ip_pool_free_address, ip_pool_range, ip_pool_silo, ip_pool_snat_address,
};
use db_model::{FreeAddress, Ip, IpPool, IpPoolRange, IpVersion, PoolType, SnatAddress};
use diesel::prelude::*;
use nexus_common::address::{SNAT_BLOCKS, SNAT_PORTS, next_ip, snat_block};
use nexus_common::{Error, NameOrId, ResourceType};
use std::net::IpAddr;
use uuid::Uuid;

/// Which pool an automatic address comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum PoolRequest {
    /// This one.
    Pool(NameOrId),
    /// The silo's default of this version; of the only version that has one, if none is named.
    Default(Option<nexus_common::IpVersion>),
    /// The silo's default IPv4 pool, or the IPv6 one where there is no other. For clients that
    /// cannot say which they mean.
    DefaultPreferV4,
}

/// What is wanted of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum AddressRequest {
    /// This address, from whichever pool of the silo has it; from the given one, if any.
    Explicit { ip: IpAddr, pool: Option<NameOrId> },
    /// The lowest free one.
    Lowest(PoolRequest),
}

/// An address that was taken, with where it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    pub ip: IpAddr,
    pub pool_id: Uuid,
    pub range_id: Uuid,
}

pub(super) fn exhausted() -> Error {
    Error::capacity("No external IP addresses available")
}

/// Takes the address that is wanted, for a user of the silo.
pub(super) fn take_address(
    conn: &mut PgConnection,
    silo_id: Uuid,
    request: &AddressRequest,
) -> TxResult<Taken> {
    match request {
        AddressRequest::Explicit { ip, pool } => take_explicit(conn, silo_id, *ip, pool.as_ref()),
        AddressRequest::Lowest(request) => {
            let pool = resolve_pool(conn, silo_id, request)?;
            Ok(take_lowest(conn, pool.id)?.ok_or_else(exhausted)?)
        }
    }
}

/// The pool that is meant. One that is not linked to the silo does not exist.
pub(super) fn resolve_pool(
    conn: &mut PgConnection,
    silo_id: Uuid,
    request: &PoolRequest,
) -> TxResult<IpPool> {
    match request {
        PoolRequest::Pool(selector) => {
            let pool = linked_pool(conn, silo_id, selector)?;
            if pool.pool_type != PoolType::Unicast {
                return Err(Error::invalid(format!(
                    "Pool '{}' is not a unicast pool (type: {})",
                    pool.name, pool.pool_type
                ))
                .into());
            }
            Ok(pool)
        }
        PoolRequest::Default(version) => default_pool(conn, silo_id, *version),
        PoolRequest::DefaultPreferV4 => {
            let mut defaults = default_pools(conn, silo_id)?;
            defaults.sort_by_key(|pool| pool.ip_version);
            let lowest = defaults.into_iter().next();
            Ok(lowest.ok_or_else(|| no_default(None))?)
        }
    }
}

/// The pool with this name or id, if it is linked to the silo.
pub(super) fn linked_pool(
    conn: &mut PgConnection,
    silo_id: Uuid,
    selector: &NameOrId,
) -> TxResult<IpPool> {
    let query = ip_pool::table
        .inner_join(ip_pool_silo::table.on(ip_pool_silo::ip_pool_id.eq(ip_pool::id)))
        .filter(ip_pool_silo::silo_id.eq(silo_id))
        .filter(ip_pool::time_deleted.is_null())
        .select(IpPool::as_select())
        .into_boxed();
    let query = match selector {
        NameOrId::Id(id) => query.filter(ip_pool::id.eq(*id)),
        NameOrId::Name(name) => query.filter(ip_pool::name.eq(name.as_str())),
    };
    let found = query.first(conn).optional()?;
    Ok(found.ok_or_else(|| Error::not_found(ResourceType::IpPool, selector))?)
}

fn no_default(version: Option<nexus_common::IpVersion>) -> Error {
    let family = match version {
        None => "IP".to_string(),
        Some(version) => format!("IPv{}", version.number()),
    };
    let what = format!("default unicast {family} pool for current silo");
    Error::not_found_message(ResourceType::IpPool, what)
}

/// The silo's default unicast pools: at most one of each version.
fn default_pools(conn: &mut PgConnection, silo_id: Uuid) -> QueryResult<Vec<IpPool>> {
    ip_pool_silo::table
        .inner_join(ip_pool::table.on(ip_pool::id.eq(ip_pool_silo::ip_pool_id)))
        .filter(ip_pool_silo::silo_id.eq(silo_id))
        .filter(ip_pool_silo::pool_type.eq(PoolType::Unicast))
        .filter(ip_pool_silo::is_default)
        .filter(ip_pool::time_deleted.is_null())
        .limit(2)
        .select(IpPool::as_select())
        .load(conn)
}

/// The silo's default unicast pool of a version, or the only one.
pub(super) fn default_pool(
    conn: &mut PgConnection,
    silo_id: Uuid,
    version: Option<nexus_common::IpVersion>,
) -> TxResult<IpPool> {
    let mut pools = default_pools(conn, silo_id)?;
    if let Some(version) = version {
        pools.retain(|pool| pool.ip_version == IpVersion::from(version));
    }
    if pools.len() > 1 {
        let message = "Multiple default unicast IP pools exist with different IP versions. Please \
                       specify ip_version (v4 or v6) or provide an explicit pool.";
        return Err(Error::invalid(message).into());
    }
    Ok(pools.pop().ok_or_else(|| no_default(version))?)
}

/// The live range that contains the address. Ranges are disjoint, so it is the one that begins
/// last among those that begin no later.
fn range_of(conn: &mut PgConnection, ip: IpAddr) -> QueryResult<Option<IpPoolRange>> {
    let range = ip_pool_range::table
        .filter(ip_pool_range::first_address.le(Ip(ip)))
        .filter(ip_pool_range::time_deleted.is_null())
        .order(ip_pool_range::first_address.desc())
        .select(IpPoolRange::as_select())
        .first(conn)
        .optional()?;
    Ok(range.filter(|range| {
        range.last_address.0 >= ip && range.last_address.0.is_ipv4() == ip.is_ipv4()
    }))
}

fn take_explicit(
    conn: &mut PgConnection,
    silo_id: Uuid,
    ip: IpAddr,
    wanted_pool: Option<&NameOrId>,
) -> TxResult<Taken> {
    let nowhere = || Error::invalid(format!("IP address {ip} is not in any configured pool"));
    let wanted_pool = match wanted_pool {
        Some(selector) => Some(linked_pool(conn, silo_id, selector)?),
        None => None,
    };
    let range = range_of(conn, ip)?.ok_or_else(nowhere)?;
    // The same words whether the pool is another silo's or there is none: the address's pool must
    // not be guessed at from here.
    let pool = linked_pool(conn, silo_id, &range.ip_pool_id.into()).map_err(|_| nowhere())?;
    if pool.pool_type != PoolType::Unicast {
        return Err(nowhere().into());
    }
    if let Some(wanted) = wanted_pool.filter(|wanted| wanted.id != pool.id) {
        return Err(Error::invalid(format!(
            "IP address {ip} is not in pool '{}'; leave out one of the two",
            wanted.name
        ))
        .into());
    }
    let live: i64 = external_ip::table
        .filter(external_ip::ip.eq(Ip(ip)))
        .filter(external_ip::time_deleted.is_null())
        .count()
        .get_result(conn)?;
    if live > 0 {
        return Err(Error::invalid("Requested external IP address not available").into());
    }
    match range.next_address {
        Some(Ip(mark)) if ip > mark => {}
        Some(Ip(mark)) if ip == mark => advance_mark(conn, &range, ip)?,
        _ => remove_free(conn, pool.id, ip)?,
    }
    Ok(Taken { ip, pool_id: pool.id, range_id: range.id })
}

/// The lowest free address, with whether it comes from the free list.
enum Lowest {
    Free(FreeAddress),
    Mark(IpPoolRange, IpAddr),
}

impl Lowest {
    fn ip(&self) -> IpAddr {
        match self {
            Lowest::Free(free) => free.ip.0,
            Lowest::Mark(_, ip) => *ip,
        }
    }
}

fn find_lowest(conn: &mut PgConnection, pool_id: Uuid) -> QueryResult<Option<Lowest>> {
    let free = ip_pool_free_address::table
        .filter(ip_pool_free_address::ip_pool_id.eq(pool_id))
        .order(ip_pool_free_address::ip)
        .select(FreeAddress::as_select())
        .first(conn)
        .optional()?;
    let marked = ip_pool_range::table
        .filter(ip_pool_range::ip_pool_id.eq(pool_id))
        .filter(ip_pool_range::time_deleted.is_null())
        .filter(ip_pool_range::next_address.is_not_null())
        .order(ip_pool_range::next_address)
        .select(IpPoolRange::as_select())
        .first(conn)
        .optional()?;
    let marked = marked.and_then(|range| {
        let Ip(ip) = range.next_address?;
        Some(Lowest::Mark(range, ip))
    });
    Ok(match (free.map(Lowest::Free), marked) {
        (Some(a), Some(b)) => Some(if a.ip() < b.ip() { a } else { b }),
        (a, b) => a.or(b),
    })
}

/// Takes the pool's lowest free address; none if there is none.
pub(super) fn take_lowest(conn: &mut PgConnection, pool_id: Uuid) -> QueryResult<Option<Taken>> {
    match find_lowest(conn, pool_id)? {
        Some(lowest) => take_found(conn, pool_id, lowest).map(Some),
        None => Ok(None),
    }
}

fn take_found(conn: &mut PgConnection, pool_id: Uuid, lowest: Lowest) -> QueryResult<Taken> {
    match lowest {
        Lowest::Free(free) => {
            remove_free(conn, pool_id, free.ip.0)?;
            Ok(Taken { ip: free.ip.0, pool_id, range_id: free.ip_pool_range_id })
        }
        Lowest::Mark(range, ip) => {
            advance_mark(conn, &range, ip)?;
            Ok(Taken { ip, pool_id, range_id: range.id })
        }
    }
}

fn remove_free(conn: &mut PgConnection, pool_id: Uuid, ip: IpAddr) -> QueryResult<()> {
    diesel::delete(
        ip_pool_free_address::table
            .filter(ip_pool_free_address::ip_pool_id.eq(pool_id))
            .filter(ip_pool_free_address::ip.eq(Ip(ip))),
    )
    .execute(conn)?;
    Ok(())
}

/// Moves the mark from `taken`, which is no longer free, to the next free address above it.
fn advance_mark(conn: &mut PgConnection, range: &IpPoolRange, taken: IpAddr) -> QueryResult<()> {
    let Ip(last) = range.last_address;
    let next = match next_ip(taken).filter(|next| *next <= last) {
        None => None,
        Some(first) => lowest_gap(first, last, |from, limit| {
            external_ip::table
                .filter(external_ip::ip_pool_range_id.eq(range.id))
                .filter(external_ip::ip.ge(Ip(from)))
                .filter(external_ip::time_deleted.is_null())
                .order(external_ip::ip)
                .limit(limit)
                .select(external_ip::ip)
                .load(conn)
        })?,
    };
    diesel::update(ip_pool_range::table.filter(ip_pool_range::id.eq(range.id)))
        .set(ip_pool_range::next_address.eq(next.map(Ip)))
        .execute(conn)?;
    Ok(())
}

/// Gives a whole address back. Its row is no longer live.
pub(super) fn release_address(conn: &mut PgConnection, address: Taken) -> QueryResult<()> {
    let mark: Option<Option<Ip>> = ip_pool_range::table
        .filter(ip_pool_range::id.eq(address.range_id))
        .select(ip_pool_range::next_address)
        .first(conn)
        .optional()?;
    let below_mark = match mark {
        None => false,
        Some(None) => true,
        Some(Some(Ip(mark))) => address.ip < mark,
    };
    // At or above the mark nothing is written down: the mark will come to it.
    if below_mark {
        let free = FreeAddress {
            ip_pool_id: address.pool_id,
            ip: Ip(address.ip),
            ip_pool_range_id: address.range_id,
        };
        diesel::insert_into(ip_pool_free_address::table).values(free).execute(conn)?;
    }
    Ok(())
}

/// Takes a block of ports for source NAT: the lowest free block of the lowest address that is
/// shared and has one, or of the lowest free address if that is lower. None if there is neither.
pub(super) fn take_snat_block(
    conn: &mut PgConnection,
    pool_id: Uuid,
) -> QueryResult<Option<(Taken, u16)>> {
    let shared = ip_pool_snat_address::table
        .filter(ip_pool_snat_address::ip_pool_id.eq(pool_id))
        .filter(ip_pool_snat_address::used_blocks.lt((1 << SNAT_BLOCKS) - 1))
        .order(ip_pool_snat_address::ip)
        .select(SnatAddress::as_select())
        .first(conn)
        .optional()?;
    let lowest = find_lowest(conn, pool_id)?;
    match (shared, lowest) {
        (Some(shared), lowest) if lowest.as_ref().is_none_or(|free| shared.ip.0 < free.ip()) => {
            let block = shared.used_blocks.trailing_ones() as u16;
            set_blocks(conn, &shared, shared.used_blocks | 1 << block)?;
            let taken = Taken { ip: shared.ip.0, pool_id, range_id: shared.ip_pool_range_id };
            Ok(Some((taken, block)))
        }
        (_, Some(lowest)) => {
            let taken = take_found(conn, pool_id, lowest)?;
            let row = SnatAddress {
                ip_pool_id: pool_id,
                ip: Ip(taken.ip),
                ip_pool_range_id: taken.range_id,
                used_blocks: 1,
            };
            diesel::insert_into(ip_pool_snat_address::table).values(row).execute(conn)?;
            Ok(Some((taken, 0)))
        }
        (_, None) => Ok(None),
    }
}

fn set_blocks(conn: &mut PgConnection, address: &SnatAddress, blocks: i16) -> QueryResult<()> {
    let row = ip_pool_snat_address::table
        .filter(ip_pool_snat_address::ip_pool_id.eq(address.ip_pool_id))
        .filter(ip_pool_snat_address::ip.eq(address.ip));
    if blocks == 0 {
        diesel::delete(row).execute(conn)?;
    } else {
        diesel::update(row).set(ip_pool_snat_address::used_blocks.eq(blocks)).execute(conn)?;
    }
    Ok(())
}

/// Gives a block of ports back, and with the last block the address. The block's row is no
/// longer live.
pub(super) fn release_snat_block(
    conn: &mut PgConnection,
    address: Taken,
    first_port: u16,
) -> QueryResult<()> {
    let shared = ip_pool_snat_address::table
        .filter(ip_pool_snat_address::ip_pool_id.eq(address.pool_id))
        .filter(ip_pool_snat_address::ip.eq(Ip(address.ip)))
        .select(SnatAddress::as_select())
        .first(conn)
        .optional()?;
    let Some(shared) = shared else { return Ok(()) };
    let blocks = shared.used_blocks & !(1 << (first_port / SNAT_PORTS));
    set_blocks(conn, &shared, blocks)?;
    if blocks == 0 {
        release_address(conn, address)?;
    }
    Ok(())
}

/// First and last port of a block, as the database stores them.
pub(super) fn block_ports(block: u16) -> (i32, i32) {
    let (first, last) = snat_block(block);
    (first.into(), last.into())
}

/// A turn for each pool in use. Callers that wait for the same pool anyway wait here, rather than
/// conflict in the database and run again.
pub(super) type PoolTurns = Turns<(Uuid, PoolRequest)>;

impl Datastore {
    /// Waits for this process's turn to allocate from a pool.
    pub(super) async fn pool_turn(
        &self,
        silo_id: Uuid,
        request: &PoolRequest,
    ) -> tokio::sync::OwnedMutexGuard<()> {
        self.pool_turns.wait((silo_id, request.clone())).await
    }
}
