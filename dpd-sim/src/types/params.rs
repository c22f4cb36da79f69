//! What the paths of requests and the tokens of pages are made of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, Ipv6Addr};

/// An IPv4 address.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub struct NatIpv4Path {
    /// The external address
    pub ipv4: Ipv4Addr,
}

/// A port of an IPv4 address.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub struct NatIpv4PortPath {
    /// The external address
    pub ipv4: Ipv4Addr,
    /// A port
    pub low: u16,
}

/// Ports of an IPv4 address.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub struct NatIpv4RangePath {
    /// The external address
    pub ipv4: Ipv4Addr,
    /// The first port
    pub low: u16,
    /// The last port
    pub high: u16,
}

/// An IPv6 address.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub struct NatIpv6Path {
    /// The external address
    pub ipv6: Ipv6Addr,
}

/// A port of an IPv6 address.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub struct NatIpv6PortPath {
    /// The external address
    pub ipv6: Ipv6Addr,
    /// A port
    pub low: u16,
}

/// Ports of an IPv6 address.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub struct NatIpv6RangePath {
    /// The external address
    pub ipv6: Ipv6Addr,
    /// The first port
    pub low: u16,
    /// The last port
    pub high: u16,
}

/// Where a listing of IPv4 addresses goes on.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
pub struct NatIpv4Token {
    /// The last address of the page before
    pub ip: Ipv4Addr,
}

/// Where a listing of IPv6 addresses goes on.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
pub struct NatIpv6Token {
    /// The last address of the page before
    pub ip: Ipv6Addr,
}

/// Where a listing of an address's mappings goes on.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
pub struct NatToken {
    /// The first port of the last mapping of the page before
    pub port: u16,
}
