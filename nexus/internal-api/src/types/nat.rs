//! Changes of the NAT table.

use nexus_common::{MacAddr, Vni};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv6Addr};

/// A change of the NAT table: an entry that was added, or one that was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NatEntryView {
    /// The external address.
    pub external_address: IpAddr,
    /// The first port of that address that the entry is about.
    pub first_port: u16,
    /// The last port of that address that the entry is about.
    pub last_port: u16,
    /// The underlay address of the sled to which packets go.
    pub sled_address: Ipv6Addr,
    /// The virtual network in which they go there.
    pub vni: Vni,
    /// The MAC address to which they go there.
    pub mac: MacAddr,
    /// The generation of this change. It is larger than that of every change before.
    #[serde(rename = "gen")]
    pub generation: i64,
    /// Whether the entry was removed.
    pub deleted: bool,
}
