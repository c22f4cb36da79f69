//! Affinity groups and external subnets, of which there are none: they cannot be made here, and
//! clients that look for them find empty lists.

use super::IdentityMetadata;
use oxnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// What becomes of an instance whose group cannot be honoured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AffinityPolicy {
    /// It is started elsewhere.
    Allow,
    /// It is not started.
    Fail,
}

/// What members of a group share, or do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureDomain {
    /// A sled.
    Sled,
}

/// Instances that are to run in one failure domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AffinityGroup {
    #[serde(flatten)]
    pub identity: IdentityMetadata,
    /// The project that owns the group.
    pub project_id: Uuid,
    pub policy: AffinityPolicy,
    pub failure_domain: FailureDomain,
}

/// Instances that are to run in different failure domains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AntiAffinityGroup {
    #[serde(flatten)]
    pub identity: IdentityMetadata,
    /// The project that owns the group.
    pub project_id: Uuid,
    pub policy: AffinityPolicy,
    pub failure_domain: FailureDomain,
}

/// A network of external addresses that a project owns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalSubnet {
    #[serde(flatten)]
    pub identity: IdentityMetadata,
    /// The project that owns the subnet.
    pub project_id: Uuid,
    /// The addresses.
    pub subnet: IpNet,
    /// The pool that the subnet is of.
    pub subnet_pool_id: Uuid,
    /// The part of the pool that the subnet is of.
    pub subnet_pool_member_id: Uuid,
    /// The instance that the subnet is attached to, if it is.
    pub instance_id: Option<Uuid>,
}
