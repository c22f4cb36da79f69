//! What disks are made from: snapshots and images. Like disks, they are records, with no storage
//! behind them.

use crate::schema::{image, snapshot};
use chrono::{DateTime, Utc};
use diesel::{Insertable, Queryable, Selectable};
use uuid::Uuid;

/// A disk as it was at some time.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = snapshot)]
pub struct Snapshot {
    pub id: Uuid,
    pub project_id: Uuid,
    pub name: String,
    pub description: String,
    /// The disk, which may be gone by now.
    pub disk_id: Uuid,
    /// Bytes.
    pub size: i64,
    /// Bytes.
    pub block_size: i32,
    pub time_created: DateTime<Utc>,
    pub time_modified: DateTime<Utc>,
    pub time_deleted: Option<DateTime<Utc>>,
}

/// Content that disks can be made from: a project's own, or open to a whole silo.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = image)]
pub struct Image {
    pub id: Uuid,
    pub silo_id: Uuid,
    /// None for an image of the silo.
    pub project_id: Option<Uuid>,
    pub name: String,
    pub description: String,
    pub os: String,
    pub version: String,
    /// Bytes.
    pub size: i64,
    /// Bytes.
    pub block_size: i32,
    pub time_created: DateTime<Utc>,
    pub time_modified: DateTime<Utc>,
    pub time_deleted: Option<DateTime<Utc>>,
}
