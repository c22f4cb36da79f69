//! What the ports of VMMs may hold.

use crate::columns::Ip;
use crate::external_ip::IpKind;
use crate::schema::port_address;
use chrono::{DateTime, Utc};
use diesel::{Insertable, Queryable, Selectable};
use uuid::Uuid;

/// An external address that a VMM's port may hold. Written before the sled is told to add it, and
/// kept for a while after the sled was told to remove it.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = port_address)]
pub struct PortAddress {
    pub vmm_id: Uuid,
    pub address: Ip,
    pub kind: IpKind,
    /// When the address was last about to come or go.
    pub time_changed: DateTime<Utc>,
    /// When the port is to be gone over again on account of that; none once it has settled.
    pub time_due: Option<DateTime<Utc>>,
}
