//! Projects.

use super::{IdentityMetadata, IdentityMetadataCreateParams, IdentityMetadataUpdateParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A project: instances, their disks and networks, and floating IPs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Project {
    #[serde(flatten)]
    pub identity: IdentityMetadata,
}

/// A project to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectCreate {
    #[serde(flatten)]
    pub identity: IdentityMetadataCreateParams,
    /// What to create in the new project. Absent or `null`: everything that a new project
    /// usually has, which is the VPC `default` with its subnet `default`. An object: only what it
    /// names; `{}` leaves the project empty.
    ///
    /// `{"vpc": {"type": "explicit", "defaults": {}}}`, for example, creates the VPC without the
    /// subnet.
    #[serde(default)]
    pub defaults: Option<ProjectCreateDefaults>,
}

impl ProjectCreate {
    /// Whether the VPC `default` is wanted, and what in it; none if it is not.
    pub fn default_vpc(&self) -> Option<VpcCreateDefaults> {
        match &self.defaults {
            None => Some(VpcCreateDefaults::ALL),
            Some(defaults) => match &defaults.vpc {
                None => None,
                Some(VpcCreateDefaultsSelection::All) => Some(VpcCreateDefaults::ALL),
                Some(VpcCreateDefaultsSelection::Explicit(vpc)) => Some(*vpc),
            },
        }
    }
}

/// What to create in a new project. What is absent or `null` is not created.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectCreateDefaults {
    /// The VPC `default`: with all that a new VPC usually has (`{"type": "all"}`), or only with
    /// what is named (`{"type": "explicit", "defaults": {…}}`).
    #[serde(default)]
    pub vpc: Option<VpcCreateDefaultsSelection>,
}

/// Which of a new VPC's usual contents to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "defaults", rename_all = "snake_case", deny_unknown_fields)]
pub enum VpcCreateDefaultsSelection {
    /// All of them.
    All,
    /// Only those that are named.
    Explicit(VpcCreateDefaults),
}

/// What to create in a new VPC. What is absent or `null` is not created. A VPC's system router
/// and internet gateway are not a matter of choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VpcCreateDefaults {
    /// The subnet `default`; `{}` to have it.
    #[serde(default)]
    pub subnet: Option<SubnetCreateDefaults>,
}

impl VpcCreateDefaults {
    /// All that a new VPC usually has.
    pub const ALL: VpcCreateDefaults = VpcCreateDefaults { subnet: Some(SubnetCreateDefaults {}) };
}

/// What to create in a new subnet: nothing, so far. That it is given at all asks for the subnet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubnetCreateDefaults {}

/// What to change of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectUpdate {
    #[serde(flatten)]
    pub identity: IdentityMetadataUpdateParams,
}

#[cfg(test)]
mod test {
    use super::*;

    fn default_vpc(defaults: &str) -> Option<VpcCreateDefaults> {
        let body = format!(r#"{{"name":"p","description":""{defaults}}}"#);
        serde_json::from_str::<ProjectCreate>(&body).expect("a project").default_vpc()
    }

    #[test]
    fn a_project_has_everything_unless_told_otherwise() {
        let bare = Some(VpcCreateDefaults { subnet: None });
        let all = Some(VpcCreateDefaults::ALL);
        for (defaults, expected) in [
            ("", all),
            (r#","defaults":null"#, all),
            (r#","defaults":{}"#, None),
            (r#","defaults":{"vpc":null}"#, None),
            (r#","defaults":{"vpc":{"type":"all"}}"#, all),
            (r#","defaults":{"vpc":{"type":"explicit","defaults":{}}}"#, bare),
            (r#","defaults":{"vpc":{"type":"explicit","defaults":{"subnet":{}}}}"#, all),
        ] {
            assert_eq!(default_vpc(defaults), expected, "{defaults}");
        }
    }

    #[test]
    fn a_misspelt_default_is_refused() {
        for (bad, name) in [
            (r#"{"vcp":{}}"#, "vcp"),
            (r#"{"vpc":{"type":"all","default":{}}}"#, "default"),
            (r#"{"vpc":{"type":"explicit","defaults":{"subnets":{}}}}"#, "subnets"),
            (r#"{"vpc":{"type":"explicit","defaults":{"subnet":{"x":1}}}}"#, "x"),
        ] {
            let error = serde_json::from_str::<ProjectCreateDefaults>(bad).expect_err(bad);
            let error = error.to_string();
            let named = [format!("`{name}`"), format!("\"{name}\"")];
            assert!(named.iter().any(|name| error.contains(name)), "{error}");
        }
    }
}
