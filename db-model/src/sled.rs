//! Sleds.

use crate::columns::{Ip, text_enum};
use crate::schema::sled;
use chrono::{DateTime, Utc};
use diesel::{AsChangeset, Insertable, Queryable, Selectable};
use uuid::Uuid;

text_enum! {
    /// Whether the sled has a switch of its own (a scrimlet) or not.
    SledRole {
        Gimlet => "gimlet",
        Scrimlet => "scrimlet",
    }
}

text_enum! {
    /// Whether new VMMs are placed on a sled.
    ProvisionPolicy {
        Provisionable => "provisionable",
        NonProvisionable => "non_provisionable",
    }
}

/// The rack that all sleds are in: a control plane has one.
pub const RACK_ID: Uuid = Uuid::from_u128(0x001de000_1334_4000_8000_000000000001);

/// A host of instances, as its agent registered it.
#[derive(Clone, Debug, Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = sled)]
pub struct Sled {
    pub id: Uuid,
    /// IPv6; the target of NAT entries, and where the agent listens.
    pub underlay_address: Ip,
    pub port: i32,
    pub repo_depot_port: i32,
    pub role: SledRole,
    pub serial_number: String,
    pub part_number: String,
    pub revision: i64,
    pub usable_hardware_threads: i64,
    /// Bytes.
    pub usable_physical_ram: i64,
    /// Bytes of memory for instances.
    pub reservoir_size: i64,
    pub cpu_family: String,
    /// The operator's choice, not the agent's.
    pub provision_policy: ProvisionPolicy,
    /// Grows with each registration.
    pub generation: i64,
    pub time_created: DateTime<Utc>,
    pub time_modified: DateTime<Utc>,
}
