//! Network interfaces, as a sled agent is told of them.

use nexus_common::{IpVersion, MacAddr, Name, Vni};
use oxnet::{Ipv4Net, Ipv6Net};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use uuid::Uuid;

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkInterface {
    /// Its id
    pub id: Uuid,
    /// What it belongs to
    pub kind: NetworkInterfaceKind,
    /// Its name
    pub name: Name,
    /// Its private addresses
    pub ip_config: PrivateIpConfig,
    /// Its MAC address
    pub mac: MacAddr,
    /// Its virtual network
    pub vni: Vni,
    /// Whether it is the one that has its instance's external addresses
    pub primary: bool,
    /// The slot that it sits in
    pub slot: u8,
}

/// What a network interface belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum NetworkInterfaceKind {
    /// An instance
    Instance {
        /// The instance's id
        id: Uuid,
    },
    /// A service of the rack
    Service {
        /// The service's id
        id: Uuid,
    },
    /// A probe
    Probe {
        /// The probe's id
        id: Uuid,
    },
}

/// The private addresses of a network interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
pub enum PrivateIpConfig {
    /// It has an IPv4 address only
    V4(PrivateIpv4Config),
    /// It has an IPv6 address only
    V6(PrivateIpv6Config),
    /// It has both
    DualStack {
        /// The IPv4 address
        v4: PrivateIpv4Config,
        /// The IPv6 address
        v6: PrivateIpv6Config,
    },
}

impl PrivateIpConfig {
    /// The address of a version, if there is one.
    pub fn address(&self, version: IpVersion) -> Option<IpAddr> {
        match (self, version) {
            (Self::V4(v4) | Self::DualStack { v4, .. }, IpVersion::V4) => Some(v4.ip.into()),
            (Self::V6(v6) | Self::DualStack { v6, .. }, IpVersion::V6) => Some(v6.ip.into()),
            _ => None,
        }
    }

    /// The subnets that the addresses are in.
    pub fn subnets(&self) -> Vec<oxnet::IpNet> {
        match self {
            Self::V4(v4) => vec![v4.subnet.into()],
            Self::V6(v6) => vec![v6.subnet.into()],
            Self::DualStack { v4, v6 } => vec![v4.subnet.into(), v6.subnet.into()],
        }
    }
}

/// A private IPv4 address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrivateIpv4Config {
    /// The address
    pub ip: Ipv4Addr,
    /// The subnet that it is in
    pub subnet: Ipv4Net,
    /// The networks whose packets the interface may forward
    #[serde(default)]
    pub transit_ips: Vec<Ipv4Net>,
}

/// A private IPv6 address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrivateIpv6Config {
    /// The address
    pub ip: Ipv6Addr,
    /// The subnet that it is in
    pub subnet: Ipv6Net,
    /// The networks whose packets the interface may forward
    pub transit_ips: Vec<Ipv6Net>,
}
