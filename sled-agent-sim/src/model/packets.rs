//! What would become of a packet.

use super::external_ips::Source;
use super::sled::Sled;
use crate::types::NetworkInterface;
use nexus_common::IpVersion;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_kit::packet::{DropReason, Packet};
use std::net::IpAddr;
use uuid::Uuid;

/// A packet that reaches a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The guest's VMM.
    pub vmm: Uuid,
    /// The private address at which it arrives.
    pub nic_ip: Option<IpAddr>,
}

/// Why a packet does not leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoWayOut {
    /// There is no such VMM.
    NoVmm,
    /// The VMM is there, but the guest does not run.
    VmmNotRunning,
    /// The guest has no external address of that IP version.
    NoExternalIp,
}

impl Sled {
    /// What becomes of a packet from outside.
    pub fn deliver(&self, packet: &Packet) -> Result<Arrival, DropReason> {
        let is_for = |nic: &NetworkInterface| nic.vni == packet.vni && nic.mac == packet.mac;
        let mut ports =
            self.vmms().flat_map(|(id, vmm)| vmm.ports.iter().map(move |port| (id, port)));
        let Some((vmm, port)) = ports.find(|(_, port)| is_for(&port.nic)) else {
            return Err(DropReason::NoPort);
        };
        if !port.external_ips.accept(packet.ip, packet.port) {
            return Err(DropReason::PortRefusesIp);
        }
        Ok(Arrival { vmm, nic_ip: port.nic.ip_config.address(IpVersion::of(packet.ip)) })
    }

    /// From where a packet leaves that the guest of a VMM sends from a port of its own.
    pub fn outbound(&self, vmm: Uuid, dst: IpAddr, port: u16) -> Result<Source, NoWayOut> {
        let vmm = self.vmm(vmm).map_err(|_| NoWayOut::NoVmm)?;
        if !vmm.guest_runs() {
            return Err(NoWayOut::VmmNotRunning);
        }
        let primary = vmm.ports.iter().find(|port| port.nic.primary);
        let source = primary.and_then(|p| p.external_ips.source(IpVersion::of(dst), port));
        source.ok_or(NoWayOut::NoExternalIp)
    }
}
