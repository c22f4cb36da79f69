//! SSH keys of users.

use super::{IdentityMetadata, IdentityMetadataCreateParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A public key by which a user can log in to instances.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SshKey {
    #[serde(flatten)]
    pub identity: IdentityMetadata,
    /// The user whose key it is.
    pub silo_user_id: Uuid,
    /// The key, as a line of an `authorized_keys` file.
    pub public_key: String,
}

/// A public key to keep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SshKeyCreate {
    #[serde(flatten)]
    pub identity: IdentityMetadataCreateParams,
    /// The key, as a line of an `authorized_keys` file. At most 4096 characters.
    pub public_key: String,
}
