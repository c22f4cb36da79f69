//! Silos, their users, and what those may do.

use crate::columns::text_enum;
use crate::schema::{device_access_token, role_assignment, silo, silo_user};
use chrono::{DateTime, Utc};
use diesel::{Insertable, Queryable, Selectable};
use uuid::Uuid;

/// The id under which roles on the whole fleet are assigned.
pub const FLEET_ID: Uuid = Uuid::from_u128(0x001de000_1334_4000_8000_000000000000);

/// A tenant: users and projects that see nothing of those of other silos.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = silo)]
pub struct Silo {
    pub id: Uuid,
    pub name: String,
    pub description: String,
    pub time_created: DateTime<Utc>,
    pub time_modified: DateTime<Utc>,
    pub time_deleted: Option<DateTime<Utc>>,
}

/// A user of a silo.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = silo_user)]
pub struct SiloUser {
    pub id: Uuid,
    pub silo_id: Uuid,
    /// The name by which the user logs in.
    pub external_id: String,
    /// A PHC string (argon2id); none if the user may not log in with a password.
    pub password_hash: Option<String>,
    pub time_created: DateTime<Utc>,
    pub time_modified: DateTime<Utc>,
    pub time_deleted: Option<DateTime<Utc>>,
}

text_enum! {
    /// What a role is held on.
    ResourceKind {
        Fleet => "fleet",
        Silo => "silo",
        Project => "project",
    }
}

text_enum! {
    /// A role, from the least to the most that one may do.
    Role {
        Viewer => "viewer",
        LimitedCollaborator => "limited_collaborator",
        Collaborator => "collaborator",
        Admin => "admin",
    }
}

text_enum! {
    /// Who holds a role.
    IdentityType {
        SiloUser => "silo_user",
        SiloGroup => "silo_group",
    }
}

/// One role of one identity on one object.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = role_assignment)]
pub struct RoleAssignment {
    pub resource_type: ResourceKind,
    pub resource_id: Uuid,
    pub role_name: Role,
    pub identity_type: IdentityType,
    pub identity_id: Uuid,
}

/// An API token; only its SHA-256 is kept.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = device_access_token)]
pub struct DeviceAccessToken {
    pub id: Uuid,
    pub silo_user_id: Uuid,
    pub token_hash: Vec<u8>,
    pub time_created: DateTime<Utc>,
    pub time_expires: Option<DateTime<Utc>>,
}
