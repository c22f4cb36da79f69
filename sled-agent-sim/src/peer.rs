//! What a sled asks another about an instance that is to come from there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use uuid::Uuid;

/// The path of a control port that answers a [`MigrationRequest`].
pub const MIGRATION_PATH: &str = "/sim/migrations";

/// What the target of a migration wants of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MigrationRequest {
    /// The migration.
    pub migration_id: Uuid,
    /// The instance.
    pub instance_id: Uuid,
    /// Where the VMM listens that has the instance.
    #[schemars(with = "String")]
    pub propolis_addr: SocketAddr,
    /// What is wanted.
    pub wanted: Wanted,
}

/// What the target of a migration wants of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    /// The instance, soon. It is said again and again until it is handed over.
    Prepare,
    /// The instance, now.
    HandOver,
    /// Nothing any more.
    Keep,
}
