//! Network interfaces of instances, and their private addresses.

use super::{IdentityMetadata, IdentityMetadataCreateParams, IdentityMetadataUpdateParams};
use nexus_common::{IpVersion, MacAddr, Name};
use oxnet::{IpNet, Ipv4Net, Ipv6Net};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, Ipv6Addr};
use uuid::Uuid;

/// A network interface of an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstanceNetworkInterface {
    #[serde(flatten)]
    pub identity: IdentityMetadata,
    /// The instance that has the interface.
    pub instance_id: Uuid,
    /// The VPC that the interface is in.
    pub vpc_id: Uuid,
    /// The subnet that the interface is in.
    pub subnet_id: Uuid,
    /// The interface's MAC address.
    pub mac: MacAddr,
    /// The interface's private addresses.
    pub ip_stack: PrivateIpStack,
    /// Whether this is the interface that has the instance's external addresses. Every instance
    /// with interfaces has exactly one such.
    pub primary: bool,
}

/// The private addresses of a network interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
pub enum PrivateIpStack {
    /// IPv4 only.
    V4(PrivateIpv4Stack),
    /// IPv6 only.
    V6(PrivateIpv6Stack),
    /// Both.
    DualStack {
        /// The IPv4 half.
        v4: PrivateIpv4Stack,
        /// The IPv6 half.
        v6: PrivateIpv6Stack,
    },
}

impl PrivateIpStack {
    /// The IPv4 half, if there is one.
    pub fn v4(&self) -> Option<&PrivateIpv4Stack> {
        match self {
            PrivateIpStack::V4(v4) | PrivateIpStack::DualStack { v4, .. } => Some(v4),
            PrivateIpStack::V6(_) => None,
        }
    }

    /// The IPv6 half, if there is one.
    pub fn v6(&self) -> Option<&PrivateIpv6Stack> {
        match self {
            PrivateIpStack::V6(v6) | PrivateIpStack::DualStack { v6, .. } => Some(v6),
            PrivateIpStack::V4(_) => None,
        }
    }
}

/// The private IPv4 address of a network interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrivateIpv4Stack {
    /// The address.
    pub ip: Ipv4Addr,
    /// Networks for which the instance may forward packets.
    pub transit_ips: Vec<Ipv4Net>,
}

/// The private IPv6 address of a network interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrivateIpv6Stack {
    /// The address.
    pub ip: Ipv6Addr,
    /// Networks for which the instance may forward packets.
    pub transit_ips: Vec<Ipv6Net>,
}

/// The network interfaces that a new instance gets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "params", rename_all = "snake_case")]
pub enum InstanceNetworkInterfaceAttachment {
    /// These, of which the first is the primary one. They must be in one VPC, each in another
    /// subnet of it.
    Create(Vec<InstanceNetworkInterfaceCreate>),
    /// One with an IPv4 address, in the subnet `default` of the VPC `default`.
    #[serde(rename = "default_ipv4")]
    DefaultIpv4,
    /// One with an IPv6 address, in the subnet `default` of the VPC `default`.
    #[serde(rename = "default_ipv6")]
    DefaultIpv6,
    /// One with an IPv4 and an IPv6 address, in the subnet `default` of the VPC `default`.
    #[default]
    DefaultDualStack,
    /// None. The instance can then have no external addresses either.
    None,
}

/// A network interface to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstanceNetworkInterfaceCreate {
    #[serde(flatten)]
    pub identity: IdentityMetadataCreateParams,
    /// The name of the VPC, in the instance's project.
    pub vpc_name: Name,
    /// The name of the subnet, in that VPC.
    pub subnet_name: Name,
    /// The private addresses; one of each IP version, chosen by the system, if absent.
    #[serde(default)]
    pub ip_config: PrivateIpStackCreate,
}

/// A change of a network interface. The instance must be stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstanceNetworkInterfaceUpdate {
    #[serde(flatten)]
    pub identity: IdentityMetadataUpdateParams,
    /// Whether the interface becomes the primary one. `false` changes nothing: for another one to
    /// be primary, change that one.
    #[serde(default)]
    pub primary: bool,
    /// All networks for which the instance may forward packets from now on.
    #[serde(default)]
    pub transit_ips: Vec<IpNet>,
}

/// The private addresses of a network interface to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
pub enum PrivateIpStackCreate {
    /// IPv4 only.
    V4(PrivateIpv4StackCreate),
    /// IPv6 only.
    V6(PrivateIpv6StackCreate),
    /// Both.
    DualStack {
        /// The IPv4 half.
        v4: PrivateIpv4StackCreate,
        /// The IPv6 half.
        v6: PrivateIpv6StackCreate,
    },
}

impl PrivateIpStackCreate {
    /// An address that the system chooses, of one version.
    pub fn auto(version: IpVersion) -> Self {
        match version {
            IpVersion::V4 => PrivateIpStackCreate::V4(PrivateIpv4StackCreate::default()),
            IpVersion::V6 => PrivateIpStackCreate::V6(PrivateIpv6StackCreate::default()),
        }
    }

    /// The IPv4 half, if there is one.
    pub fn v4(&self) -> Option<&PrivateIpv4StackCreate> {
        match self {
            PrivateIpStackCreate::V4(v4) | PrivateIpStackCreate::DualStack { v4, .. } => Some(v4),
            PrivateIpStackCreate::V6(_) => None,
        }
    }

    /// The IPv6 half, if there is one.
    pub fn v6(&self) -> Option<&PrivateIpv6StackCreate> {
        match self {
            PrivateIpStackCreate::V6(v6) | PrivateIpStackCreate::DualStack { v6, .. } => Some(v6),
            PrivateIpStackCreate::V4(_) => None,
        }
    }
}

impl Default for PrivateIpStackCreate {
    fn default() -> Self {
        PrivateIpStackCreate::DualStack {
            v4: PrivateIpv4StackCreate::default(),
            v6: PrivateIpv6StackCreate::default(),
        }
    }
}

/// The private IPv4 address of a network interface to create.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrivateIpv4StackCreate {
    /// How the address is chosen.
    pub ip: Ipv4Assignment,
    /// Networks for which the instance may forward packets.
    #[serde(default)]
    pub transit_ips: Vec<Ipv4Net>,
}

/// The private IPv6 address of a network interface to create.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrivateIpv6StackCreate {
    /// How the address is chosen.
    pub ip: Ipv6Assignment,
    /// Networks for which the instance may forward packets.
    #[serde(default)]
    pub transit_ips: Vec<Ipv6Net>,
}

/// How a private IPv4 address is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
pub enum Ipv4Assignment {
    /// The system takes the lowest free address of the subnet.
    #[default]
    Auto,
    /// This address of the subnet.
    Explicit(Ipv4Addr),
}

impl Ipv4Assignment {
    /// The address that was asked for, if one was.
    pub fn explicit(self) -> Option<Ipv4Addr> {
        match self {
            Ipv4Assignment::Auto => None,
            Ipv4Assignment::Explicit(ip) => Some(ip),
        }
    }
}

/// How a private IPv6 address is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
pub enum Ipv6Assignment {
    /// The system takes the lowest free address of the subnet.
    #[default]
    Auto,
    /// This address of the subnet.
    Explicit(Ipv6Addr),
}

impl Ipv6Assignment {
    /// The address that was asked for, if one was.
    pub fn explicit(self) -> Option<Ipv6Addr> {
        match self {
            Ipv6Assignment::Auto => None,
            Ipv6Assignment::Explicit(ip) => Some(ip),
        }
    }
}
