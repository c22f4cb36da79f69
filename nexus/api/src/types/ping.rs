//! The sign of life.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer of a server that can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ping {
    /// Whether the server works. Whoever reads this knows the answer already.
    pub status: PingStatus,
}

impl Ping {
    /// The only answer there is.
    pub const OK: Ping = Ping { status: PingStatus::Ok };
}

/// How a server that can answer is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PingStatus {
    Ok,
}
