//! Images: what disks are made from.

use super::{BlockSize, IdentityMetadata, IdentityMetadataCreateParams};
use nexus_common::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Content that disks can be made from. It belongs to a project, or is open to the whole silo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Image {
    #[serde(flatten)]
    pub identity: IdentityMetadata,
    /// The project that the image belongs to; none if it is open to the whole silo.
    pub project_id: Option<Uuid>,
    /// The family of operating systems, such as `debian`.
    pub os: String,
    /// The version of the operating system.
    pub version: String,
    /// The hash of the content, if it is known.
    pub digest: Option<Digest>,
    /// The size of a block.
    pub block_size: BlockSize,
    /// The size.
    pub size: ByteCount,
}

/// A hash of an image's content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
pub enum Digest {
    /// SHA-256, in hexadecimal digits.
    Sha256(String),
}

/// An image to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImageCreate {
    #[serde(flatten)]
    pub identity: IdentityMetadataCreateParams,
    /// The family of operating systems, such as `debian`. At most 64 characters.
    pub os: String,
    /// The version of the operating system. At most 64 characters.
    pub version: String,
    /// Where the content comes from.
    pub source: ImageSource,
}

/// Where an image's content comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ImageSource {
    /// A snapshot.
    Snapshot {
        /// The snapshot.
        id: Uuid,
    },
    /// The Alpine Linux that comes with the system. Clients of old versions know it.
    YouCanBootAnythingAsLongAsItsAlpine,
}
