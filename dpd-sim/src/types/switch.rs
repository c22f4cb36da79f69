//! What a switch is, and what runs on it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// How the running program was built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BuildInfo {
    /// Its version
    pub version: String,
    /// The commit that it was built from
    pub git_sha: String,
    /// When that commit was made
    pub git_commit_timestamp: String,
    /// The branch that the commit was on
    pub git_branch: String,
    /// The compiler's version
    pub rustc_semver: String,
    /// The compiler's channel
    pub rustc_channel: String,
    /// The machine for which the compiler itself was built
    pub rustc_host_triple: String,
    /// The commit that the compiler was built from
    pub rustc_commit_sha: String,
    /// The machine for which the program was built
    pub cargo_triple: String,
    /// Whether it was built with debug assertions
    pub debug: bool,
    /// How much it was optimized
    pub opt_level: u8,
    /// The commit that the ASIC's development kit was built from
    pub sde_commit_sha: String,
}

/// What identifies a switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchIdentifiers {
    /// An id of the switch, which it keeps
    pub sidecar_id: Uuid,
    /// What drives the ASIC
    pub asic_backend: String,
    /// The foundry that made the ASIC
    pub fab: Option<char>,
    /// The production lot of the ASIC
    pub lot: Option<char>,
    /// The number of the lot
    pub lotnum: Option<[char; 4]>,
    /// The wafer in the lot
    pub wafer: Option<u8>,
    /// Where on the wafer the ASIC was
    pub wafer_loc: Option<[i16; 2]>,
    /// The switch's model
    pub model: String,
    /// The model's revision
    pub revision: u32,
    /// The switch's serial number
    pub serial: String,
    /// The slot that the switch sits in
    pub slot: u16,
    /// What was burnt into the ASIC's fuses
    pub fuse: Option<FuseData>,
}

/// What was burnt into an ASIC's fuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FuseData {
    /// The chip's revision
    pub chip_rev: ChipRevision,
    /// What is switched off
    pub disabled: DisabledFeatures,
    /// How fast it may run
    pub frequency: FrequencySettings,
    /// What production left
    pub manufacturing: ManufacturingData,
    /// Which part it is
    pub part: PartInfo,
}

/// A chip's revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChipRevision {
    /// The kind of chip
    pub device_id: u16,
    /// The revision's number
    pub rev_num: u8,
    /// The revision's name
    pub rev: String,
}

/// What is switched off in a chip.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DisabledFeatures {
    /// Resubmission
    pub resub: bool,
    /// Match-action units, for each pipe
    pub mau: [u32; 4],
    /// Memories of the traffic manager
    pub tm_mem: u32,
    /// Synchronization of buffers
    pub bsync: bool,
    /// The packet generator
    pub pgen: bool,
    /// Pipes
    pub pipes: u8,
    /// Ports
    pub ports: u64,
    /// Port speeds
    pub speeds: u64,
}

/// How fast a chip may run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrequencySettings {
    /// Whether the settings are switched off
    pub disabled: bool,
    /// Bits per second
    pub bps: u8,
    /// Bits per second, more digits
    pub bps_ext: u8,
    /// Packets per second
    pub pps: u8,
    /// Packets per second, more digits
    pub pps_ext: u8,
    /// Which PCIe speeds are off
    pub pcie_dis: u8,
    /// Which CPU port speeds are off
    pub cpu_speed_dis: u8,
}

/// What production left in a chip.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ManufacturingData {
    /// The voltage at which it runs
    pub voltage_scaling: u16,
    /// The ring oscillator and skew
    pub pmro_and_skew: u16,
    /// Whether the die is rotated
    pub die_rotation: bool,
    /// The silent spin
    pub silent_spin: u8,
    /// Whether the core was repaired on the wafer
    pub wf_core_repair: bool,
    /// Whether the core was repaired
    pub core_repair: bool,
    /// Whether a tile was repaired
    pub tile_repair: bool,
    /// Which pipes are off by software
    pub soft_pipe_dis: u8,
}

/// Which part a chip is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartInfo {
    /// The part's number
    pub part_num: u16,
    /// The package
    pub pkg_id: u8,
    /// The version
    pub version: u8,
}
