//! The NAT table, as dpd speaks of it.

use nexus_common::Vni;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, Ipv6Addr};

/// A MAC address. Unlike everywhere else it is an object with its bytes, not a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MacAddr {
    /// The six bytes, in the order in which they are sent.
    pub a: [u8; 6],
}

impl From<nexus_common::MacAddr> for MacAddr {
    fn from(mac: nexus_common::MacAddr) -> Self {
        MacAddr { a: mac.bytes() }
    }
}

impl From<MacAddr> for nexus_common::MacAddr {
    fn from(mac: MacAddr) -> Self {
        nexus_common::MacAddr::new(mac.a)
    }
}

/// Where packets for an external address go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NatTarget {
    /// The underlay address of the sled.
    pub internal_ip: Ipv6Addr,
    /// The MAC address of the guest's network interface.
    pub inner_mac: MacAddr,
    /// The virtual network of that interface.
    pub vni: Vni,
}

/// A mapping of an IPv4 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ipv4Nat {
    /// The external address.
    pub external: Ipv4Addr,
    /// The first port that the mapping is about.
    pub low: u16,
    /// The last port that the mapping is about.
    pub high: u16,
    /// Where the packets go.
    pub target: NatTarget,
}

/// A mapping of an IPv6 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ipv6Nat {
    /// The external address.
    pub external: Ipv6Addr,
    /// The first port that the mapping is about.
    pub low: u16,
    /// The last port that the mapping is about.
    pub high: u16,
    /// Where the packets go.
    pub target: NatTarget,
}
