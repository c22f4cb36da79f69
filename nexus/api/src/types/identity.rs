//! What every named resource has in common.

use chrono::{DateTime, Utc};
use nexus_common::Name;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The fields that a client sees of every named resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdentityMetadata {
    /// The resource's id. The system chooses it; it never changes and is never used again.
    pub id: Uuid,
    /// The resource's name. Its owner chooses it and may change it.
    pub name: Name,
    /// Free text about the resource.
    pub description: String,
    /// When the resource was created.
    pub time_created: DateTime<Utc>,
    /// When the resource was last changed.
    pub time_modified: DateTime<Utc>,
}

/// A resource that has a name and an id, as listings need them to say where they go on.
pub trait HasIdentity {
    /// The resource's identity.
    fn identity(&self) -> &IdentityMetadata;
}

macro_rules! has_identity {
    ($($resource:ident),+ $(,)?) => {
        $(impl HasIdentity for super::$resource {
            fn identity(&self) -> &IdentityMetadata {
                &self.identity
            }
        })+
    };
}

has_identity!(
    AffinityGroup,
    AntiAffinityGroup,
    Disk,
    ExternalSubnet,
    FloatingIp,
    Image,
    Instance,
    InstanceNetworkInterface,
    IpPool,
    Project,
    Silo,
    SiloIpPool,
    Snapshot,
    SshKey,
    UserBuiltin,
    Vpc,
    VpcSubnet,
);

/// The fields that a client gives to every named resource that it creates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdentityMetadataCreateParams {
    pub name: Name,
    /// Free text about the resource, at most 512 characters.
    pub description: String,
}

/// The fields that a client may change of every named resource. What is absent stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdentityMetadataUpdateParams {
    pub name: Option<Name>,
    /// Free text about the resource, at most 512 characters.
    pub description: Option<String>,
}
