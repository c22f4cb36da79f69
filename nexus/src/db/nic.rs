//! Network interfaces of instances.

use super::Datastore;
use super::error::TxResult;
use super::now;
use super::paging::page_by;
use super::subnet::subnet_by_name;
use super::vpc::vpc_by_name;
use db_model::schema::network_interface;
use db_model::{Ip, Mac, NetworkInterface, Vpc, VpcSubnet};
use diesel::prelude::*;
use ipnetwork::{IpNetwork, Ipv4Network, Ipv6Network};
use nexus_common::address::next_ip;
use nexus_common::{Error, IpVersion, MacAddr, Name, NameOrId, PageBy, ResourceType};
use rand::Rng;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use uuid::Uuid;

/// Addresses at the start of a subnet that no interface gets.
const RESERVED_FIRST: u32 = 5;

/// The most network interfaces of an instance.
pub const MAX_NICS: usize = 8;

/// How a new interface gets one of its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum PrivateIp {
    /// The lowest free address of the subnet.
    Auto,
    /// This one.
    Explicit(IpAddr),
}

/// A network interface to be made with an instance.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct NicRequest {
    pub id: Uuid,
    pub name: String,
    pub description: String,
    pub vpc: Name,
    pub subnet: Name,
    pub ipv4: Option<PrivateIp>,
    pub ipv6: Option<PrivateIp>,
    pub transit_ips_v4: Vec<String>,
    pub transit_ips_v6: Vec<String>,
}

/// First and last address that an interface may have in a block.
fn usable(block: IpNetwork) -> Option<(IpAddr, IpAddr)> {
    match block {
        IpNetwork::V4(net) => {
            let first = u32::from(net.network()).checked_add(RESERVED_FIRST)?;
            let last = u32::from(Ipv4Network::broadcast(&net)).checked_sub(1)?;
            (first <= last).then(|| (Ipv4Addr::from(first).into(), Ipv4Addr::from(last).into()))
        }
        IpNetwork::V6(net) => {
            let first = u128::from(net.network()).checked_add(u128::from(RESERVED_FIRST))?;
            let last = u128::from(Ipv6Network::broadcast(&net)).checked_sub(1)?;
            (first <= last).then(|| (Ipv6Addr::from(first).into(), Ipv6Addr::from(last).into()))
        }
    }
}

/// Finds the lowest address from `first` to `last` that is not in use, where `load` returns up to
/// so many addresses in use, ascending, from a given one on.
pub(super) fn lowest_gap(
    first: IpAddr,
    last: IpAddr,
    mut load: impl FnMut(IpAddr, i64) -> QueryResult<Vec<Ip>>,
) -> QueryResult<Option<IpAddr>> {
    const CHUNK: i64 = 256;
    let mut candidate = first;
    loop {
        let used = load(candidate, CHUNK)?;
        for Ip(ip) in &used {
            if *ip > candidate {
                return Ok(Some(candidate));
            }
            if *ip == candidate {
                match next_ip(candidate) {
                    Some(next) if next <= last => candidate = next,
                    _ => return Ok(None),
                }
            }
        }
        if (used.len() as i64) < CHUNK {
            return Ok(Some(candidate));
        }
    }
}

/// Takes an address in a subnet's block.
fn take_private_ip(
    conn: &mut PgConnection,
    subnet: &VpcSubnet,
    block: IpNetwork,
    request: PrivateIp,
) -> TxResult<Option<Ip>> {
    let column_is_v4 = block.is_ipv4();
    let Some((first, last)) = usable(block) else { return Ok(None) };
    let live = network_interface::table
        .filter(network_interface::subnet_id.eq(subnet.id))
        .filter(network_interface::time_deleted.is_null());
    match request {
        PrivateIp::Explicit(ip) => {
            if ip < first || ip > last || ip.is_ipv4() != column_is_v4 {
                return Err(Error::invalid(format!(
                    "The IP address '{ip}' is not among the usable addresses of subnet '{}', \
                     {first} to {last}",
                    subnet.name
                ))
                .into());
            }
            let used: i64 = if column_is_v4 {
                live.filter(network_interface::ipv4.eq(Ip(ip))).count().get_result(conn)?
            } else {
                live.filter(network_interface::ipv6.eq(Ip(ip))).count().get_result(conn)?
            };
            if used > 0 {
                return Err(
                    Error::invalid(format!("The IP address '{ip}' is not available")).into()
                );
            }
            Ok(Some(Ip(ip)))
        }
        PrivateIp::Auto => {
            let found = lowest_gap(first, last, |from, limit| {
                if column_is_v4 {
                    let ip = network_interface::ipv4.assume_not_null();
                    live.filter(network_interface::ipv4.ge(Ip(from)))
                        .order(network_interface::ipv4.asc())
                        .limit(limit)
                        .select(ip)
                        .load(conn)
                } else {
                    let ip = network_interface::ipv6.assume_not_null();
                    live.filter(network_interface::ipv6.ge(Ip(from)))
                        .order(network_interface::ipv6.asc())
                        .limit(limit)
                        .select(ip)
                        .load(conn)
                }
            })?;
            Ok(found.map(Ip))
        }
    }
}

/// Inserts the interfaces of a new instance; the first is the primary one.
pub(super) fn insert_nics(
    conn: &mut PgConnection,
    project_id: Uuid,
    instance_id: Uuid,
    requests: &[NicRequest],
) -> TxResult<Vec<NetworkInterface>> {
    let mut rows: Vec<NetworkInterface> = Vec::new();
    for (slot, request) in requests.iter().enumerate() {
        let vpc = vpc_by_name(conn, project_id, &request.vpc)?;
        let subnet = subnet_by_name(conn, vpc.id, &request.subnet)?;
        if rows.iter().any(|row| row.subnet_id == subnet.id) {
            let message = "Each interface must be in a distinct VPC Subnet";
            return Err(Error::invalid(message).into());
        }
        if rows.iter().any(|row| row.name == request.name) {
            let kind = ResourceType::InstanceNetworkInterface;
            return Err(Error::already_exists(kind, &request.name).into());
        }
        let place = Place { instance_id, slot: slot as i16, is_primary: slot == 0 };
        let row = nic_row(conn, place, &vpc, &subnet, request)?;
        diesel::insert_into(network_interface::table).values(&row).execute(conn)?;
        rows.push(row);
    }
    Ok(rows)
}

/// Where an interface is on its instance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    instance_id: Uuid,
    slot: i16,
    is_primary: bool,
}

/// The place of one more interface of an instance that has these.
pub(super) fn next_place(instance_id: Uuid, nics: &[NetworkInterface]) -> Result<Place, Error> {
    let slot = (0..MAX_NICS as i16).find(|slot| nics.iter().all(|nic| nic.slot != *slot));
    let slot = slot.ok_or_else(|| {
        Error::invalid(format!("May not attach more than {MAX_NICS} network interfaces"))
    })?;
    Ok(Place { instance_id, slot, is_primary: nics.is_empty() })
}

fn no_private_ip(subnet: &VpcSubnet, request: &NicRequest) -> Error {
    let versions = match (request.ipv4.is_some(), request.ipv6.is_some()) {
        (true, true) => "IPv4 and IPv6",
        (true, false) => "IPv4",
        _ => "IPv6",
    };
    Error::invalid(format!(
        "No available {versions} addresses for interface in subnet '{}' with ID '{}'",
        subnet.name, subnet.id
    ))
}

pub(super) fn nic_row(
    conn: &mut PgConnection,
    Place { instance_id, slot, is_primary }: Place,
    vpc: &Vpc,
    subnet: &VpcSubnet,
    request: &NicRequest,
) -> TxResult<NetworkInterface> {
    let mut take = |block, wanted: Option<PrivateIp>| -> TxResult<Option<Ip>> {
        let Some(wanted) = wanted else { return Ok(None) };
        let ip = take_private_ip(conn, subnet, block, wanted)?;
        ip.map(Some).ok_or_else(|| no_private_ip(subnet, request).into())
    };
    let ipv4 = take(subnet.ipv4_block, request.ipv4)?;
    let ipv6 = take(subnet.ipv6_block, request.ipv6)?;
    let created = now();
    Ok(NetworkInterface {
        id: request.id,
        instance_id,
        vpc_id: vpc.id,
        subnet_id: subnet.id,
        name: request.name.clone(),
        description: request.description.clone(),
        // Random, as its space is large; a taken one makes the transaction run again.
        mac: Mac(MacAddr::from_i64(
            rand::rng().random_range(MacAddr::GUEST_FIRST.to_i64()..=MacAddr::GUEST_LAST.to_i64()),
        )),
        ipv4,
        ipv6,
        transit_ips_v4: request.transit_ips_v4.clone().into(),
        transit_ips_v6: request.transit_ips_v6.clone().into(),
        slot,
        is_primary,
        time_created: created,
        time_modified: created,
        time_deleted: None,
    })
}

/// The live interfaces of an instance, at most [`MAX_NICS`].
pub(super) fn nics_of(
    conn: &mut PgConnection,
    instance_id: Uuid,
) -> QueryResult<Vec<NetworkInterface>> {
    network_interface::table
        .filter(network_interface::instance_id.eq(instance_id))
        .filter(network_interface::time_deleted.is_null())
        .order(network_interface::slot)
        .limit(MAX_NICS as i64)
        .select(NetworkInterface::as_select())
        .load(conn)
}

/// The instance's primary interface, which carries its external addresses.
pub(super) fn primary_nic(
    conn: &mut PgConnection,
    instance_id: Uuid,
) -> QueryResult<Option<NetworkInterface>> {
    network_interface::table
        .filter(network_interface::instance_id.eq(instance_id))
        .filter(network_interface::is_primary)
        .filter(network_interface::time_deleted.is_null())
        .select(NetworkInterface::as_select())
        .first(conn)
        .optional()
}

/// Whether an interface has an address of this IP version.
pub fn has_version(nic: &NetworkInterface, version: IpVersion) -> bool {
    match version {
        IpVersion::V4 => nic.ipv4.is_some(),
        IpVersion::V6 => nic.ipv6.is_some(),
    }
}

impl Datastore {
    /// The interface with this id, or with this name on the instance.
    pub async fn nic_fetch(
        &self,
        instance_id: Option<Uuid>,
        selector: NameOrId,
    ) -> Result<NetworkInterface, Error> {
        self.statement("network interface", move |conn| {
            let kind = ResourceType::InstanceNetworkInterface;
            let query = network_interface::table
                .filter(network_interface::time_deleted.is_null())
                .select(NetworkInterface::as_select())
                .into_boxed();
            let query = match (&selector, instance_id) {
                (NameOrId::Name(name), Some(instance_id)) => query
                    .filter(network_interface::instance_id.eq(instance_id))
                    .filter(network_interface::name.eq(name.as_str())),
                (NameOrId::Id(id), _) => query.filter(network_interface::id.eq(*id)),
                (NameOrId::Name(_), None) => {
                    return Err(Error::not_found(kind, &selector).into());
                }
            };
            let found = query.first(conn).optional()?;
            Ok(found.ok_or_else(|| Error::not_found(kind, &selector))?)
        })
        .await
    }

    /// A page of an instance's interfaces.
    pub async fn nic_list(
        &self,
        instance_id: Uuid,
        page: PageBy,
    ) -> Result<Vec<NetworkInterface>, Error> {
        self.statement("network interfaces", move |conn| {
            let mine = network_interface::instance_id
                .eq(instance_id)
                .and(network_interface::time_deleted.is_null());
            Ok(page_by!(conn, network_interface, NetworkInterface, mine, &page)?)
        })
        .await
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn ips(last: &[u8]) -> Vec<Ip> {
        last.iter().map(|n| Ip(Ipv4Addr::new(10, 0, 0, *n).into())).collect()
    }

    fn gap(first: u8, last: u8, used: &[u8]) -> Option<IpAddr> {
        let used = ips(used);
        lowest_gap(ips(&[first])[0].0, ips(&[last])[0].0, |from, limit| {
            Ok(used.iter().filter(|ip| ip.0 >= from).take(limit as usize).copied().collect())
        })
        .expect("a gap or none")
    }

    #[test]
    fn the_lowest_gap_is_found() {
        assert_eq!(gap(5, 8, &[]), Some(ips(&[5])[0].0));
        assert_eq!(gap(5, 8, &[5, 6]), Some(ips(&[7])[0].0));
        assert_eq!(gap(5, 8, &[5, 5, 5, 6, 8]), Some(ips(&[7])[0].0));
        assert_eq!(gap(5, 8, &[6]), Some(ips(&[5])[0].0));
        assert_eq!(gap(5, 8, &[5, 6, 7, 8]), None);
        assert_eq!(gap(255, 255, &[255]), None);
    }

    #[test]
    fn a_gap_beyond_one_chunk_is_found() {
        let base = u32::from(Ipv4Addr::new(10, 0, 0, 0));
        let ip = |n: u32| IpAddr::from(Ipv4Addr::from(base + n));
        let found = lowest_gap(ip(0), ip(5000), |from, limit| {
            let used = (0..1000).map(ip).filter(|ip| *ip >= from);
            Ok(used.take(limit as usize).map(Ip).collect())
        });
        assert_eq!(found.expect("a gap"), Some(ip(1000)));
    }

    #[test]
    fn the_first_five_addresses_and_the_last_are_reserved() {
        let block = "172.30.0.0/22".parse().expect("a network");
        let ends = usable(block).expect("usable addresses");
        assert_eq!(ends.0.to_string(), "172.30.0.5");
        assert_eq!(ends.1.to_string(), "172.30.3.254");
        assert_eq!(usable("10.0.0.0/30".parse().expect("a network")), None);
    }
}
