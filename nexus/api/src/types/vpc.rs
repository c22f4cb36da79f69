//! VPCs and their subnets.

use super::IdentityMetadata;
use nexus_common::Name;
use oxnet::{Ipv4Net, Ipv6Net};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A virtual private cloud: a network of a project's own, in which its instances have their
/// private addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Vpc {
    #[serde(flatten)]
    pub identity: IdentityMetadata,
    /// The project that owns the VPC.
    pub project_id: Uuid,
    /// The router that every VPC has.
    pub system_router_id: Uuid,
    /// The prefix of all IPv6 addresses in the VPC.
    pub ipv6_prefix: Ipv6Net,
    /// The name of the VPC in DNS.
    pub dns_name: Name,
}

/// A subnet of a VPC. It has an IPv4 and an IPv6 block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VpcSubnet {
    #[serde(flatten)]
    pub identity: IdentityMetadata,
    /// The VPC that the subnet belongs to.
    pub vpc_id: Uuid,
    /// The IPv4 addresses of the subnet.
    pub ipv4_block: Ipv4Net,
    /// The IPv6 addresses of the subnet.
    pub ipv6_block: Ipv6Net,
    /// The router that the subnet has beside its VPC's, if it has one.
    pub custom_router_id: Option<Uuid>,
}
