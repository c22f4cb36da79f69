//! What the switches should hold.

use crate::columns::{Ip, Mac};
use crate::schema::{nat_entry, nat_switch};
use chrono::{DateTime, Utc};
use diesel::{Insertable, Queryable, Selectable};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// One NAT entry: what a switch does with a packet to an external address and port. A removed
/// entry stays, with `time_deleted` set, until every switch has passed its generation.
#[derive(Clone, Debug, Queryable, Selectable, Insertable, Serialize, Deserialize)]
#[diesel(table_name = nat_entry)]
pub struct NatEntry {
    pub id: Uuid,
    pub external_ip_id: Uuid,
    pub instance_id: Uuid,
    pub external_address: Ip,
    pub first_port: i32,
    pub last_port: i32,
    /// The sled's underlay address (IPv6).
    pub sled_address: Ip,
    pub vni: i32,
    /// The MAC address of the instance's primary network interface.
    pub mac: Mac,
    /// That of the last change: the addition, or the removal. Generations are given in the order
    /// in which changes commit.
    pub generation: i64,
    pub time_created: DateTime<Utc>,
    pub time_deleted: Option<DateTime<Utc>>,
}

/// How far a switch has followed the changes.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = nat_switch)]
pub struct NatSwitch {
    pub slot: String,
    pub generation: i64,
    pub time_modified: DateTime<Utc>,
}
