//! Instances, the VMMs that run them, and the migrations between those.

use crate::columns::text_enum;
use crate::schema::{instance, migration, vmm};
use chrono::{DateTime, Utc};
use diesel::{Insertable, Queryable, Selectable};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

text_enum! {
    /// The control plane's own view of an instance. What users see follows from it and from the
    /// active VMM's state.
    InstanceState {
        Creating => "creating",
        NoVmm => "no_vmm",
        Vmm => "vmm",
        Failed => "failed",
        Destroyed => "destroyed",
    }
}

/// An instance (a virtual machine).
#[derive(Clone, Debug, Queryable, Selectable, Insertable, Serialize, Deserialize)]
#[diesel(table_name = instance)]
pub struct Instance {
    pub id: Uuid,
    pub project_id: Uuid,
    pub silo_id: Uuid,
    pub name: String,
    pub description: String,
    pub hostname: String,
    pub ncpus: i32,
    /// Bytes.
    pub memory: i64,
    pub user_data: Vec<u8>,
    pub boot_disk_id: Option<Uuid>,
    pub auto_restart_policy: Option<String>,
    pub cpu_platform: Option<String>,
    pub state: InstanceState,
    pub time_state_updated: DateTime<Utc>,
    /// The saga that may take the instance out of `creating`, or that made its present VMM.
    pub saga_id: Option<Uuid>,
    pub active_vmm_id: Option<Uuid>,
    /// The VMM to which the instance is migrating.
    pub target_vmm_id: Option<Uuid>,
    pub migration_id: Option<Uuid>,
    pub time_created: DateTime<Utc>,
    pub time_modified: DateTime<Utc>,
    pub time_deleted: Option<DateTime<Utc>>,
}

text_enum! {
    /// The state of a VMM, as its sled reports it; `creating` until the sled has heard of it.
    VmmState {
        Creating => "creating",
        Starting => "starting",
        Running => "running",
        Stopping => "stopping",
        Stopped => "stopped",
        Rebooting => "rebooting",
        Migrating => "migrating",
        Failed => "failed",
        Destroyed => "destroyed",
    }
}

impl VmmState {
    /// Whether the VMM will never run again.
    pub fn is_terminal(self) -> bool {
        matches!(self, VmmState::Failed | VmmState::Destroyed)
    }
}

/// A process on a sled that runs an instance.
#[derive(Clone, Debug, Queryable, Selectable, Insertable, Serialize, Deserialize)]
#[diesel(table_name = vmm)]
pub struct Vmm {
    pub id: Uuid,
    pub instance_id: Uuid,
    pub sled_id: Uuid,
    pub ncpus: i32,
    /// Bytes.
    pub memory: i64,
    pub state: VmmState,
    /// Grows with each change of state; an older report never replaces a newer one.
    pub generation: i64,
    /// The saga that made it.
    pub saga_id: Uuid,
    pub time_created: DateTime<Utc>,
    pub time_state_updated: DateTime<Utc>,
    pub time_deleted: Option<DateTime<Utc>>,
}

text_enum! {
    /// How far one side of a migration is.
    MigrationState {
        Pending => "pending",
        InProgress => "in_progress",
        Failed => "failed",
        Completed => "completed",
    }
}

impl MigrationState {
    /// Whether this side has nothing more to do.
    pub fn is_terminal(self) -> bool {
        matches!(self, MigrationState::Failed | MigrationState::Completed)
    }
}

/// A live migration, as its two sides report it.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = migration)]
pub struct Migration {
    pub id: Uuid,
    pub instance_id: Uuid,
    pub source_vmm_id: Uuid,
    pub source_state: MigrationState,
    pub source_generation: i64,
    pub target_vmm_id: Uuid,
    pub target_state: MigrationState,
    pub target_generation: i64,
    pub time_created: DateTime<Utc>,
    pub time_deleted: Option<DateTime<Utc>>,
}
