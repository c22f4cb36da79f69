//! Pools of external addresses: their ranges, their links to silos, and what of them is free.

use crate::columns::{Ip, text_enum};
use crate::schema::{
    ip_pool, ip_pool_free_address, ip_pool_range, ip_pool_silo, ip_pool_snat_address,
};
use chrono::{DateTime, Utc};
use diesel::{Insertable, Queryable, Selectable};
use uuid::Uuid;

text_enum! {
    /// A version of the Internet Protocol.
    IpVersion {
        V4 => "v4",
        V6 => "v6",
    }
}

impl From<nexus_common::IpVersion> for IpVersion {
    fn from(version: nexus_common::IpVersion) -> Self {
        match version {
            nexus_common::IpVersion::V4 => IpVersion::V4,
            nexus_common::IpVersion::V6 => IpVersion::V6,
        }
    }
}

impl From<IpVersion> for nexus_common::IpVersion {
    fn from(version: IpVersion) -> Self {
        match version {
            IpVersion::V4 => nexus_common::IpVersion::V4,
            IpVersion::V6 => nexus_common::IpVersion::V6,
        }
    }
}

text_enum! {
    /// What a pool's addresses are for. Only unicast addresses are given to instances.
    PoolType {
        Unicast => "unicast",
        Multicast => "multicast",
    }
}

text_enum! {
    /// Who may use a pool.
    PoolAssignment {
        Silos => "silos",
        SystemServices => "system_services",
    }
}

/// A pool of external addresses of one IP version.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = ip_pool)]
pub struct IpPool {
    pub id: Uuid,
    pub name: String,
    pub description: String,
    pub ip_version: IpVersion,
    pub pool_type: PoolType,
    pub assignment: PoolAssignment,
    pub time_created: DateTime<Utc>,
    pub time_modified: DateTime<Utc>,
    pub time_deleted: Option<DateTime<Utc>>,
}

/// A range of a pool. No two ranges overlap, whatever their pools.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = ip_pool_range)]
pub struct IpPoolRange {
    pub id: Uuid,
    pub ip_pool_id: Uuid,
    pub first_address: Ip,
    pub last_address: Ip,
    /// The mark: free, with nothing handed out automatically at or above it. None when the range
    /// is used up to its end.
    pub next_address: Option<Ip>,
    pub time_created: DateTime<Utc>,
    pub time_deleted: Option<DateTime<Utc>>,
}

/// A released address below its range's mark.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = ip_pool_free_address)]
pub struct FreeAddress {
    pub ip_pool_id: Uuid,
    pub ip: Ip,
    pub ip_pool_range_id: Uuid,
}

/// An address that source NAT shares among instances.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = ip_pool_snat_address)]
pub struct SnatAddress {
    pub ip_pool_id: Uuid,
    pub ip: Ip,
    pub ip_pool_range_id: Uuid,
    /// A bit for each block of ports in use, the lowest for the lowest ports.
    pub used_blocks: i16,
}

/// A link of a pool to a silo, whose users may then use it.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = ip_pool_silo)]
pub struct IpPoolSilo {
    pub ip_pool_id: Uuid,
    pub silo_id: Uuid,
    pub ip_version: IpVersion,
    pub pool_type: PoolType,
    pub is_default: bool,
}
