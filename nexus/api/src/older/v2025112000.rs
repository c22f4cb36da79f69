//! Version 2025112000: updates of instances that leave nothing unsaid.

use super::OlderBodyOf;
use crate::types::{
    self, InstanceAutoRestartPolicy, InstanceCpuCount, InstanceCpuPlatform, nullable,
};
use nexus_common::{ByteCount, NameOrId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an instance is to be changed to.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct InstanceUpdate {
    /// The number of virtual CPUs.
    pub ncpus: InstanceCpuCount,
    /// The memory.
    pub memory: ByteCount,
    /// The name or id of the disk to boot from; `null` for whatever the firmware finds bootable.
    #[serde(deserialize_with = "nullable::read")]
    #[schemars(schema_with = "nullable::schema::<NameOrId>")]
    pub boot_disk: Option<NameOrId>,
    /// What to do when the instance fails; `null` for what is the default at that time.
    #[serde(deserialize_with = "nullable::read")]
    #[schemars(schema_with = "nullable::schema::<InstanceAutoRestartPolicy>")]
    pub auto_restart_policy: Option<InstanceAutoRestartPolicy>,
    /// The kind of CPU that the instance needs; `null` for any.
    #[serde(deserialize_with = "nullable::read")]
    #[schemars(schema_with = "nullable::schema::<InstanceCpuPlatform>")]
    pub cpu_platform: Option<InstanceCpuPlatform>,
    /// The multicast groups that the instance is to be in. Absent or `null`: those that it is in.
    #[serde(default)]
    pub multicast_groups: Option<Vec<types::MulticastGroupJoinSpec>>,
}

impl OlderBodyOf<types::InstanceUpdate> for InstanceUpdate {}
