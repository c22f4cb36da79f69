//! The external addresses that the ports of VMMs may hold, and those that they should.
//!
//! A sled can be told to add an address to a port and to remove one, and both may be done twice;
//! it cannot be asked what a port holds. So every address that a sled is about to be told of is
//! noted here first, in the transaction that decides it, and stays noted for [`WATCHED`] after it
//! was taken off: if a call that was thought lost arrives after all, or two that crossed are done
//! in the wrong order, going over the port again puts it right. The time is longer than any call
//! is under way.

use super::error::TxResult;
use super::external_ip::ips_of_instance;
use super::{Datastore, now};
use chrono::{DateTime, TimeDelta, Utc};
use db_model::schema::{instance, port_address, vmm};
use db_model::{ExternalIp, Instance, Ip, IpKind, IpState, PortAddress, Vmm, VmmState};
use diesel::prelude::*;
use nexus_common::Error;
use std::net::IpAddr;
use uuid::Uuid;

/// Ages of a change at which the port is gone over on account of it.
const LOOKS: [TimeDelta; 3] =
    [TimeDelta::seconds(2), TimeDelta::seconds(10), TimeDelta::seconds(60)];
/// How long an address is noted after it was taken off.
const WATCHED: TimeDelta = LOOKS[LOOKS.len() - 1];

/// The next look after one at `now`, for a change at `changed`.
fn next_look(changed: DateTime<Utc>, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    LOOKS.iter().map(|age| changed + *age).find(|look| *look > now)
}

/// Notes that an address is about to come to a VMM's port, or to go from it.
pub(super) fn note_change(
    conn: &mut PgConnection,
    vmm_id: Uuid,
    ip: &ExternalIp,
) -> QueryResult<()> {
    if ip.kind == IpKind::Snat {
        return Ok(());
    }
    let changed = now();
    let row = PortAddress {
        vmm_id,
        address: ip.ip,
        kind: ip.kind,
        time_changed: changed,
        time_due: next_look(changed, changed),
    };
    diesel::insert_into(port_address::table)
        .values(&row)
        .on_conflict((port_address::vmm_id, port_address::address))
        .do_update()
        .set((
            port_address::kind.eq(row.kind),
            port_address::time_changed.eq(row.time_changed),
            port_address::time_due.eq(row.time_due),
        ))
        .execute(conn)?;
    Ok(())
}

/// Notes a change of an instance's address on the port of its present VMM, if it has one.
pub(super) fn note_change_on_instance(
    conn: &mut PgConnection,
    instance_id: Uuid,
    ip: &ExternalIp,
) -> QueryResult<()> {
    let active: Option<Option<Uuid>> = instance::table
        .filter(instance::id.eq(instance_id))
        .select(instance::active_vmm_id)
        .first(conn)
        .optional()?;
    match active.flatten() {
        Some(vmm_id) => note_change(conn, vmm_id, ip),
        None => Ok(()),
    }
}

/// Notes all addresses of an instance, which a VMM brings up with it.
pub(super) fn note_all(
    conn: &mut PgConnection,
    instance_id: Uuid,
    vmm_id: Uuid,
) -> QueryResult<()> {
    let changed = now();
    let rows: Vec<PortAddress> = ips_of_instance(conn, instance_id)?
        .into_iter()
        .filter(|ip| ip.kind != IpKind::Snat)
        .map(|ip| PortAddress {
            vmm_id,
            address: ip.ip,
            kind: ip.kind,
            time_changed: changed,
            time_due: next_look(changed, changed),
        })
        .collect();
    if !rows.is_empty() {
        diesel::insert_into(port_address::table)
            .values(rows)
            .on_conflict_do_nothing()
            .execute(conn)?;
    }
    Ok(())
}

/// A VMM that is no more has no port.
pub(super) fn forget_port(conn: &mut PgConnection, vmm_id: Uuid) -> QueryResult<()> {
    diesel::delete(port_address::table.filter(port_address::vmm_id.eq(vmm_id))).execute(conn)?;
    Ok(())
}

/// What a port should do with an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Have it, as an address of this kind.
    Present(IpKind),
    /// Not have it, as an address of this kind or of any.
    Absent(IpKind),
    /// A saga is about to decide.
    Moving,
}

/// An address of a port, and what is wanted of it.
#[derive(Clone, Debug)]
pub struct PortIntent {
    pub address: IpAddr,
    pub wanted: Wanted,
    /// Of the row that this was read from.
    pub time_changed: DateTime<Utc>,
    pub is_due: bool,
}

/// Where a port is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortAt {
    pub sled_id: Uuid,
    pub vmm_id: Uuid,
}

/// A VMM's port, as it should be.
#[derive(Clone, Debug)]
pub struct Port {
    pub vmm_id: Uuid,
    pub sled_id: Uuid,
    pub addresses: Vec<PortIntent>,
}

impl Datastore {
    /// Sleds and VMMs with addresses that are due to be gone over, those that have waited longest
    /// first; each may appear several times.
    pub async fn ports_due(&self, limit: i64) -> Result<Vec<PortAt>, Error> {
        self.statement("ports due", move |conn| {
            let found: Vec<(Uuid, Uuid)> = port_address::table
                .inner_join(vmm::table.on(vmm::id.eq(port_address::vmm_id)))
                .filter(port_address::time_due.le(now()))
                .order((port_address::time_due, port_address::vmm_id))
                .limit(limit)
                .select((vmm::sled_id, port_address::vmm_id))
                .load(conn)?;
            Ok(found.into_iter().map(|(sled_id, vmm_id)| PortAt { sled_id, vmm_id }).collect())
        })
        .await
    }

    /// A page of the VMMs that have addresses, by id.
    pub async fn ports_after(&self, after: Option<Uuid>, limit: i64) -> Result<Vec<PortAt>, Error> {
        self.statement("ports", move |conn| {
            let mut query = port_address::table
                .inner_join(vmm::table.on(vmm::id.eq(port_address::vmm_id)))
                .select((vmm::sled_id, port_address::vmm_id))
                .into_boxed();
            if let Some(after) = after {
                query = query.filter(port_address::vmm_id.gt(after));
            }
            let query = query.distinct().order((port_address::vmm_id, vmm::sled_id)).limit(limit);
            let found: Vec<(Uuid, Uuid)> = query.load(conn)?;
            Ok(found.into_iter().map(|(sled_id, vmm_id)| PortAt { sled_id, vmm_id }).collect())
        })
        .await
    }

    /// A VMM's port as it should be now; none while its instance starts, stops or migrates, when
    /// its addresses come and go with the VMM.
    pub async fn port_intent(&self, vmm_id: Uuid) -> Result<Option<Port>, Error> {
        self.transaction("port intent", move |conn| {
            let Some(vmm) = steady_vmm(conn, vmm_id)? else { return Ok(None) };
            let rows: Vec<PortAddress> = port_address::table
                .filter(port_address::vmm_id.eq(vmm_id))
                .order(port_address::address)
                .select(PortAddress::as_select())
                .load(conn)?;
            let ips = ips_of_instance(conn, vmm.instance_id)?;
            let at = now();
            let addresses = rows
                .into_iter()
                .map(|row| PortIntent {
                    address: row.address.0,
                    wanted: wanted(&ips, &row),
                    time_changed: row.time_changed,
                    is_due: row.time_due.is_some_and(|due| due <= at),
                })
                .collect();
            Ok(Some(Port { vmm_id, sled_id: vmm.sled_id, addresses }))
        })
        .await
    }

    /// Takes note that a port was brought to this intent. Returns whether the intent is still
    /// that; if not, the port has to be gone over again.
    pub async fn port_done(&self, done: Port) -> Result<bool, Error> {
        self.transaction("port done", move |conn| {
            let Some(vmm) = steady_vmm(conn, done.vmm_id)? else { return Ok(true) };
            let ips = ips_of_instance(conn, vmm.instance_id)?;
            let mut settled = true;
            for intent in &done.addresses {
                let by_key = port_address::table
                    .filter(port_address::vmm_id.eq(done.vmm_id))
                    .filter(port_address::address.eq(Ip(intent.address)));
                let row = by_key.select(PortAddress::as_select()).first(conn).optional()?;
                let Some(row) = row else { continue };
                if row.time_changed != intent.time_changed || wanted(&ips, &row) != intent.wanted {
                    settled = false;
                    continue;
                }
                let at = now();
                let absent = matches!(intent.wanted, Wanted::Absent(_));
                if absent && row.time_changed + WATCHED <= at {
                    diesel::delete(by_key).execute(conn)?;
                } else if row.time_due.is_some_and(|due| due <= at) {
                    diesel::update(by_key)
                        .set(port_address::time_due.eq(next_look(row.time_changed, at)))
                        .execute(conn)?;
                }
            }
            Ok(settled)
        })
        .await
    }
}

/// The VMM, if it is its instance's and runs, and is not about to hand over to another.
fn steady_vmm(conn: &mut PgConnection, vmm_id: Uuid) -> TxResult<Option<Vmm>> {
    let found: Option<(Vmm, Instance)> = vmm::table
        .inner_join(instance::table.on(instance::active_vmm_id.eq(vmm::id.nullable())))
        .filter(vmm::id.eq(vmm_id))
        .filter(vmm::time_deleted.is_null())
        .filter(vmm::state.eq_any([VmmState::Running, VmmState::Rebooting]))
        .select((Vmm::as_select(), Instance::as_select()))
        .first(conn)
        .optional()?;
    Ok(found.filter(|(_, instance)| instance.migration_id.is_none()).map(|(vmm, _)| vmm))
}

fn wanted(ips: &[ExternalIp], row: &PortAddress) -> Wanted {
    let whole = ips.iter().find(|ip| ip.ip == row.address && ip.kind != IpKind::Snat);
    match whole.map(|ip| (ip.state, ip.kind)) {
        Some((IpState::Attached, kind)) => Wanted::Present(kind),
        Some((IpState::Attaching | IpState::Detaching, _)) => Wanted::Moving,
        Some((IpState::Detached, _)) | None => Wanted::Absent(row.kind),
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn looks_are_ever_further_apart_and_end() {
        let changed = now();
        let after = |seconds| next_look(changed, changed + TimeDelta::seconds(seconds));
        assert_eq!(after(0), Some(changed + LOOKS[0]));
        assert_eq!(after(3), Some(changed + LOOKS[1]));
        assert_eq!(after(10), Some(changed + LOOKS[2]));
        assert_eq!(after(60), None);
    }
}
