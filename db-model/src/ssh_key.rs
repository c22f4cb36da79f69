//! SSH keys of users, and the instances that are told of them.

use crate::schema::{instance_ssh_key, ssh_key};
use chrono::{DateTime, Utc};
use diesel::{Insertable, Queryable, Selectable};
use uuid::Uuid;

/// A public key by which a user can log in to instances.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = ssh_key)]
pub struct SshKey {
    pub id: Uuid,
    pub silo_user_id: Uuid,
    pub name: String,
    pub description: String,
    /// A line of an `authorized_keys` file.
    pub public_key: String,
    pub time_created: DateTime<Utc>,
    pub time_modified: DateTime<Utc>,
    pub time_deleted: Option<DateTime<Utc>>,
}

/// That an instance was made with a key. Fixed when the instance is made.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = instance_ssh_key)]
pub struct InstanceSshKey {
    pub instance_id: Uuid,
    pub ssh_key_id: Uuid,
}
