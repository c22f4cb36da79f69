//! Background tasks.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;

/// A task that a Nexus runs from time to time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BackgroundTask {
    /// The task's name.
    pub name: String,
    /// What the task does.
    pub description: String,
    /// How long it waits until it runs again, if nothing makes it run before.
    pub period: Duration,
    /// What it is doing.
    pub current: CurrentStatus,
    /// How it ended when it last ran.
    pub last: LastResult,
}

/// What a background task is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "current_status", content = "details", rename_all = "snake_case")]
pub enum CurrentStatus {
    /// It waits.
    Idle,
    /// It runs.
    Running(CurrentStatusRunning),
}

/// A run of a background task that has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CurrentStatusRunning {
    /// When it began.
    pub start_time: DateTime<Utc>,
    /// Why it began.
    pub reason: ActivationReason,
    /// Which run it is, counted from the start of this Nexus.
    pub iteration: u64,
}

/// Why a background task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActivationReason {
    /// Something asked for it.
    Signaled,
    /// Its time had come.
    Timeout,
    /// Something that it depends on changed.
    Dependency,
}

/// How a background task ended when it last ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "last_result", content = "details", rename_all = "snake_case")]
pub enum LastResult {
    /// It has not run yet.
    NeverCompleted,
    /// It ended.
    Completed(LastResultCompleted),
}

/// A run of a background task that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LastResultCompleted {
    /// Which run it was, counted from the start of this Nexus.
    pub iteration: u64,
    /// When it began.
    pub start_time: DateTime<Utc>,
    /// Why it began.
    pub reason: ActivationReason,
    /// How long it took.
    pub elapsed: Duration,
    /// What it says of what it did; each task has a form of its own.
    pub details: Value,
}

/// Which background tasks to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackgroundTasksActivateRequest {
    /// Their names.
    pub bgtask_names: BTreeSet<String>,
}
