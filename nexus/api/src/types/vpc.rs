//! VPCs and their subnets.

use super::{
    IdentityMetadata, IdentityMetadataCreateParams, IdentityMetadataUpdateParams, VpcCreateDefaults,
};
use nexus_common::{Name, NameOrId};
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

/// A VPC to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VpcCreate {
    #[serde(flatten)]
    pub identity: IdentityMetadataCreateParams,
    /// The prefix of all IPv6 addresses in the VPC: a /48 of the unique local addresses (RFC 4193).
    /// A random one if absent.
    #[serde(default)]
    pub ipv6_prefix: Option<Ipv6Net>,
    /// The name of the VPC in DNS.
    pub dns_name: Name,
    /// What to create in the new VPC. Absent or `null`: the subnet `default`. An object: only what
    /// it names; `{}` leaves the VPC without a subnet.
    #[serde(default)]
    pub defaults: Option<VpcCreateDefaults>,
}

/// A change of a VPC. What is absent stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VpcUpdate {
    #[serde(flatten)]
    pub identity: IdentityMetadataUpdateParams,
    /// The name of the VPC in DNS.
    pub dns_name: Option<Name>,
}

/// A subnet to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VpcSubnetCreate {
    #[serde(flatten)]
    pub identity: IdentityMetadataCreateParams,
    /// The IPv4 addresses of the subnet: a network of the private addresses (RFC 1918) with a
    /// prefix length from 8 to 26, which overlaps with that of no other subnet of the VPC.
    pub ipv4_block: Ipv4Net,
    /// The IPv6 addresses of the subnet: a /64 of the VPC's prefix that no other subnet has. The
    /// lowest such if absent.
    #[serde(default)]
    pub ipv6_block: Option<Ipv6Net>,
    /// The router that the subnet has beside its VPC's. There are none to choose from so far.
    #[serde(default)]
    pub custom_router: Option<NameOrId>,
}

/// A change of a subnet. What is absent stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VpcSubnetUpdate {
    #[serde(flatten)]
    pub identity: IdentityMetadataUpdateParams,
    /// The router that the subnet has beside its VPC's. There are none to choose from so far.
    #[serde(default)]
    pub custom_router: Option<NameOrId>,
}
