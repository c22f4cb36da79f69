//! Disks.

use super::base64_bytes;
use super::{IdentityMetadata, IdentityMetadataCreateParams};
use nexus_common::{ByteCount, Name};
use schemars::JsonSchema;
use schemars::r#gen::SchemaGenerator;
use schemars::schema::{InstanceType, Metadata, Schema, SchemaObject};
use serde::{Deserialize, Serialize};
use std::fmt;
use uuid::Uuid;

/// A virtual disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    pub block_size: BlockSize,
    /// Whether the disk is attached, and what else can be done with it.
    pub state: DiskState,
    /// Where a guest finds the disk.
    pub device_path: String,
    /// Where the disk's blocks are kept.
    pub disk_type: DiskType,
    /// Whether the disk can only be read.
    pub read_only: bool,
}

/// The size of a disk's block, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub enum BlockSize {
    /// 512 bytes.
    Traditional,
    /// 2048 bytes.
    Iso,
    /// 4096 bytes.
    AdvancedFormat,
}

impl BlockSize {
    /// Every size that there is.
    const ALL: [BlockSize; 3] = [BlockSize::Traditional, BlockSize::Iso, BlockSize::AdvancedFormat];
}

impl From<BlockSize> for u32 {
    fn from(size: BlockSize) -> u32 {
        match size {
            BlockSize::Traditional => 512,
            BlockSize::Iso => 2048,
            BlockSize::AdvancedFormat => 4096,
        }
    }
}

impl TryFrom<u32> for BlockSize {
    type Error = String;
    fn try_from(n: u32) -> Result<Self, String> {
        let size = BlockSize::ALL.into_iter().find(|size| u32::from(*size) == n);
        size.ok_or_else(|| format!("invalid block size {n}: must be 512, 2048 or 4096"))
    }
}

impl JsonSchema for BlockSize {
    fn schema_name() -> String {
        "BlockSize".to_string()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        SchemaObject {
            metadata: Some(Box::new(Metadata {
                description: Some("The size of a disk's block, in bytes.".to_string()),
                ..Default::default()
            })),
            instance_type: Some(InstanceType::Integer.into()),
            enum_values: Some(BlockSize::ALL.map(|size| u32::from(size).into()).to_vec()),
            ..Default::default()
        }
        .into()
    }
}

/// Where a disk's blocks are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiskType {
    /// On several sleds, so that the disk survives the loss of one.
    Distributed,
    /// On the sled where the instance runs.
    Local,
}

/// The state of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", content = "instance", rename_all = "snake_case")]
pub enum DiskState {
    /// It is being made.
    Creating,
    /// It can be attached or deleted.
    Detached,
    /// It waits for its content.
    ImportReady,
    /// Its content is being fetched from elsewhere.
    ImportingFromUrl,
    /// Its content is being written by a client.
    ImportingFromBulkWrites,
    /// Its content is complete and is being made available.
    Finalizing,
    /// It is out of service for a while.
    Maintenance,
    /// It is being attached to this instance.
    Attaching(Uuid),
    /// It is attached to this instance.
    Attached(Uuid),
    /// It is being detached from this instance.
    Detaching(Uuid),
    /// It was deleted.
    Destroyed,
    /// It does not work.
    Faulted,
}

impl fmt::Display for DiskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DiskState::Creating => "creating",
            DiskState::Detached => "detached",
            DiskState::ImportReady => "import_ready",
            DiskState::ImportingFromUrl => "importing_from_url",
            DiskState::ImportingFromBulkWrites => "importing_from_bulk_writes",
            DiskState::Finalizing => "finalizing",
            DiskState::Maintenance => "maintenance",
            DiskState::Attaching(_) => "attaching",
            DiskState::Attached(_) => "attached",
            DiskState::Detaching(_) => "detaching",
            DiskState::Destroyed => "destroyed",
            DiskState::Faulted => "faulted",
        })
    }
}

/// A disk to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiskCreate {
    #[serde(flatten)]
    pub identity: IdentityMetadataCreateParams,
    /// Where the disk's blocks are kept, and what is in them at first.
    pub disk_backend: DiskBackend,
    /// The size.
    pub size: ByteCount,
}

/// A piece of a disk's content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportBlocksBulkWrite {
    /// Where it goes, in bytes from the beginning of the disk: a multiple of the block size.
    pub offset: u64,
    /// The data, encoded in Base64. At most 512 KiB before encoding, in whole blocks.
    #[serde(with = "base64_bytes")]
    #[schemars(schema_with = "base64_bytes::schema")]
    pub base64_encoded_data: Vec<u8>,
}

/// How to end the import of a disk's content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FinalizeDisk {
    /// The name of a snapshot to make of the disk. Absent or `null`: none is made.
    pub snapshot_name: Option<Name>,
}

/// Where a new disk's blocks are kept, and what is in them at first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum DiskBackend {
    /// On the sled where the instance runs. Such a disk is blank at first, with blocks of 4096
    /// bytes.
    Local,
    /// On several sleds, so that the disk survives the loss of one.
    Distributed {
        /// What is on the disk at first.
        disk_source: DiskSource,
    },
}

/// What is on a new disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum DiskSource {
    /// Nothing.
    Blank {
        /// The size of a block.
        block_size: BlockSize,
    },
    /// The content of a snapshot.
    Snapshot {
        /// The snapshot.
        snapshot_id: Uuid,
        /// Whether the disk can only be read.
        #[serde(default)]
        read_only: bool,
    },
    /// The content of an image.
    Image {
        /// The image.
        image_id: Uuid,
        /// Whether the disk can only be read.
        #[serde(default)]
        read_only: bool,
    },
    /// What a client will write to it before it can be attached.
    ImportingBlocks {
        /// The size of a block.
        block_size: BlockSize,
    },
}
