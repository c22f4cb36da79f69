//! Subnets of VPCs.

use super::Datastore;
use super::error::{TxResult, taken};
use super::now;
use super::paging::page_by;
use super::project::IdentityUpdate;
use super::vpc::live_vpc;
use db_model::schema::{network_interface, vpc_subnet};
use db_model::{NetworkInterface, Vpc, VpcSubnet};
use diesel::prelude::*;
use ipnetwork::{IpNetwork, Ipv4Network, Ipv6Network};
use nexus_common::{Direction, Error, Name, NameOrId, PageBy, ResourceType};
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};
use uuid::Uuid;

/// The IPv4 block of every default subnet.
const DEFAULT_IPV4_BLOCK: (Ipv4Addr, u8) = (Ipv4Addr::new(172, 30, 0, 0), 22);
/// The prefix length of every subnet's IPv6 block.
const IPV6_PREFIX_LEN: u8 = 64;
/// Subnets of that size in a VPC's IPv6 prefix.
const IPV6_SUBNETS: u128 = 1 << 16;

/// A subnet to be made.
#[derive(Clone, Debug)]
pub struct NewSubnet {
    pub vpc_id: Uuid,
    pub name: String,
    pub description: String,
    pub ipv4_block: Ipv4Network,
    /// The lowest free one of the VPC's prefix if there is none.
    pub ipv6_block: Option<Ipv6Network>,
}

/// The n-th block of this size in a VPC's prefix.
fn nth_block(prefix: Ipv6Network, n: u128) -> Result<Ipv6Network, Error> {
    let ip = u128::from(prefix.network()) + (n << (128 - IPV6_PREFIX_LEN));
    Ipv6Network::new(Ipv6Addr::from(ip), IPV6_PREFIX_LEN).map_err(Error::internal)
}

/// The subnet that comes with a new VPC.
pub(super) fn default_subnet(vpc: &Vpc, prefix: Ipv6Network) -> Result<VpcSubnet, Error> {
    let (ip, len) = DEFAULT_IPV4_BLOCK;
    let created = now();
    Ok(VpcSubnet {
        id: Uuid::new_v4(),
        vpc_id: vpc.id,
        name: "default".to_string(),
        description: format!("The default subnet for {}", vpc.name),
        ipv4_block: IpNetwork::V4(Ipv4Network::new(ip, len).map_err(Error::internal)?),
        ipv6_block: IpNetwork::V6(nth_block(prefix, 0)?),
        custom_router_id: None,
        time_created: created,
        time_modified: created,
        time_deleted: None,
    })
}

/// Finds out the IPv6 block of a new subnet, among these others of its VPC.
fn ipv6_block(
    prefix: Ipv6Network,
    wanted: Option<Ipv6Network>,
    others: &BTreeSet<IpNetwork>,
) -> Result<Ipv6Network, Error> {
    let taken = |block: Ipv6Network| others.contains(&IpNetwork::V6(block));
    match wanted {
        Some(block) if block.prefix() != IPV6_PREFIX_LEN || !prefix.contains(block.network()) => {
            Err(Error::invalid(format!(
                "VPC Subnet IPv6 address range '{block}' is not valid for VPC with IPv6 prefix \
                 '{prefix}'"
            )))
        }
        Some(block) if taken(block) => Err(conflict(block.into())),
        Some(block) => Ok(block),
        None => {
            for n in 0..IPV6_SUBNETS {
                let block = nth_block(prefix, n)?;
                if !taken(block) {
                    return Ok(block);
                }
            }
            Err(Error::capacity("No IPv6 address range is left in the VPC"))
        }
    }
}

fn conflict(block: IpNetwork) -> Error {
    Error::invalid(format!("IP address range '{block}' conflicts with an existing subnet"))
}

pub(super) fn subnet_by_name(
    conn: &mut PgConnection,
    vpc_id: Uuid,
    name: &Name,
) -> TxResult<VpcSubnet> {
    let found = vpc_subnet::table
        .filter(vpc_subnet::vpc_id.eq(vpc_id))
        .filter(vpc_subnet::name.eq(name.as_str()))
        .filter(vpc_subnet::time_deleted.is_null())
        .select(VpcSubnet::as_select())
        .first(conn)
        .optional()?;
    Ok(found.ok_or_else(|| Error::not_found(ResourceType::VpcSubnet, name))?)
}

/// The live subnet with this id.
fn live_subnet(conn: &mut PgConnection, id: Uuid) -> TxResult<VpcSubnet> {
    let found = vpc_subnet::table
        .filter(vpc_subnet::id.eq(id))
        .filter(vpc_subnet::time_deleted.is_null())
        .select(VpcSubnet::as_select())
        .first(conn)
        .optional()?;
    Ok(found.ok_or_else(|| Error::not_found(ResourceType::VpcSubnet, id))?)
}

impl Datastore {
    /// Makes a subnet whose blocks overlap with those of no other subnet of the VPC.
    pub async fn subnet_create(&self, new: NewSubnet) -> Result<VpcSubnet, Error> {
        self.transaction("create vpc subnet", move |conn| {
            let vpc = live_vpc(conn, new.vpc_id)?;
            let others: Vec<(IpNetwork, IpNetwork)> = vpc_subnet::table
                .filter(vpc_subnet::vpc_id.eq(vpc.id))
                .filter(vpc_subnet::time_deleted.is_null())
                .select((vpc_subnet::ipv4_block, vpc_subnet::ipv6_block))
                .load(conn)?;
            let (v4, v6): (Vec<_>, BTreeSet<_>) = others.into_iter().unzip();
            let overlaps = |other: &IpNetwork| match other {
                IpNetwork::V4(other) => other.overlaps(new.ipv4_block),
                IpNetwork::V6(_) => false,
            };
            if v4.iter().any(overlaps) {
                return Err(conflict(new.ipv4_block.into()).into());
            }
            let IpNetwork::V6(prefix) = vpc.ipv6_prefix else {
                return Err(Error::internal("a VPC's IPv6 prefix is none").into());
            };
            let created = now();
            let row = VpcSubnet {
                id: Uuid::new_v4(),
                vpc_id: vpc.id,
                name: new.name.clone(),
                description: new.description.clone(),
                ipv4_block: new.ipv4_block.into(),
                ipv6_block: ipv6_block(prefix, new.ipv6_block, &v6)?.into(),
                custom_router_id: None,
                time_created: created,
                time_modified: created,
                time_deleted: None,
            };
            diesel::insert_into(vpc_subnet::table).values(&row).execute(conn).map_err(taken(
                "vpc_subnet_name",
                ResourceType::VpcSubnet,
                &row.name,
            ))?;
            Ok(row)
        })
        .await
    }

    /// Renames a subnet, or changes its description.
    pub async fn subnet_update(
        &self,
        id: Uuid,
        change: IdentityUpdate,
    ) -> Result<VpcSubnet, Error> {
        self.transaction("update vpc subnet", move |conn| {
            let old = live_subnet(conn, id)?;
            let IdentityUpdate { name, description } = change.clone();
            let name = name.unwrap_or(old.name);
            let updated = diesel::update(vpc_subnet::table.filter(vpc_subnet::id.eq(id)))
                .set((
                    vpc_subnet::name.eq(&name),
                    vpc_subnet::description.eq(description.unwrap_or(old.description)),
                    vpc_subnet::time_modified.eq(now()),
                ))
                .returning(VpcSubnet::as_returning())
                .get_result(conn)
                .map_err(taken("vpc_subnet_name", ResourceType::VpcSubnet, &name))?;
            Ok(updated)
        })
        .await
    }

    /// Deletes a subnet in which there are no interfaces.
    pub async fn subnet_delete(&self, id: Uuid) -> Result<(), Error> {
        self.transaction("delete vpc subnet", move |conn| {
            live_subnet(conn, id)?;
            let nic: Option<Uuid> = network_interface::table
                .filter(network_interface::subnet_id.eq(id))
                .filter(network_interface::time_deleted.is_null())
                .select(network_interface::id)
                .first(conn)
                .optional()?;
            if nic.is_some() {
                return Err(Error::invalid(
                    "VPC Subnet cannot be deleted while network interfaces in the subnet exist",
                )
                .into());
            }
            diesel::update(vpc_subnet::table.filter(vpc_subnet::id.eq(id)))
                .set(vpc_subnet::time_deleted.eq(Some(now())))
                .execute(conn)?;
            Ok(())
        })
        .await
    }

    /// A page of the interfaces in a subnet. As many of them may have one name, `tie` says which
    /// of those of the marker's name was the last of the page before.
    pub async fn subnet_nic_list(
        &self,
        subnet_id: Uuid,
        page: PageBy,
        tie: Option<Uuid>,
    ) -> Result<Vec<NetworkInterface>, Error> {
        use network_interface::{id, name};
        self.statement("interfaces of vpc subnet", move |conn| {
            let query = network_interface::table
                .filter(network_interface::subnet_id.eq(subnet_id))
                .filter(network_interface::time_deleted.is_null())
                .select(NetworkInterface::as_select())
                .into_boxed();
            let query = match &page {
                PageBy::Id(page) => {
                    let query = match page.marker {
                        Some(marker) => query.filter(id.gt(marker)),
                        None => query,
                    };
                    query.order(id.asc()).limit(page.limit())
                }
                PageBy::Name(page) => {
                    let marker = page.marker.as_ref().map(ToString::to_string);
                    let tie = tie.unwrap_or_else(Uuid::nil);
                    match page.direction {
                        Direction::Ascending => {
                            let query = match marker {
                                Some(last) => query.filter(
                                    name.gt(last.clone()).or(name.eq(last).and(id.gt(tie))),
                                ),
                                None => query,
                            };
                            query.order((name.asc(), id.asc())).limit(page.limit())
                        }
                        Direction::Descending => {
                            let query = match marker {
                                Some(last) => query.filter(
                                    name.lt(last.clone()).or(name.eq(last).and(id.lt(tie))),
                                ),
                                None => query,
                            };
                            query.order((name.desc(), id.desc())).limit(page.limit())
                        }
                    }
                }
            };
            Ok(query.load(conn)?)
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
}

#[cfg(test)]
mod test {
    use super::*;

    fn prefix() -> Ipv6Network {
        "fd00:1:2::/48".parse().expect("a network")
    }

    fn block(text: &str) -> Ipv6Network {
        text.parse().expect("a network")
    }

    #[test]
    fn the_lowest_free_ipv6_block_is_taken() {
        let taken = |n| IpNetwork::V6(nth_block(prefix(), n).expect("a block"));
        assert_eq!(ipv6_block(prefix(), None, &[].into()), Ok(block("fd00:1:2::/64")));
        let found = ipv6_block(prefix(), None, &[taken(0), taken(2)].into());
        assert_eq!(found, Ok(block("fd00:1:2:1::/64")));
        let all: BTreeSet<_> = (0..IPV6_SUBNETS).map(taken).collect();
        assert!(matches!(
            ipv6_block(prefix(), None, &all),
            Err(Error::InsufficientCapacity { .. })
        ));
    }

    #[test]
    fn a_block_that_is_asked_for_must_be_free_and_of_the_vpc() {
        let one = block("fd00:1:2:1::/64");
        assert_eq!(ipv6_block(prefix(), Some(one), &[].into()), Ok(one));
        for (wanted, others) in [
            (one, BTreeSet::from([IpNetwork::V6(one)])),
            (block("fd00:1:3::/64"), BTreeSet::new()),
            (block("fd00:1:2::/65"), BTreeSet::new()),
        ] {
            assert!(ipv6_block(prefix(), Some(wanted), &others).is_err(), "{wanted}");
        }
    }
}
