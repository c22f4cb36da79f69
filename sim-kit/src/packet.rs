//! What one simulator asks another about a packet: whether it would be delivered.

use nexus_common::{MacAddr, Vni};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use uuid::Uuid;

/// The path of a sled's control port that answers whether a [`Packet`] is delivered, with a
/// [`Delivery`].
pub const DELIVER_PATH: &str = "/sim/deliver";

/// A packet from outside that a switch has sent to a sled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Packet {
    /// The virtual network that it is in.
    pub vni: Vni,
    /// The MAC address that it is for.
    pub mac: MacAddr,
    /// The external address that it is for.
    pub ip: IpAddr,
    /// The port that it is for.
    pub port: u16,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Delivery {
    /// Whether it reaches a network interface.
    pub delivered: bool,
    /// The sled of that interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sled_id: Option<Uuid>,
    /// The VMM of that interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vmm_id: Option<Uuid>,
    /// The private address at which the packet arrives; none if the interface has no address of
    /// the packet's IP version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nic_ip: Option<IpAddr>,
    /// Why it is not delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<DropReason>,
}

/// Why a packet is not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DropReason {
    /// The switch has no mapping for it.
    NoNatEntry,
    /// There is no sled at the address to which the switch sends it, or it does not answer.
    SledUnreachable,
    /// The sled has no port with that MAC address in that virtual network.
    NoPort,
    /// The port does not have that external address.
    PortRefusesIp,
}

impl Delivery {
    /// It reaches an interface.
    pub fn to(sled_id: Uuid, vmm_id: Uuid, nic_ip: Option<IpAddr>) -> Self {
        Delivery {
            delivered: true,
            sled_id: Some(sled_id),
            vmm_id: Some(vmm_id),
            nic_ip,
            reason: None,
        }
    }

    /// It is dropped.
    pub fn dropped(reason: DropReason) -> Self {
        Delivery {
            delivered: false,
            sled_id: None,
            vmm_id: None,
            nic_ip: None,
            reason: Some(reason),
        }
    }
}
