//! Silos.

use super::IdentityMetadata;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A tenant of the rack: a world of users, projects and policies of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Silo {
    #[serde(flatten)]
    pub identity: IdentityMetadata,
    /// Whether the silo is shown in lists.
    pub discoverable: bool,
    /// Where the silo's users come from and how they log in.
    pub identity_mode: SiloIdentityMode,
    /// The group whose members administer the silo, if one was named at its creation.
    pub admin_group_name: Option<String>,
    /// For each role in the silo, the roles in the fleet that come with it.
    pub mapped_fleet_roles: BTreeMap<SiloRole, BTreeSet<FleetRole>>,
}

/// Where a silo's users come from and how they log in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SiloIdentityMode {
    /// Users log in through SAML and are created when they first do.
    SamlJit,
    /// The system itself keeps users and passwords.
    LocalOnly,
    /// Users log in through SAML and are created and removed through SCIM.
    SamlScim,
}

/// A role in a silo.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SiloRole {
    Admin,
    Collaborator,
    LimitedCollaborator,
    Viewer,
}

/// A role in the fleet.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FleetRole {
    Admin,
    Collaborator,
    Viewer,
}
