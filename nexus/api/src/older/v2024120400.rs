//! Version 20241204: instances that can be updated.

use super::OlderBodyOf;
use crate::types::{self, InstanceAutoRestartPolicy, InstanceCpuCount, InstanceCpuPlatform};
use nexus_common::{ByteCount, NameOrId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an instance is to be changed to. What is absent is as good as `null`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct InstanceUpdate {
    /// The number of virtual CPUs.
    pub ncpus: InstanceCpuCount,
    /// The memory.
    pub memory: ByteCount,
    /// The name or id of the disk to boot from; `null` for whatever the firmware finds bootable.
    #[serde(default)]
    pub boot_disk: Option<NameOrId>,
    /// What to do when the instance fails; `null` for what is the default at that time.
    #[serde(default)]
    pub auto_restart_policy: Option<InstanceAutoRestartPolicy>,
    /// The kind of CPU that the instance needs; `null` for any.
    #[serde(default)]
    pub cpu_platform: Option<InstanceCpuPlatform>,
}

impl OlderBodyOf<types::InstanceUpdate> for InstanceUpdate {}
