//! Routes between the subnets of a VPC and out of it, as a sled agent is told of them.

use nexus_common::Vni;
use oxnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use uuid::Uuid;

/// A router of a VPC.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct RouterId {
    /// The VPC's virtual network
    pub vni: Vni,
    /// Which of its routers
    pub kind: RouterKind,
}

/// Which router of a VPC.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum RouterKind {
    /// That of the whole VPC
    System,
    /// That of a subnet
    Custom {
        /// The subnet
        subnet: IpNet,
    },
}

/// The version of a router's routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RouterVersion {
    /// The router that the routes are from
    pub router_id: Uuid,
    /// Their version
    pub version: u64,
}

impl RouterVersion {
    /// Whether routes of this version take the place of those of another: they are newer, or they
    /// are another router's.
    pub fn replaces(&self, other: &RouterVersion) -> bool {
        self.router_id != other.router_id || self.version > other.version
    }
}

/// A route.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct ResolvedVpcRoute {
    /// Where packets want to go
    pub dest: IpNet,
    /// Which way they go
    pub target: RouterTarget,
}

/// Which way packets go.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
pub enum RouterTarget {
    /// None
    Drop,
    /// Out
    InternetGateway(InternetGatewayRouterTarget),
    /// To an address of the VPC
    Ip(IpAddr),
    /// To a subnet of the VPC
    VpcSubnet(IpNet),
}

/// A way out of a VPC.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
pub enum InternetGatewayRouterTarget {
    /// For services of the rack
    System,
    /// For instances: an internet gateway
    Instance(Uuid),
}

/// The routes of a router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResolvedVpcRouteSet {
    /// The router
    pub id: RouterId,
    /// The version of the routes
    pub version: Option<RouterVersion>,
    /// The routes
    pub routes: BTreeSet<ResolvedVpcRoute>,
}

/// Which routes of a router a sled has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResolvedVpcRouteState {
    /// The router
    pub id: RouterId,
    /// The version of the routes; none if there are none
    pub version: Option<RouterVersion>,
}

/// Which internet gateways each external address may be used with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalIpGatewayMap {
    /// For each network interface and external address, the internet gateways
    pub mappings: BTreeMap<Uuid, BTreeMap<IpAddr, BTreeSet<Uuid>>>,
}
