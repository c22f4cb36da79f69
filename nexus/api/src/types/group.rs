//! Groups of users.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A group of a silo's users.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// The group's id.
    pub id: Uuid,
    /// What to call the group.
    pub display_name: String,
    /// The silo to which the group belongs.
    pub silo_id: Uuid,
    /// When the group was created.
    pub time_created: DateTime<Utc>,
    /// When the group was last changed.
    pub time_modified: DateTime<Utc>,
}
