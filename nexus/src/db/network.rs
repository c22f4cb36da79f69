//! Network interfaces with what sleds need to know of their VPCs and subnets.

use super::Datastore;
use super::nic::MAX_NICS;
use db_model::schema::{instance, network_interface, sled, vmm, vpc, vpc_subnet};
use db_model::{Ip, Mac, NetworkInterface, Vpc, VpcSubnet};
use diesel::prelude::*;
use nexus_common::Error;
use uuid::Uuid;

/// An interface with what a sled needs to know of its VPC and subnet.
#[derive(Clone, Debug)]
pub struct NicWithNetwork {
    pub nic: NetworkInterface,
    pub vpc: Vpc,
    pub subnet: VpcSubnet,
}

/// An interface of an instance that has a VMM, with what a v2p mapping needs.
#[derive(Clone, Debug)]
pub struct PlacedNic {
    pub nic: NetworkInterface,
    pub vni: i32,
    pub sled_address: Ip,
}

impl Datastore {
    /// A page, by id, of the interfaces of instances that have an active VMM.
    pub async fn placed_nics(
        &self,
        after: Option<Uuid>,
        limit: i64,
    ) -> Result<Vec<PlacedNic>, Error> {
        self.statement("placed interfaces", move |conn| {
            let mut query = network_interface::table
                .inner_join(instance::table.on(instance::id.eq(network_interface::instance_id)))
                .inner_join(vmm::table.on(instance::active_vmm_id.eq(vmm::id.nullable())))
                .inner_join(sled::table.on(sled::id.eq(vmm::sled_id)))
                .inner_join(vpc::table.on(vpc::id.eq(network_interface::vpc_id)))
                .filter(network_interface::time_deleted.is_null())
                .filter(instance::time_deleted.is_null())
                .select((NetworkInterface::as_select(), vpc::vni, sled::underlay_address))
                .into_boxed();
            if let Some(after) = after {
                query = query.filter(network_interface::id.gt(after));
            }
            let rows: Vec<(NetworkInterface, i32, Ip)> =
                query.order(network_interface::id).limit(limit).load(conn)?;
            let placed = |(nic, vni, sled_address)| PlacedNic { nic, vni, sled_address };
            Ok(rows.into_iter().map(placed).collect())
        })
        .await
    }

    /// The interface with this MAC address in the virtual network with this VNI, if its instance
    /// has a VMM.
    pub async fn placed_nic(&self, vni: i32, mac: Mac) -> Result<Option<PlacedNic>, Error> {
        self.statement("placed interface", move |conn| {
            let row: Option<(NetworkInterface, i32, Ip)> = vpc::table
                .inner_join(network_interface::table.on(network_interface::vpc_id.eq(vpc::id)))
                .inner_join(instance::table.on(instance::id.eq(network_interface::instance_id)))
                .inner_join(vmm::table.on(instance::active_vmm_id.eq(vmm::id.nullable())))
                .inner_join(sled::table.on(sled::id.eq(vmm::sled_id)))
                .filter(vpc::vni.eq(vni))
                .filter(vpc::time_deleted.is_null())
                .filter(network_interface::mac.eq(mac))
                .filter(network_interface::time_deleted.is_null())
                .filter(instance::time_deleted.is_null())
                .select((NetworkInterface::as_select(), vpc::vni, sled::underlay_address))
                .first(conn)
                .optional()?;
            Ok(row.map(|(nic, vni, sled_address)| PlacedNic { nic, vni, sled_address }))
        })
        .await
    }

    /// All interfaces of an instance (at most [`MAX_NICS`]), by slot.
    pub async fn nics_with_networks(
        &self,
        instance_id: Uuid,
    ) -> Result<Vec<NicWithNetwork>, Error> {
        self.statement("interfaces with networks", move |conn| {
            let rows = network_interface::table
                .inner_join(vpc::table.on(vpc::id.eq(network_interface::vpc_id)))
                .inner_join(vpc_subnet::table.on(vpc_subnet::id.eq(network_interface::subnet_id)))
                .filter(network_interface::instance_id.eq(instance_id))
                .filter(network_interface::time_deleted.is_null())
                .order(network_interface::slot)
                .limit(MAX_NICS as i64)
                .select((NetworkInterface::as_select(), Vpc::as_select(), VpcSubnet::as_select()))
                .load::<(NetworkInterface, Vpc, VpcSubnet)>(conn)?;
            let with = |(nic, vpc, subnet)| NicWithNetwork { nic, vpc, subnet };
            Ok(rows.into_iter().map(with).collect())
        })
        .await
    }
}
