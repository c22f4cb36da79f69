//! Snapshots of disks.

use super::{IdentityMetadata, IdentityMetadataCreateParams};
use nexus_common::{ByteCount, NameOrId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A disk as it was at some time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    #[serde(flatten)]
    pub identity: IdentityMetadata,
    /// The project that owns the snapshot.
    pub project_id: Uuid,
    /// The disk, which may have been deleted since.
    pub disk_id: Uuid,
    /// What can be done with the snapshot.
    pub state: SnapshotState,
    /// The size.
    pub size: ByteCount,
}

/// The state of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SnapshotState {
    /// It is being made.
    Creating,
    /// Disks and images can be made from it.
    Ready,
    /// It does not work.
    Faulted,
    /// It was deleted.
    Destroyed,
}

/// A snapshot to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotCreate {
    #[serde(flatten)]
    pub identity: IdentityMetadataCreateParams,
    /// The name or id of a disk of the same project.
    pub disk: NameOrId,
}
