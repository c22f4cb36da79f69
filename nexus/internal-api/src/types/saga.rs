//! Sagas.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

/// A saga: an operation of several steps that is finished, or undone, whatever happens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Saga {
    /// The saga's id.
    pub id: Uuid,
    /// How it is getting on.
    pub state: SagaState,
    /// What kind of operation it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The Nexus that executes it; none once it is finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Uuid>,
    /// The steps that have begun and not ended, by their names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_nodes: Option<Vec<String>>,
    /// When it was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_created: Option<DateTime<Utc>>,
}

/// How a saga is getting on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SagaState {
    /// It is being executed, forward or back.
    Running,
    /// All of it was done.
    Succeeded,
    /// A step failed, and everything before it was undone.
    Failed {
        /// The step that failed.
        error_node_name: NodeName,
        /// Why.
        error_info: SagaErrorInfo,
    },
    /// A step failed, and something before it could not be undone. It takes an operator.
    Stuck {
        /// The step that failed.
        error_node_name: NodeName,
        /// Why.
        error_info: SagaErrorInfo,
        /// The step that could not be undone.
        undo_error_node_name: NodeName,
        /// Why.
        undo_source_error: Value,
    },
}

/// Why a step of a saga failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "error", rename_all = "snake_case")]
pub enum SagaErrorInfo {
    /// The step itself says so.
    ActionFailed {
        /// In these words.
        source_error: Value,
    },
    /// What a step before it had put down could not be read.
    DeserializeFailed {
        /// What went wrong.
        message: String,
    },
    /// A test made it fail.
    InjectedError,
    /// What it did could not be put down.
    SerializeFailed {
        /// What went wrong.
        message: String,
    },
    /// A saga within the saga could not be made.
    SubsagaCreateFailed {
        /// What went wrong.
        message: String,
    },
}

/// The name of a step of a saga.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeName(pub String);
