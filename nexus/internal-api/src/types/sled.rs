//! Sleds.

use super::Generation;
use nexus_common::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::SocketAddrV6;

/// What a sled has, and where its sled agent can be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SledAgentInfo {
    /// Where the sled agent listens.
    #[schemars(with = "String")]
    pub sa_address: SocketAddrV6,
    /// Where the sled serves update artifacts: this port of the same address.
    pub repo_depot_port: u16,
    /// What the sled is for.
    pub role: SledRole,
    /// The sled's board.
    pub baseboard: Baseboard,
    /// The hardware threads that instances can use.
    pub usable_hardware_threads: u32,
    /// The memory that the sled can use.
    pub usable_physical_ram: ByteCount,
    /// The memory of that which is set aside for instances.
    pub reservoir_size: ByteCount,
    /// The sled's CPU.
    pub cpu_family: SledCpuFamily,
    /// The generation of this report.
    pub generation: Generation,
    /// Whether the sled was taken out of service for good. What a report says of it is ignored.
    pub decommissioned: bool,
}

/// What a sled is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SledRole {
    /// A sled.
    Gimlet,
    /// A sled that also drives a switch.
    Scrimlet,
}

/// What identifies a sled's board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Baseboard {
    /// The serial number.
    pub serial: String,
    /// The part number.
    pub part: String,
    /// The revision.
    pub revision: u32,
}

/// A sled's CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SledCpuFamily {
    /// None of those below.
    Unknown,
    /// AMD Milan.
    AmdMilan,
    /// AMD Turin.
    AmdTurin,
    /// AMD Turin Dense.
    AmdTurinDense,
}
