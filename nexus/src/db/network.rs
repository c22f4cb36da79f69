//! VPCs, subnets and network interfaces.

use super::Datastore;
use super::error::TxResult;
use super::now;
use super::paging::page_by;
use db_model::schema::{instance, network_interface, sled, vmm, vpc, vpc_subnet};
use db_model::{Ip, Mac, NetworkInterface, Vpc, VpcSubnet};
use diesel::prelude::*;
use ipnetwork::{IpNetwork, Ipv4Network, Ipv6Network};
use nexus_common::address::next_ip;
use nexus_common::{Error, IpVersion, MacAddr, Name, NameOrId, PageBy, ResourceType, Vni};
use rand::Rng;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use uuid::Uuid;

/// The IPv4 block of every default subnet.
const DEFAULT_IPV4_BLOCK: (Ipv4Addr, u8) = (Ipv4Addr::new(172, 30, 0, 0), 22);

/// Addresses at the start of a subnet that no interface gets.
const RESERVED_FIRST: u32 = 5;

/// The most network interfaces of an instance.
pub const MAX_NICS: usize = 8;

/// Whether a new VPC gets its default subnet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultSubnet {
    Create,
    Omit,
}

/// A /48 of the unique local addresses with a random global id (RFC 4193, 3.2.2).
fn random_prefix() -> Ipv6Addr {
    let id: u64 = rand::rng().random_range(0..1 << 40);
    Ipv6Addr::from(u128::from(0xfd_u64 << 40 | id) << 80)
}

/// Inserts the VPC `default` of a new project. The VNI is random: taking one that is in use makes
/// the transaction run again.
pub(super) fn insert_default_vpc(
    conn: &mut PgConnection,
    project_id: Uuid,
    subnet: DefaultSubnet,
) -> TxResult<()> {
    let prefix = random_prefix();
    let created = now();
    let vpc = Vpc {
        id: Uuid::new_v4(),
        project_id,
        name: "default".to_string(),
        description: "Default VPC".to_string(),
        dns_name: "default".to_string(),
        ipv6_prefix: network(prefix.into(), 48)?,
        vni: rand::rng().random_range(Vni::GUEST_FIRST..=Vni::MAX) as i32,
        system_router_id: Uuid::new_v4(),
        time_created: created,
        time_modified: created,
        time_deleted: None,
    };
    diesel::insert_into(vpc::table).values(&vpc).execute(conn)?;
    if subnet == DefaultSubnet::Create {
        let (ipv4, ipv4_len) = DEFAULT_IPV4_BLOCK;
        let row = VpcSubnet {
            id: Uuid::new_v4(),
            vpc_id: vpc.id,
            name: "default".to_string(),
            description: format!("The default subnet for {}", vpc.name),
            ipv4_block: network(ipv4.into(), ipv4_len)?,
            ipv6_block: network(prefix.into(), 64)?,
            custom_router_id: None,
            time_created: created,
            time_modified: created,
            time_deleted: None,
        };
        diesel::insert_into(vpc_subnet::table).values(&row).execute(conn)?;
    }
    Ok(())
}

fn network(ip: IpAddr, prefix_len: u8) -> Result<IpNetwork, Error> {
    IpNetwork::new(ip, prefix_len).map_err(Error::internal)
}

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
        let row = nic_row(conn, instance_id, slot as i16, &vpc, &subnet, request)?;
        diesel::insert_into(network_interface::table).values(&row).execute(conn)?;
        rows.push(row);
    }
    Ok(rows)
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

fn nic_row(
    conn: &mut PgConnection,
    instance_id: Uuid,
    slot: i16,
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
        is_primary: slot == 0,
        time_created: created,
        time_modified: created,
        time_deleted: None,
    })
}

fn vpc_by_name(conn: &mut PgConnection, project_id: Uuid, name: &Name) -> TxResult<Vpc> {
    let found = vpc::table
        .filter(vpc::project_id.eq(project_id))
        .filter(vpc::name.eq(name.as_str()))
        .filter(vpc::time_deleted.is_null())
        .select(Vpc::as_select())
        .first(conn)
        .optional()?;
    Ok(found.ok_or_else(|| Error::not_found(ResourceType::Vpc, name))?)
}

fn subnet_by_name(conn: &mut PgConnection, vpc_id: Uuid, name: &Name) -> TxResult<VpcSubnet> {
    let found = vpc_subnet::table
        .filter(vpc_subnet::vpc_id.eq(vpc_id))
        .filter(vpc_subnet::name.eq(name.as_str()))
        .filter(vpc_subnet::time_deleted.is_null())
        .select(VpcSubnet::as_select())
        .first(conn)
        .optional()?;
    Ok(found.ok_or_else(|| Error::not_found(ResourceType::VpcSubnet, name))?)
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

/// An interface with what a sled needs to know of its VPC and subnet.
#[derive(Clone, Debug)]
pub struct NicWithNetwork {
    pub nic: NetworkInterface,
    pub vpc: Vpc,
    pub subnet: VpcSubnet,
}

/// An interface of an instance that has a VMM, with what a v2p mapping needs.
#[derive(Clone, Debug)]
pub struct PlacedNic {
    pub nic: NetworkInterface,
    pub vni: i32,
    pub sled_address: Ip,
}

impl Datastore {
    /// A page, by id, of the interfaces of instances that have an active VMM.
    pub async fn placed_nics(
        &self,
        after: Option<Uuid>,
        limit: i64,
    ) -> Result<Vec<PlacedNic>, Error> {
        self.statement("placed interfaces", move |conn| {
            let mut query = network_interface::table
                .inner_join(instance::table.on(instance::id.eq(network_interface::instance_id)))
                .inner_join(vmm::table.on(instance::active_vmm_id.eq(vmm::id.nullable())))
                .inner_join(sled::table.on(sled::id.eq(vmm::sled_id)))
                .inner_join(vpc::table.on(vpc::id.eq(network_interface::vpc_id)))
                .filter(network_interface::time_deleted.is_null())
                .filter(instance::time_deleted.is_null())
                .select((NetworkInterface::as_select(), vpc::vni, sled::underlay_address))
                .into_boxed();
            if let Some(after) = after {
                query = query.filter(network_interface::id.gt(after));
            }
            let rows: Vec<(NetworkInterface, i32, Ip)> =
                query.order(network_interface::id).limit(limit).load(conn)?;
            let placed = |(nic, vni, sled_address)| PlacedNic { nic, vni, sled_address };
            Ok(rows.into_iter().map(placed).collect())
        })
        .await
    }

    /// The VPC with this id, or with this name in the project.
    pub async fn vpc_fetch(
        &self,
        project_id: Option<Uuid>,
        selector: NameOrId,
    ) -> Result<Vpc, Error> {
        self.statement("vpc", move |conn| {
            let query = vpc::table
                .filter(vpc::time_deleted.is_null())
                .select(Vpc::as_select())
                .into_boxed();
            let query = match (&selector, project_id) {
                (NameOrId::Name(name), Some(project_id)) => {
                    query.filter(vpc::project_id.eq(project_id)).filter(vpc::name.eq(name.as_str()))
                }
                (NameOrId::Id(id), _) => query.filter(vpc::id.eq(*id)),
                (NameOrId::Name(_), None) => {
                    return Err(Error::not_found(ResourceType::Vpc, &selector).into());
                }
            };
            let found = query.first(conn).optional()?;
            Ok(found.ok_or_else(|| Error::not_found(ResourceType::Vpc, &selector))?)
        })
        .await
    }

    /// A page of a project's VPCs.
    pub async fn vpc_list(&self, project_id: Uuid, page: PageBy) -> Result<Vec<Vpc>, Error> {
        self.statement("vpcs", move |conn| {
            let mine = vpc::project_id.eq(project_id).and(vpc::time_deleted.is_null());
            Ok(page_by!(conn, vpc, Vpc, mine, &page)?)
        })
        .await
    }

    /// The subnet with this id, or with this name in the VPC.
    pub async fn subnet_fetch(
        &self,
        vpc_id: Option<Uuid>,
        selector: NameOrId,
    ) -> Result<VpcSubnet, Error> {
        self.statement("vpc subnet", move |conn| {
            let query = vpc_subnet::table
                .filter(vpc_subnet::time_deleted.is_null())
                .select(VpcSubnet::as_select())
                .into_boxed();
            let query = match (&selector, vpc_id) {
                (NameOrId::Name(name), Some(vpc_id)) => query
                    .filter(vpc_subnet::vpc_id.eq(vpc_id))
                    .filter(vpc_subnet::name.eq(name.as_str())),
                (NameOrId::Id(id), _) => query.filter(vpc_subnet::id.eq(*id)),
                (NameOrId::Name(_), None) => {
                    return Err(Error::not_found(ResourceType::VpcSubnet, &selector).into());
                }
            };
            let found = query.first(conn).optional()?;
            Ok(found.ok_or_else(|| Error::not_found(ResourceType::VpcSubnet, &selector))?)
        })
        .await
    }

    /// A page of a VPC's subnets.
    pub async fn subnet_list(&self, vpc_id: Uuid, page: PageBy) -> Result<Vec<VpcSubnet>, Error> {
        self.statement("vpc subnets", move |conn| {
            let mine = vpc_subnet::vpc_id.eq(vpc_id).and(vpc_subnet::time_deleted.is_null());
            Ok(page_by!(conn, vpc_subnet, VpcSubnet, mine, &page)?)
        })
        .await
    }

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

    /// All interfaces of an instance (at most [`MAX_NICS`]), by slot.
    pub async fn nics_with_networks(
        &self,
        instance_id: Uuid,
    ) -> Result<Vec<NicWithNetwork>, Error> {
        self.statement("interfaces with networks", move |conn| {
            let rows = network_interface::table
                .inner_join(vpc::table.on(vpc::id.eq(network_interface::vpc_id)))
                .inner_join(vpc_subnet::table.on(vpc_subnet::id.eq(network_interface::subnet_id)))
                .filter(network_interface::instance_id.eq(instance_id))
                .filter(network_interface::time_deleted.is_null())
                .order(network_interface::slot)
                .limit(MAX_NICS as i64)
                .select((NetworkInterface::as_select(), Vpc::as_select(), VpcSubnet::as_select()))
                .load::<(NetworkInterface, Vpc, VpcSubnet)>(conn)?;
            let with = |(nic, vpc, subnet)| NicWithNetwork { nic, vpc, subnet };
            Ok(rows.into_iter().map(with).collect())
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
