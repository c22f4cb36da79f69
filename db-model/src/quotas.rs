//! What a silo may use.

use crate::schema::silo_quotas;
use chrono::{DateTime, Utc};
use diesel::{Insertable, Queryable, Selectable};
use uuid::Uuid;

/// The most that a silo's instances and disks may use together. A silo without a row has no
/// limits.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = silo_quotas)]
pub struct SiloQuotas {
    pub silo_id: Uuid,
    /// Virtual CPUs of instances that run.
    pub cpus: i64,
    /// Bytes of memory of instances that run.
    pub memory: i64,
    /// Bytes of disks and snapshots.
    pub storage: i64,
    pub time_created: DateTime<Utc>,
    pub time_modified: DateTime<Utc>,
}
