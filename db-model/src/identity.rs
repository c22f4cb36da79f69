//! Silos, their users, and what those may do.

use crate::columns::text_enum;
use crate::schema::{
    console_session, device_access_token, device_auth_request, role_assignment, silo, silo_group,
    silo_user, user_builtin,
};
use chrono::{DateTime, Utc};
use diesel::{Insertable, Queryable, Selectable};
use std::fmt;
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
    /// Whether the silo is shown in lists.
    pub discoverable: bool,
    /// The group whose members administer the silo.
    pub admin_group_name: Option<String>,
    /// For each role in the silo, by name, the names of the roles in the fleet that come with it.
    pub mapped_fleet_roles: serde_json::Value,
    /// Seconds that a token of the silo's users may live at most.
    pub device_token_max_ttl_seconds: Option<i64>,
}

/// A user of a silo.
#[derive(Clone, Queryable, Selectable, Insertable)]
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

/// The hash of a password is a secret.
impl fmt::Debug for SiloUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SiloUser")
            .field("id", &self.id)
            .field("silo_id", &self.silo_id)
            .field("external_id", &self.external_id)
            .finish_non_exhaustive()
    }
}

/// Users of a silo who hold roles together.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = silo_group)]
pub struct SiloGroup {
    pub id: Uuid,
    pub silo_id: Uuid,
    /// The group's name.
    pub external_id: String,
    pub time_created: DateTime<Utc>,
    pub time_modified: DateTime<Utc>,
    pub time_deleted: Option<DateTime<Utc>>,
}

/// The system itself, where it acts as somebody.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = user_builtin)]
pub struct UserBuiltin {
    pub id: Uuid,
    pub name: String,
    pub description: String,
    pub time_created: DateTime<Utc>,
    pub time_modified: DateTime<Utc>,
}

/// A person who has logged in with a browser; only the SHA-256 of the cookie's token is kept.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = console_session)]
pub struct ConsoleSession {
    pub id: Uuid,
    pub silo_user_id: Uuid,
    pub token_hash: Vec<u8>,
    pub time_created: DateTime<Utc>,
    pub time_last_used: DateTime<Utc>,
}

/// A program that waits for a person to let it in; only the SHA-256 of its code is kept.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = device_auth_request)]
pub struct DeviceAuthRequest {
    /// What the person types.
    pub user_code: String,
    pub device_code_hash: Vec<u8>,
    pub client_id: Uuid,
    /// Seconds that the program wants its token to live.
    pub token_ttl_seconds: Option<i64>,
    pub time_created: DateTime<Utc>,
    /// When it is too late to let the program in.
    pub time_expires: DateTime<Utc>,
    /// Who let the program in.
    pub silo_user_id: Option<Uuid>,
    /// When the program's token expires, decided when it was let in.
    pub token_time_expires: Option<DateTime<Utc>>,
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
