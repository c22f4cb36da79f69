//! Silos.

use super::{IdentityMetadata, IdentityMetadataCreateParams};
use nexus_common::{ByteCount, Name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

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

/// A silo to create.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct SiloCreate {
    #[serde(flatten)]
    pub identity: IdentityMetadataCreateParams,
    /// Whether the silo is shown in lists.
    #[serde(default = "SiloCreate::default_discoverable")]
    pub discoverable: bool,
    /// Where the silo's users come from and how they log in. Only `local_only` is supported.
    pub identity_mode: SiloIdentityMode,
    /// A group to create, whose members administer the silo.
    pub admin_group_name: Option<String>,
    /// How much the silo may use.
    pub quotas: SiloQuotasCreate,
    /// Certificates with which the silo's own endpoint answers. None are supported.
    pub tls_certificates: Vec<CertificateCreate>,
    /// For each role in the silo, the roles in the fleet that come with it.
    #[serde(default)]
    pub mapped_fleet_roles: BTreeMap<SiloRole, BTreeSet<FleetRole>>,
}

impl SiloCreate {
    fn default_discoverable() -> bool {
        true
    }
}

/// How much a new silo may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SiloQuotasCreate {
    /// Virtual CPUs of running instances.
    pub cpus: i64,
    /// Memory of running instances.
    pub memory: ByteCount,
    /// Disks and snapshots.
    pub storage: ByteCount,
}

/// A certificate with which an endpoint is to answer.
#[derive(Clone, Deserialize, JsonSchema)]
pub struct CertificateCreate {
    #[serde(flatten)]
    pub identity: IdentityMetadataCreateParams,
    /// PEM of the certificate chain.
    pub cert: String,
    /// PEM of the private key.
    pub key: String,
    /// The endpoint.
    pub service: ServiceUsingCertificate,
}

/// The key is a secret.
impl fmt::Debug for CertificateCreate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertificateCreate")
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}

/// An endpoint that answers with a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServiceUsingCertificate {
    /// The external API.
    ExternalApi,
}

/// A silo, as the path of a login names it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct LoginPath {
    /// The silo's name
    pub silo_name: Name,
}
