//! The virtual machine of a VMM.
//!
//! Of the specification that Propolis takes, the processors and the memory are what a sled agent
//! looks at. The rest is passed on as it is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A virtual machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VmmSpec {
    /// The board
    pub board: Board,
    /// What is plugged into it, by its name
    pub components: BTreeMap<String, Value>,
    /// What the firmware says of the machine
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub smbios: Value,
}

/// A virtual board.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// The processors
    pub cpus: u8,
    /// The memory, in MiB
    pub memory_mb: u64,
    /// The chipset
    pub chipset: Chipset,
    /// What the processors say of themselves
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub cpuid: Value,
    /// What the guest sees of its hypervisor
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub guest_hv_interface: Value,
}

/// A chipset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "value", rename_all = "snake_case", deny_unknown_fields)]
pub enum Chipset {
    /// Intel's 440FX
    I440Fx(I440Fx),
}

/// How Intel's 440FX is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct I440Fx {
    /// Whether it has PCIe
    pub enable_pcie: bool,
}
