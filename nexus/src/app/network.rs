//! VPCs and subnets.

use super::authz::Action;
use super::lookup::SubnetSelector;
use super::{Nexus, OpContext, Selector, check_description, identity_update};
use crate::db::subnet::NewSubnet;
use crate::db::vpc::{DefaultSubnet, NewVpc, VpcUpdate as VpcChange};
use db_model::{NetworkInterface, Vpc, VpcSubnet};
use ipnetwork::{Ipv4Network, Ipv6Network};
use nexus_api::types::{VpcCreate, VpcSubnetCreate, VpcSubnetUpdate, VpcUpdate};
use nexus_common::{Error, NameOrId, PageBy, ResourceType};
use oxnet::{Ipv4Net, Ipv6Net};
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use uuid::Uuid;

/// The prefix lengths that a subnet's IPv4 block may have.
const IPV4_PREFIX_LENS: RangeInclusive<u8> = 8..=26;

impl Nexus {
    /// A page of a project's VPCs.
    pub async fn vpc_list(
        &self,
        opctx: &OpContext,
        project: &NameOrId,
        page: PageBy,
    ) -> Result<Vec<Vpc>, Error> {
        let project = self.project(opctx, project, Action::ListChildren).await?;
        self.datastore.vpc_list(project.id, page).await
    }

    /// Makes a VPC, with a default subnet unless that is not wanted.
    pub async fn vpc_create(
        &self,
        opctx: &OpContext,
        project: &NameOrId,
        body: VpcCreate,
    ) -> Result<Vpc, Error> {
        let project = self.project_for_networks(opctx, project).await?;
        check_description(&body.identity.description)?;
        let ipv6_prefix = body.ipv6_prefix.map(vpc_prefix).transpose()?;
        let wanted = body.defaults.is_none_or(|defaults| defaults.subnet.is_some());
        let new = NewVpc {
            project_id: project.id,
            name: body.identity.name.into(),
            description: body.identity.description,
            dns_name: body.dns_name.into(),
            ipv6_prefix,
            subnet: if wanted { DefaultSubnet::Create } else { DefaultSubnet::Omit },
        };
        self.datastore.vpc_create(new).await
    }

    /// Changes a VPC. Firewall rules may name it.
    pub async fn vpc_update(
        &self,
        opctx: &OpContext,
        vpc: &Selector,
        body: VpcUpdate,
    ) -> Result<Vpc, Error> {
        let vpc = self.vpc(opctx, vpc, Action::Modify).await?;
        let change = VpcChange {
            identity: identity_update(body.identity)?,
            dns_name: body.dns_name.map(String::from),
        };
        let changed = self.datastore.vpc_update(vpc.id, change).await?;
        if changed.name != vpc.name {
            self.tell_firewall(opctx, vpc.id).await;
        }
        Ok(changed)
    }

    /// Deletes a VPC that has no subnets.
    pub async fn vpc_delete(&self, opctx: &OpContext, vpc: &Selector) -> Result<(), Error> {
        let vpc = self.vpc(opctx, vpc, Action::Delete).await?;
        self.datastore.vpc_delete(vpc.id).await
    }

    /// A page of a VPC's subnets.
    pub async fn subnet_list(
        &self,
        opctx: &OpContext,
        vpc: &Selector,
        page: PageBy,
    ) -> Result<Vec<VpcSubnet>, Error> {
        let vpc = self.vpc(opctx, vpc, Action::ListChildren).await?;
        self.datastore.subnet_list(vpc.id, page).await
    }

    /// Makes a subnet.
    pub async fn subnet_create(
        &self,
        opctx: &OpContext,
        vpc: &Selector,
        body: VpcSubnetCreate,
    ) -> Result<VpcSubnet, Error> {
        let vpc = self.vpc(opctx, vpc, Action::CreateChild).await?;
        check_description(&body.identity.description)?;
        refuse_router(body.custom_router)?;
        let new = NewSubnet {
            vpc_id: vpc.id,
            name: body.identity.name.into(),
            description: body.identity.description,
            ipv4_block: ipv4_block(body.ipv4_block)?,
            ipv6_block: body.ipv6_block.map(ipv6_network).transpose()?,
        };
        self.datastore.subnet_create(new).await
    }

    /// Changes a subnet. Firewall rules may name it.
    pub async fn subnet_update(
        &self,
        opctx: &OpContext,
        subnet: SubnetSelector,
        body: VpcSubnetUpdate,
    ) -> Result<VpcSubnet, Error> {
        let subnet = self.subnet(opctx, subnet, Action::Modify).await?;
        refuse_router(body.custom_router)?;
        let change = identity_update(body.identity)?;
        let changed = self.datastore.subnet_update(subnet.id, change).await?;
        if changed.name != subnet.name {
            self.tell_firewall(opctx, subnet.vpc_id).await;
        }
        Ok(changed)
    }

    /// Deletes a subnet in which there are no interfaces.
    pub async fn subnet_delete(
        &self,
        opctx: &OpContext,
        subnet: SubnetSelector,
    ) -> Result<(), Error> {
        let subnet = self.subnet(opctx, subnet, Action::Delete).await?;
        self.datastore.subnet_delete(subnet.id).await
    }

    /// A page of the interfaces in a subnet; `tie` is [`nexus_api::paging::NameOrIdPage::tie`].
    pub async fn subnet_nic_list(
        &self,
        opctx: &OpContext,
        subnet: SubnetSelector,
        page: PageBy,
        tie: Option<Uuid>,
    ) -> Result<Vec<NetworkInterface>, Error> {
        let subnet = self.subnet(opctx, subnet, Action::ListChildren).await?;
        self.datastore.subnet_nic_list(subnet.id, page, tie).await
    }
}

/// There are no routers beside those of VPCs, so none of this name or id exists.
fn refuse_router(router: Option<NameOrId>) -> Result<(), Error> {
    match router {
        None => Ok(()),
        Some(router) => Err(Error::not_found(ResourceType::VpcRouter, &router)),
    }
}

fn ipv6_network(net: Ipv6Net) -> Result<Ipv6Network, Error> {
    Ipv6Network::new(net.addr(), net.width()).map_err(Error::internal)
}

/// Checks the prefix of a VPC's IPv6 addresses (RFC 4193, section 3.1).
fn vpc_prefix(net: Ipv6Net) -> Result<Ipv6Network, Error> {
    let is_local = net.addr().octets()[0] == 0xfd;
    if !is_local || net.width() != 48 || net.addr() != net.prefix() {
        return Err(Error::invalid(
            "VPC IPv6 address prefixes must be in the Unique Local Address range `fd00::/48` \
             (RFD 4193)",
        ));
    }
    ipv6_network(net)
}

/// Checks the IPv4 block of a subnet (RFC 1918).
fn ipv4_block(net: Ipv4Net) -> Result<Ipv4Network, Error> {
    let is_private = |ip: Ipv4Addr| ip.is_private();
    if !is_private(net.first_addr()) || !is_private(net.last_addr()) {
        let message = "VPC Subnet IPv4 address ranges must be from a private range";
        return Err(Error::invalid(message));
    }
    if !IPV4_PREFIX_LENS.contains(&net.width()) {
        return Err(Error::invalid(format!(
            "VPC Subnet IPv4 address ranges must have prefix length between {} and {}, inclusive",
            IPV4_PREFIX_LENS.start(),
            IPV4_PREFIX_LENS.end()
        )));
    }
    if net.addr() != net.prefix() {
        let message = format!(
            "VPC Subnet IPv4 address range '{net}' has a non-zero host identifier; its first \
             address is {}",
            net.prefix()
        );
        return Err(Error::invalid(message));
    }
    Ipv4Network::new(net.addr(), net.width()).map_err(Error::internal)
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn ipv4_blocks_are_private_and_of_a_sensible_size() {
        let check =
            |net: &str| ipv4_block(net.parse().expect("a network")).map_err(|e| e.to_string());
        for net in ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "192.168.255.192/26"] {
            assert!(check(net).is_ok(), "{net}");
        }
        for (net, why) in [
            ("8.8.8.0/24", "private range"),
            ("172.0.0.0/8", "private range"),
            ("192.0.0.0/7", "private range"),
            ("10.0.0.0/27", "prefix length between 8 and 26"),
            ("10.0.0.1/24", "its first address is 10.0.0.0"),
        ] {
            let error = check(net).expect_err(net);
            assert!(error.contains(why), "{net}: {error}");
        }
    }

    #[test]
    fn prefixes_are_unique_local_and_of_48_bits() {
        let check = |net: &str| vpc_prefix(net.parse().expect("a network"));
        assert!(check("fd12:3456:789a::/48").is_ok());
        for net in ["fc00::/48", "2001:db8::/48", "fd00::/47", "fd00::/64", "fd00::1/48"] {
            assert!(check(net).is_err(), "{net}");
        }
    }
}
