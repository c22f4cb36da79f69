//! Sleds, as operators see them.

use super::InstanceState;
use chrono::{DateTime, Utc};
use nexus_common::{ByteCount, Name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A sled: a host of instances.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sled {
    /// The sled's id.
    pub id: Uuid,
    /// When the sled was first seen.
    pub time_created: DateTime<Utc>,
    /// When the sled last registered itself, or its policy was last changed.
    pub time_modified: DateTime<Utc>,
    /// The hardware.
    pub baseboard: Baseboard,
    /// The rack that the sled is in.
    pub rack_id: Uuid,
    /// What the operator wants of the sled.
    pub policy: SledPolicy,
    /// What the system makes of the sled.
    pub state: SledState,
    /// The hardware threads that instances can use.
    pub usable_hardware_threads: u32,
    /// The memory.
    pub usable_physical_ram: ByteCount,
}

/// What a sled is as a piece of hardware.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Baseboard {
    /// The serial number.
    pub serial: String,
    /// The part number.
    pub part: String,
    /// The revision.
    pub revision: u32,
}

/// What the operator wants of a sled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SledPolicy {
    /// To be used.
    InService {
        /// Whether to place new instances there.
        provision_policy: SledProvisionPolicy,
    },
    /// To be gone.
    Expunged,
}

/// Whether to place new instances on a sled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SledProvisionPolicy {
    /// Instances are started there as anywhere.
    Provisionable,
    /// None is started there. Those that run there are left.
    NonProvisionable,
}

/// What the system makes of a sled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SledState {
    /// It is used.
    Active,
    /// It is no more.
    Decommissioned,
}

/// A change of whether to place new instances on a sled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SledProvisionPolicyParams {
    /// What it is to be.
    pub state: SledProvisionPolicy,
}

/// Whether new instances were placed on a sled before a change, and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SledProvisionPolicyResponse {
    /// What it was.
    pub old_state: SledProvisionPolicy,
    /// What it is.
    pub new_state: SledProvisionPolicy,
}

/// An instance that a sled runs, as an operator sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SledInstance {
    /// The instance's id.
    pub id: Uuid,
    /// The instance's name.
    pub name: Name,
    /// The silo.
    pub silo_name: Name,
    /// The project.
    pub project_name: Name,
    /// The sled.
    pub active_sled_id: Uuid,
    /// The migration to another sled that is under way, if one is.
    pub migration_id: Option<Uuid>,
    /// What the instance is doing.
    pub state: InstanceState,
    /// The number of virtual CPUs.
    pub ncpus: i64,
    /// The memory, in bytes.
    pub memory: i64,
    /// When the instance was created.
    pub time_created: DateTime<Utc>,
    /// When the instance was last changed.
    pub time_modified: DateTime<Utc>,
}
