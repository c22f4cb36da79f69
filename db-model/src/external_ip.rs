//! External IPs of every kind.

use crate::columns::{Ip, text_enum};
use crate::ip_pool::IpVersion;
use crate::schema::external_ip;
use chrono::{DateTime, Utc};
use diesel::{Insertable, Queryable, Selectable};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

text_enum! {
    /// What an external IP is for.
    IpKind {
        /// A block of ports of a shared address, for an instance's outbound traffic.
        Snat => "snat",
        /// A whole address that an instance owns from attach to detach.
        Ephemeral => "ephemeral",
        /// A whole address that a project owns.
        Floating => "floating",
    }
}

text_enum! {
    /// `detached → attaching → attached → detaching → detached`. Only a saga takes an address
    /// into or out of the two in the middle of a change, and the row names that saga.
    IpState {
        Detached => "detached",
        Attaching => "attaching",
        Attached => "attached",
        Detaching => "detaching",
    }
}

/// An external IP.
#[derive(Clone, Debug, Queryable, Selectable, Insertable, Serialize, Deserialize)]
#[diesel(table_name = external_ip)]
pub struct ExternalIp {
    pub id: Uuid,
    pub kind: IpKind,
    pub silo_id: Uuid,
    pub project_id: Uuid,
    /// Of a floating IP.
    pub name: Option<String>,
    /// Of a floating IP.
    pub description: Option<String>,
    pub ip: Ip,
    pub ip_version: IpVersion,
    pub first_port: i32,
    pub last_port: i32,
    pub ip_pool_id: Uuid,
    pub ip_pool_range_id: Uuid,
    pub state: IpState,
    /// The instance it belongs to, or is coming to or leaving.
    pub instance_id: Option<Uuid>,
    /// The saga that moves it.
    pub saga_id: Option<Uuid>,
    pub time_created: DateTime<Utc>,
    pub time_modified: DateTime<Utc>,
    pub time_deleted: Option<DateTime<Utc>>,
}
