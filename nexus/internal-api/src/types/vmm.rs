//! What VMMs are doing.

use super::Generation;
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use uuid::Uuid;

/// What a sled agent says of one of its VMMs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SledVmmState {
    /// What the VMM is doing.
    pub vmm_state: VmmRuntimeState,
    /// The migration that brings the instance to this VMM, if there is one.
    pub migration_in: Option<MigrationRuntimeState>,
    /// The migration that takes the instance away from this VMM, if there is one.
    pub migration_out: Option<MigrationRuntimeState>,
}

/// What a VMM is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VmmRuntimeState {
    /// What it is doing.
    pub state: VmmState,
    /// The generation of this state.
    #[serde(rename = "gen")]
    pub generation: Generation,
    /// When the state was reached.
    pub time_updated: DateTime<Utc>,
}

/// The states of a VMM, as its sled agent knows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VmmState {
    /// It is being started.
    Starting,
    /// It runs.
    Running,
    /// It is being stopped.
    Stopping,
    /// It no longer runs.
    Stopped,
    /// It is being rebooted.
    Rebooting,
    /// Its instance is being moved here.
    Migrating,
    /// It has failed.
    Failed,
    /// It no longer exists.
    Destroyed,
}

impl fmt::Display for VmmState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            VmmState::Starting => "starting",
            VmmState::Running => "running",
            VmmState::Stopping => "stopping",
            VmmState::Stopped => "stopped",
            VmmState::Rebooting => "rebooting",
            VmmState::Migrating => "migrating",
            VmmState::Failed => "failed",
            VmmState::Destroyed => "destroyed",
        })
    }
}

/// How one side of a migration is getting on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MigrationRuntimeState {
    /// The migration.
    pub migration_id: Uuid,
    /// How it is getting on.
    pub state: MigrationState,
    /// The generation of this state.
    #[serde(rename = "gen")]
    pub generation: Generation,
    /// When the state was reached.
    pub time_updated: DateTime<Utc>,
}

/// The states of one side of a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MigrationState {
    /// It has not begun.
    Pending,
    /// It is on its way.
    InProgress,
    /// It did not succeed: the instance is where it was.
    Failed,
    /// It succeeded.
    Completed,
}
