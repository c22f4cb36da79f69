//! What a VMM is asked to do, and what it answers.

use nexus_internal_api::types::SledVmmState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use uuid::Uuid;

/// A VMM.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub struct VmmPath {
    /// The VMM's id
    pub propolis_id: Uuid,
}

/// A VPC.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub struct VpcPath {
    /// The VPC's id
    pub vpc_id: Uuid,
}

/// What a VMM is to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VmmPutStateBody {
    /// The state that it is to reach
    pub state: VmmStateRequested,
}

/// A state that a VMM is to reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
pub enum VmmStateRequested {
    /// It takes over the instance from another VMM
    MigrationTarget(InstanceMigrationTargetParams),
    /// It boots the instance
    Running,
    /// It stops the instance and itself
    Stopped,
    /// It boots the instance once more
    Reboot,
}

/// The VMM from which another takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstanceMigrationTargetParams {
    /// Where it listens
    #[schemars(with = "String")]
    pub src_propolis_addr: SocketAddr,
}

/// How far a VMM came with what it was asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VmmPutStateResponse {
    /// Its state now; none if that is not known yet
    pub updated_runtime: Option<SledVmmState>,
}

/// What became of a VMM that was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VmmUnregisterResponse {
    /// Its last state; none if there was no such VMM
    pub updated_runtime: Option<SledVmmState>,
}
