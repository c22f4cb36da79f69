//! Instances, as an operator deals with them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Where to move an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstanceMigrateRequest {
    /// The sled on which the instance is to run.
    pub dst_sled_id: Uuid,
}
