//! The NAT entries that the switches should hold.
//!
//! A change is the addition of an entry or its removal, and each takes the next number of one
//! counter, whose row is updated in the change's own transaction. So changes become visible in
//! the order of their numbers: whoever has seen generation *g* and asks for what is newer can
//! never miss one that commits later with a smaller number (a sequence would not give that).
//!
//! Entries are never altered. A removed one stays, marked, with the generation of its removal,
//! until every switch has passed that.

use super::error::TxResult;
use super::external_ip::ips_of_instance;
use super::nic::{has_version, primary_nic};
use super::{Datastore, now};
use chrono::{DateTime, Utc};
use db_model::schema::{ip_pool_range, nat_entry, nat_generation, nat_switch, sled, vpc};
use db_model::{ExternalIp, Ip, NatEntry, NatSwitch, NetworkInterface};
use diesel::prelude::*;
use nexus_common::Error;
use std::collections::BTreeSet;
use std::net::IpAddr;
use uuid::Uuid;

/// Where packets for an instance's external addresses go: the sled, and the primary interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NatTarget {
    sled_address: Ip,
    vni: i32,
    nic: NatNic,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct NatNic {
    mac: db_model::Mac,
    v4: bool,
    v6: bool,
}

impl NatTarget {
    /// Whether the interface has an address of the external address's version.
    fn takes(&self, ip: IpAddr) -> bool {
        if ip.is_ipv4() { self.nic.v4 } else { self.nic.v6 }
    }
}

/// The target for an instance on a sled; none if it has no interface.
pub(super) fn nat_target(
    conn: &mut PgConnection,
    instance_id: Uuid,
    sled_id: Uuid,
) -> TxResult<Option<NatTarget>> {
    let Some(nic) = primary_nic(conn, instance_id)? else { return Ok(None) };
    let sled_address =
        sled::table.filter(sled::id.eq(sled_id)).select(sled::underlay_address).first(conn)?;
    let vni = vpc::table.filter(vpc::id.eq(nic.vpc_id)).select(vpc::vni).first(conn)?;
    Ok(Some(NatTarget { sled_address, vni, nic: nat_nic(&nic) }))
}

fn nat_nic(nic: &NetworkInterface) -> NatNic {
    NatNic {
        mac: nic.mac,
        v4: has_version(nic, nexus_common::IpVersion::V4),
        v6: has_version(nic, nexus_common::IpVersion::V6),
    }
}

/// Takes the next generation.
fn next_generation(conn: &mut PgConnection) -> QueryResult<i64> {
    diesel::update(nat_generation::table.filter(nat_generation::id.eq(1)))
        .set(nat_generation::generation.eq(nat_generation::generation + 1))
        .returning(nat_generation::generation)
        .get_result(conn)
}

/// Makes sure that an entry leads from the address to the target, removing any other that stands
/// in its way. An entry that is there already is left, and takes no generation.
pub(super) fn ensure_entry(
    conn: &mut PgConnection,
    ip: &ExternalIp,
    instance_id: Uuid,
    target: &NatTarget,
) -> QueryResult<Option<NatEntry>> {
    if !target.takes(ip.ip.0) {
        return Ok(None);
    }
    let in_the_way: Vec<NatEntry> = nat_entry::table
        .filter(nat_entry::external_address.eq(ip.ip))
        .filter(nat_entry::time_deleted.is_null())
        .filter(nat_entry::first_port.le(ip.last_port))
        .filter(nat_entry::last_port.ge(ip.first_port))
        .select(NatEntry::as_select())
        .load(conn)?;
    for old in in_the_way {
        let same = old.external_ip_id == ip.id
            && old.instance_id == instance_id
            && (old.first_port, old.last_port) == (ip.first_port, ip.last_port)
            && (old.sled_address, old.vni, old.mac)
                == (target.sled_address, target.vni, target.nic.mac);
        if same {
            return Ok(Some(old));
        }
        remove_entry(conn, old.id)?;
    }
    let row = NatEntry {
        id: Uuid::new_v4(),
        external_ip_id: ip.id,
        instance_id,
        external_address: ip.ip,
        first_port: ip.first_port,
        last_port: ip.last_port,
        sled_address: target.sled_address,
        vni: target.vni,
        mac: target.nic.mac,
        generation: next_generation(conn)?,
        time_created: now(),
        time_deleted: None,
    };
    diesel::insert_into(nat_entry::table).values(&row).execute(conn)?;
    Ok(Some(row))
}

/// Removes the entry with this id, if it is live.
pub(super) fn remove_entry(conn: &mut PgConnection, id: Uuid) -> QueryResult<()> {
    let live = nat_entry::table
        .filter(nat_entry::id.eq(id))
        .filter(nat_entry::time_deleted.is_null())
        .select(nat_entry::id);
    if live.first::<Uuid>(conn).optional()?.is_none() {
        return Ok(());
    }
    let generation = next_generation(conn)?;
    diesel::update(nat_entry::table.filter(nat_entry::id.eq(id)))
        .set((nat_entry::time_deleted.eq(Some(now())), nat_entry::generation.eq(generation)))
        .execute(conn)?;
    Ok(())
}

/// Removes entries, and returns the addresses that they were for.
fn remove_entries(conn: &mut PgConnection, live: Vec<(Uuid, Ip)>) -> QueryResult<Vec<IpAddr>> {
    let mut addresses = BTreeSet::new();
    for (id, Ip(ip)) in live {
        remove_entry(conn, id)?;
        addresses.insert(ip);
    }
    Ok(addresses.into_iter().collect())
}

/// Removes all entries of an external IP.
pub(super) fn remove_entries_of_ip(
    conn: &mut PgConnection,
    external_ip_id: Uuid,
) -> QueryResult<Vec<IpAddr>> {
    let live = nat_entry::table
        .filter(nat_entry::external_ip_id.eq(external_ip_id))
        .filter(nat_entry::time_deleted.is_null())
        .select((nat_entry::id, nat_entry::external_address))
        .load(conn)?;
    remove_entries(conn, live)
}

/// Removes all entries of an instance.
pub(super) fn remove_entries_of_instance(
    conn: &mut PgConnection,
    instance_id: Uuid,
) -> QueryResult<Vec<IpAddr>> {
    let live = nat_entry::table
        .filter(nat_entry::instance_id.eq(instance_id))
        .filter(nat_entry::time_deleted.is_null())
        .select((nat_entry::id, nat_entry::external_address))
        .load(conn)?;
    remove_entries(conn, live)
}

/// Makes the entries of all of an instance's addresses lead to the sled. Returns the addresses.
pub(super) fn ensure_entries_of_instance(
    conn: &mut PgConnection,
    instance_id: Uuid,
    sled_id: Uuid,
) -> TxResult<Vec<IpAddr>> {
    let Some(target) = nat_target(conn, instance_id, sled_id)? else { return Ok(Vec::new()) };
    let mut addresses = BTreeSet::new();
    for ip in ips_of_instance(conn, instance_id)? {
        if ensure_entry(conn, &ip, instance_id, &target)?.is_some() {
            addresses.insert(ip.ip.0);
        }
    }
    Ok(addresses.into_iter().collect())
}

impl Datastore {
    /// Runs a transaction that changes NAT entries. All of them update one counter, so within
    /// this process they queue rather than conflict.
    pub(super) async fn nat_transaction<T, F>(&self, name: &'static str, f: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Fn(&mut PgConnection) -> TxResult<T> + Send + Sync + 'static,
    {
        let _turn = self.nat_queue.lock().await;
        self.transaction(name, f).await
    }

    /// The generation of the newest change.
    pub async fn nat_generation(&self) -> Result<i64, Error> {
        self.statement("nat generation", |conn| {
            let row = nat_generation::table.filter(nat_generation::id.eq(1));
            Ok(row.select(nat_generation::generation).first(conn)?)
        })
        .await
    }

    /// Changes after a generation, in order: at most `limit`. A removed entry appears as its
    /// removal alone.
    pub async fn nat_changeset(&self, after: i64, limit: i64) -> Result<Vec<NatEntry>, Error> {
        self.statement("nat changeset", move |conn| {
            Ok(nat_entry::table
                .filter(nat_entry::generation.gt(after))
                .order(nat_entry::generation)
                .limit(limit)
                .select(NatEntry::as_select())
                .load(conn)?)
        })
        .await
    }

    /// The live entries of these addresses.
    pub async fn nat_intent(&self, addresses: Vec<IpAddr>) -> Result<Vec<NatEntry>, Error> {
        self.statement("nat intent", move |conn| {
            let addresses: Vec<Ip> = addresses.iter().copied().map(Ip).collect();
            Ok(nat_entry::table
                .filter(nat_entry::external_address.eq_any(addresses))
                .filter(nat_entry::time_deleted.is_null())
                .order((nat_entry::external_address, nat_entry::first_port))
                .select(NatEntry::as_select())
                .load(conn)?)
        })
        .await
    }

    /// A page of the addresses that have live entries, in order, each once.
    pub async fn nat_addresses(
        &self,
        after: Option<IpAddr>,
        limit: i64,
    ) -> Result<Vec<IpAddr>, Error> {
        self.statement("nat addresses", move |conn| {
            let mut query = nat_entry::table.filter(nat_entry::time_deleted.is_null()).into_boxed();
            if let Some(after) = after {
                query = query.filter(nat_entry::external_address.gt(Ip(after)));
            }
            let page: Vec<Ip> = query
                .select(nat_entry::external_address)
                .distinct()
                .order(nat_entry::external_address)
                .limit(limit)
                .load(conn)?;
            Ok(page.into_iter().map(|ip| ip.0).collect())
        })
        .await
    }

    /// Which of these addresses are ours to manage on a switch: those of a pool's range, and
    /// those for which an entry was removed that some switch may still hold.
    pub async fn nat_ours(&self, addresses: Vec<IpAddr>) -> Result<Vec<IpAddr>, Error> {
        self.statement("addresses of pools", move |conn| {
            let mut ours = Vec::new();
            for ip in &addresses {
                let last: Option<Ip> = ip_pool_range::table
                    .filter(ip_pool_range::first_address.le(Ip(*ip)))
                    .filter(ip_pool_range::time_deleted.is_null())
                    .order(ip_pool_range::first_address.desc())
                    .select(ip_pool_range::last_address)
                    .first(conn)
                    .optional()?;
                let in_range =
                    last.is_some_and(|Ip(last)| last.is_ipv4() == ip.is_ipv4() && last >= *ip);
                if in_range || was_ours(conn, *ip)? {
                    ours.push(*ip);
                }
            }
            Ok(ours)
        })
        .await
    }

    /// Records that a switch agrees with the intent up to a generation.
    pub async fn nat_switch_passed(&self, slot: String, generation: i64) -> Result<(), Error> {
        self.statement("switch passed", move |conn| {
            let row = NatSwitch { slot: slot.clone(), generation, time_modified: now() };
            diesel::insert_into(nat_switch::table)
                .values(&row)
                .on_conflict(nat_switch::slot)
                .do_update()
                .set((nat_switch::generation.eq(generation), nat_switch::time_modified.eq(now())))
                .execute(conn)?;
            Ok(())
        })
        .await
    }

    /// Deletes entries that were removed before a time and that every one of these switches has
    /// passed; looks at `limit` of them at most.
    pub async fn nat_collect(
        &self,
        slots: Vec<String>,
        before: DateTime<Utc>,
        limit: i64,
    ) -> Result<usize, Error> {
        self.transaction("collect nat entries", move |conn| {
            let passed: Vec<i64> = nat_switch::table
                .filter(nat_switch::slot.eq_any(&slots))
                .select(nat_switch::generation)
                .load(conn)?;
            let Some(floor) = passed.iter().min().filter(|_| passed.len() == slots.len()) else {
                return Ok(0);
            };
            // Generations are in the order of time: what comes after the first that is too young
            // need not be looked at.
            let removed: Vec<(Uuid, Option<DateTime<Utc>>)> = nat_entry::table
                .filter(nat_entry::time_deleted.is_not_null())
                .filter(nat_entry::generation.le(*floor))
                .order(nat_entry::generation)
                .limit(limit)
                .select((nat_entry::id, nat_entry::time_deleted))
                .load(conn)?;
            let is_old = |(_, removed): &(Uuid, Option<DateTime<Utc>>)| {
                removed.is_some_and(|removed| removed < before)
            };
            let old: Vec<Uuid> = removed.into_iter().filter(is_old).map(|(id, _)| id).collect();
            Ok(diesel::delete(nat_entry::table.filter(nat_entry::id.eq_any(old))).execute(conn)?)
        })
        .await
    }
}

fn was_ours(conn: &mut PgConnection, ip: IpAddr) -> QueryResult<bool> {
    let found: Option<Uuid> = nat_entry::table
        .filter(nat_entry::external_address.eq(Ip(ip)))
        .select(nat_entry::id)
        .first(conn)
        .optional()?;
    Ok(found.is_some())
}
