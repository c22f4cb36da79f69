//! The audit log: who changed what.

use crate::columns::Ip;
use crate::schema::audit_log;
use chrono::{DateTime, Utc};
use diesel::{Insertable, Queryable, Selectable};
use uuid::Uuid;

/// A request that may have changed something.
#[derive(Clone, Debug, PartialEq, Queryable, Selectable, Insertable)]
#[diesel(table_name = audit_log)]
pub struct AuditEntry {
    pub id: Uuid,
    pub time_started: DateTime<Utc>,
    pub request_id: String,
    pub request_uri: String,
    pub operation_id: String,
    pub source_ip: Ip,
    pub user_agent: Option<String>,
    pub silo_id: Option<Uuid>,
    /// Who asked; nobody who is known, if there is none.
    pub silo_user_id: Option<Uuid>,
    pub auth_method: Option<String>,
    /// The token or the session that the request came with.
    pub credential_id: Option<Uuid>,
    /// When it was answered; none while it is being handled.
    pub time_completed: Option<DateTime<Utc>>,
    /// The status of the answer; none if it is not known what became of the request.
    pub http_status_code: Option<i32>,
    pub error_code: Option<String>,
    pub error_message: Option<String>,
}
