//! VPCs, subnets, and the network interfaces in them.

use crate::columns::{Ip, Mac};
use crate::schema::{network_interface, vpc, vpc_subnet};
use chrono::{DateTime, Utc};
use diesel::{Insertable, Queryable, Selectable};
use ipnetwork::IpNetwork;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A virtual private cloud: an address space of a project, under a VNI of its own.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = vpc)]
pub struct Vpc {
    pub id: Uuid,
    pub project_id: Uuid,
    pub name: String,
    pub description: String,
    pub dns_name: String,
    /// A /48 of the unique local addresses (RFC 4193).
    pub ipv6_prefix: IpNetwork,
    pub vni: i32,
    pub system_router_id: Uuid,
    pub time_created: DateTime<Utc>,
    pub time_modified: DateTime<Utc>,
    pub time_deleted: Option<DateTime<Utc>>,
}

/// A block of each IP version in a VPC.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = vpc_subnet)]
pub struct VpcSubnet {
    pub id: Uuid,
    pub vpc_id: Uuid,
    pub name: String,
    pub description: String,
    pub ipv4_block: IpNetwork,
    /// A /64 of the VPC's prefix.
    pub ipv6_block: IpNetwork,
    pub custom_router_id: Option<Uuid>,
    pub time_created: DateTime<Utc>,
    pub time_modified: DateTime<Utc>,
    pub time_deleted: Option<DateTime<Utc>>,
}

/// A network interface of an instance. The primary one carries the external addresses.
#[derive(Clone, Debug, Queryable, Selectable, Insertable, Serialize, Deserialize)]
#[diesel(table_name = network_interface)]
pub struct NetworkInterface {
    pub id: Uuid,
    pub instance_id: Uuid,
    pub vpc_id: Uuid,
    pub subnet_id: Uuid,
    pub name: String,
    pub description: String,
    pub mac: Mac,
    pub ipv4: Option<Ip>,
    pub ipv6: Option<Ip>,
    /// Networks, as a JSON array of strings.
    pub transit_ips_v4: serde_json::Value,
    /// Networks, as a JSON array of strings.
    pub transit_ips_v6: serde_json::Value,
    /// The interface's place among those of its instance: 0 to 7.
    pub slot: i16,
    pub is_primary: bool,
    pub time_created: DateTime<Utc>,
    pub time_modified: DateTime<Utc>,
    pub time_deleted: Option<DateTime<Utc>>,
}
