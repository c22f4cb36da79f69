//! Policies: who holds which role on the fleet, on a silo or on a project.

use super::{FleetRole, SiloRole};
use nexus_common::bounded::at_most;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use uuid::Uuid;

/// The most roles that may be assigned on one object.
pub const ROLE_ASSIGNMENTS_MAX: usize = 64;

/// A role in a project.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ProjectRole {
    Admin,
    Collaborator,
    LimitedCollaborator,
    Viewer,
}

/// Who holds a role.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum IdentityType {
    SiloUser,
    SiloGroup,
}

/// One role that one user or group holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{R}RoleAssignment")]
pub struct RoleAssignment<R> {
    pub identity_type: IdentityType,
    pub identity_id: Uuid,
    pub role_name: R,
}

/// All roles that are held on one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{R}Policy")]
#[serde(bound(deserialize = "R: Deserialize<'de>"))]
pub struct Policy<R> {
    /// Who holds which role. At most 64.
    #[serde(deserialize_with = "at_most_64")]
    pub role_assignments: Vec<RoleAssignment<R>>,
}

/// The roles on the fleet.
pub type FleetRolePolicy = Policy<FleetRole>;
/// The roles on a silo.
pub type SiloRolePolicy = Policy<SiloRole>;
/// The roles on a project.
pub type ProjectRolePolicy = Policy<ProjectRole>;

fn at_most_64<'de, D, R>(deserializer: D) -> Result<Vec<RoleAssignment<R>>, D::Error>
where
    D: Deserializer<'de>,
    R: Deserialize<'de>,
{
    at_most(deserializer, ROLE_ASSIGNMENTS_MAX, "role assignments")
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_policy_has_a_bound() {
        let one = r#"{"identity_type":"silo_user","identity_id":
            "00000000-0000-0000-0000-000000000001","role_name":"viewer"}"#;
        let policy = |n: usize| format!("{{\"role_assignments\":[{}]}}", vec![one; n].join(","));
        let read = |n| serde_json::from_str::<ProjectRolePolicy>(&policy(n));
        assert_eq!(read(64).expect("64 are allowed").role_assignments.len(), 64);
        let error = read(65).expect_err("65 are not").to_string();
        let expected = "invalid length 65, expected a list of at most 64 role assignments";
        assert!(error.starts_with(expected), "{error}");
    }
}
