//! What silos may use, and what they do use.

use nexus_common::{ByteCount, Name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The most that a silo's instances and disks may use together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SiloQuotas {
    /// The silo.
    pub silo_id: Uuid,
    /// Virtual CPUs of instances that run.
    pub cpus: i64,
    /// Memory of instances that run.
    pub memory: ByteCount,
    /// Disks and snapshots.
    pub storage: ByteCount,
}

/// What to change of a silo's quotas. What is absent or `null` stays as it is. A quota may be less
/// than what is in use; then nothing more can be had until enough is given back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SiloQuotasUpdate {
    /// Virtual CPUs of instances that run.
    pub cpus: Option<i64>,
    /// Memory of instances that run.
    pub memory: Option<ByteCount>,
    /// Disks and snapshots.
    pub storage: Option<ByteCount>,
}

/// Amounts of what silos use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VirtualResourceCounts {
    /// Virtual CPUs.
    pub cpus: i64,
    /// Memory.
    pub memory: ByteCount,
    /// Disks and snapshots.
    pub storage: ByteCount,
}

/// How much of what the silo may use is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Utilization {
    /// What is in use: CPUs and memory of instances that run, all disks and snapshots.
    pub provisioned: VirtualResourceCounts,
    /// The most that may be in use.
    pub capacity: VirtualResourceCounts,
}

/// How much of what a silo may use is in use, as an operator sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SiloUtilization {
    /// The silo.
    pub silo_id: Uuid,
    /// The silo's name.
    pub silo_name: Name,
    /// What is in use: CPUs and memory of instances that run, all disks and snapshots.
    pub provisioned: VirtualResourceCounts,
    /// The silo's quotas.
    pub allocated: VirtualResourceCounts,
}
