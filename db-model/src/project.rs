//! Projects, and the disks in them.

use crate::columns::text_enum;
use crate::schema::{disk, project};
use chrono::{DateTime, Utc};
use diesel::{Insertable, Queryable, Selectable};
use uuid::Uuid;

/// What a silo's users put instances, disks, VPCs and floating IPs into.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = project)]
pub struct Project {
    pub id: Uuid,
    pub silo_id: Uuid,
    pub name: String,
    pub description: String,
    pub time_created: DateTime<Utc>,
    pub time_modified: DateTime<Utc>,
    pub time_deleted: Option<DateTime<Utc>>,
}

text_enum! {
    /// Where a disk's blocks would be kept.
    DiskType {
        Distributed => "distributed",
        Local => "local",
    }
}

text_enum! {
    /// Whether a disk belongs to an instance, or waits for its content.
    DiskState {
        Detached => "detached",
        Attached => "attached",
        ImportReady => "import_ready",
        ImportingFromBulkWrites => "importing_from_bulk_writes",
    }
}

/// A disk: a record, with no storage behind it.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = disk)]
pub struct Disk {
    pub id: Uuid,
    pub project_id: Uuid,
    pub name: String,
    pub description: String,
    /// Bytes.
    pub size: i64,
    /// Bytes.
    pub block_size: i32,
    pub disk_type: DiskType,
    /// The image that the disk was made from.
    pub image_id: Option<Uuid>,
    /// The snapshot that the disk was made from.
    pub snapshot_id: Option<Uuid>,
    pub read_only: bool,
    pub state: DiskState,
    /// The instance to which the disk is attached.
    pub instance_id: Option<Uuid>,
    /// The disk's place among those of its instance.
    pub slot: Option<i16>,
    pub time_created: DateTime<Utc>,
    pub time_modified: DateTime<Utc>,
    pub time_deleted: Option<DateTime<Utc>>,
}
