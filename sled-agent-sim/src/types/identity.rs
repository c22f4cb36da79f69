//! What a sled is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// What identifies a sled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SledIdentifiers {
    /// The rack that it is in
    pub rack_id: Uuid,
    /// Its id
    pub sled_id: Uuid,
    /// Its model
    pub model: String,
    /// The model's revision
    pub revision: u32,
    /// Its serial number
    pub serial: String,
}
