//! Where the virtual addresses of a VPC physically are.

use nexus_common::{MacAddr, Vni};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv6Addr};

/// A virtual address and the sled that it is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VirtualNetworkInterfaceHost {
    /// The private address
    pub virtual_ip: IpAddr,
    /// The MAC address that it belongs to
    pub virtual_mac: MacAddr,
    /// The underlay address of the sled
    pub physical_host_ip: Ipv6Addr,
    /// The virtual network
    pub vni: Vni,
}
