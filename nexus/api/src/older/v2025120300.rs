//! Version 2025120300: disks on the sled where their instance runs.

use super::OlderView;
use super::v0_0_1::{InstanceNetworkInterfaceAttachment, in_bytes};
use super::v0_0_6::ExternalIpCreate;
use crate::types::{self, DiskState, DiskType, IdentityMetadata, InstanceDiskAttachment};
use dropshot::HttpError;
use nexus_common::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// An instance to create.
pub type InstanceCreate = super::InstanceCreate<
    ExternalIpCreate,
    InstanceNetworkInterfaceAttachment,
    InstanceDiskAttachment,
>;

/// A virtual disk.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Disk {
    #[serde(flatten)]
    pub identity: IdentityMetadata,
    /// The project that owns the disk.
    pub project_id: Uuid,
    /// The snapshot that the disk was made from, if it was.
    pub snapshot_id: Option<Uuid>,
    /// The image that the disk was made from, if it was.
    pub image_id: Option<Uuid>,
    /// The size.
    pub size: ByteCount,
    /// The size of a block.
    pub block_size: ByteCount,
    /// Whether the disk is attached, and what else can be done with it.
    pub state: DiskState,
    /// Where a guest finds the disk.
    pub device_path: String,
    /// Where the disk's blocks are kept.
    pub disk_type: DiskType,
    /// Whether the disk can only be read.
    pub read_only: bool,
}

impl OlderView<types::Disk> for Disk {
    fn of(newest: types::Disk) -> Result<Self, HttpError> {
        Ok(Disk {
            identity: newest.identity,
            project_id: newest.project_id,
            snapshot_id: newest.snapshot_id,
            image_id: newest.image_id,
            size: newest.size,
            block_size: in_bytes(newest.block_size),
            state: newest.state,
            device_path: newest.device_path,
            disk_type: newest.disk_type,
            read_only: newest.read_only,
        })
    }
}
