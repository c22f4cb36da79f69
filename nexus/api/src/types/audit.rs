//! The audit log.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use uuid::Uuid;

/// A request that may have changed something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditLogEntry {
    /// The entry's id.
    pub id: Uuid,
    /// The request's id, which its answer and the log have, too.
    pub request_id: String,
    /// The path and the query of the request; long ones are cut off.
    pub request_uri: String,
    /// The operation.
    pub operation_id: String,
    /// Where the request came from.
    pub source_ip: IpAddr,
    /// What the program that made the request says of itself.
    pub user_agent: Option<String>,
    /// Who asked.
    pub actor: AuditLogEntryActor,
    /// How they showed who they are.
    pub auth_method: Option<AuthMethod>,
    /// The token or the session that the request came with. It is no credential itself.
    pub credential_id: Option<Uuid>,
    /// When the request came.
    pub time_started: DateTime<Utc>,
    /// When it was answered.
    pub time_completed: DateTime<Utc>,
    /// What came of it.
    pub result: AuditLogEntryResult,
}

/// How somebody showed who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuthMethod {
    /// With the cookie of a session.
    SessionCookie,
    /// With an API token.
    AccessToken,
    /// With the token of an identity provider. There are none here.
    ScimToken,
}

/// Who made a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AuditLogEntryActor {
    /// A user that belongs to the system.
    UserBuiltin {
        /// The user.
        user_builtin_id: Uuid,
    },
    /// A user of a silo.
    SiloUser {
        /// The user.
        silo_user_id: Uuid,
        /// The user's silo.
        silo_id: Uuid,
    },
    /// An identity provider. There are none here.
    Scim {
        /// The silo.
        silo_id: Uuid,
    },
    /// Nobody who is known.
    Unauthenticated,
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AuditLogEntryResult {
    /// It was done.
    Success {
        /// The status of the answer.
        http_status_code: u16,
    },
    /// It was refused, or failed.
    Error {
        /// The status of the answer.
        http_status_code: u16,
        /// The code of the error, if it has one.
        error_code: Option<String>,
        /// What the client was told.
        error_message: String,
    },
    /// Nobody knows: the server died while it was handled.
    Unknown,
}

/// Which part of the audit log is meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditLogRange {
    /// Requests that were answered from this time on
    pub start_time: DateTime<Utc>,
    /// Requests that were answered before this time; until now if absent
    #[serde(default)]
    pub end_time: Option<DateTime<Utc>>,
}
