//! Changing the network interfaces of instances that are at rest.
//!
//! A VMM gets its interfaces when it is registered, so they are changed only while there is none.
//! Each transaction here locks the instance's row, which a start would have to change.

use super::Datastore;
use super::error::{TxResult, taken};
use super::external_ip::{ips_of_instance, release};
use super::nic::{NicRequest, has_version, next_place, nic_row, nics_of};
use super::now;
use super::project::IdentityUpdate;
use super::subnet::subnet_by_name;
use super::vpc::vpc_by_name;
use db_model::schema::{instance, network_interface};
use db_model::{Instance, InstanceState, IpKind, NetworkInterface};
use diesel::prelude::*;
use nexus_common::{Error, IpVersion, ResourceType};
use uuid::Uuid;

/// A change of an interface.
#[derive(Clone, Debug)]
pub struct NicUpdate {
    pub identity: IdentityUpdate,
    /// Whether it becomes the primary one. The primary one stays so in any case.
    pub make_primary: bool,
    pub transit_ips_v4: Vec<String>,
    pub transit_ips_v6: Vec<String>,
}

/// The instance, which stays without a VMM until the transaction is over.
fn instance_at_rest(
    conn: &mut PgConnection,
    id: Uuid,
    states: &[InstanceState],
    refusal: &str,
) -> TxResult<Instance> {
    let found = instance::table
        .filter(instance::id.eq(id))
        .filter(instance::time_deleted.is_null())
        .select(Instance::as_select())
        .for_update()
        .first(conn)
        .optional()?;
    let found = found.ok_or_else(|| Error::not_found(ResourceType::Instance, id))?;
    if found.active_vmm_id.is_some() || !states.contains(&found.state) {
        return Err(Error::invalid(refusal).into());
    }
    Ok(found)
}

fn live_nic(conn: &mut PgConnection, id: Uuid) -> TxResult<NetworkInterface> {
    let found = network_interface::table
        .filter(network_interface::id.eq(id))
        .filter(network_interface::time_deleted.is_null())
        .select(NetworkInterface::as_select())
        .first(conn)
        .optional()?;
    let kind = ResourceType::InstanceNetworkInterface;
    Ok(found.ok_or_else(|| Error::not_found(kind, id))?)
}

/// Refuses an interface that cannot carry the instance's external addresses.
fn check_can_be_primary(conn: &mut PgConnection, nic: &NetworkInterface) -> TxResult<()> {
    let ips = ips_of_instance(conn, nic.instance_id)?;
    for (version, n) in [(IpVersion::V4, 4), (IpVersion::V6, 6)] {
        if !has_version(nic, version) && ips.iter().any(|ip| ip.ip_version == version.into()) {
            return Err(Error::invalid(format!(
                "Interface cannot be made the primary for this instance, since it does not have \
                 a private IPv{n} address to handle traffic for the instance's external IPv{n} \
                 addresses"
            ))
            .into());
        }
    }
    Ok(())
}

/// Moves the primary role to this interface.
fn make_primary(conn: &mut PgConnection, nic: &NetworkInterface) -> TxResult<()> {
    check_can_be_primary(conn, nic)?;
    diesel::update(
        network_interface::table
            .filter(network_interface::instance_id.eq(nic.instance_id))
            .filter(network_interface::is_primary)
            .filter(network_interface::time_deleted.is_null()),
    )
    .set((network_interface::is_primary.eq(false), network_interface::time_modified.eq(now())))
    .execute(conn)?;
    diesel::update(network_interface::table.filter(network_interface::id.eq(nic.id)))
        .set(network_interface::is_primary.eq(true))
        .execute(conn)?;
    Ok(())
}

/// Refuses networks of a version of which the interface has no address.
fn check_transit(nic: &NetworkInterface, change: &NicUpdate) -> Result<(), Error> {
    if nic.ipv4.is_none() && !change.transit_ips_v4.is_empty() {
        return Err(Error::invalid("Cannot specify IPv4 transit IPs with an IPv6 address"));
    }
    if nic.ipv6.is_none() && !change.transit_ips_v6.is_empty() {
        return Err(Error::invalid("Cannot specify IPv6 transit IPs with an IPv4 address"));
    }
    Ok(())
}

/// Takes its source NAT from an instance that loses its last interface. Addresses that someone
/// asked for are in the way.
fn give_up_external_ips(conn: &mut PgConnection, instance_id: Uuid) -> TxResult<()> {
    let ips = ips_of_instance(conn, instance_id)?;
    if ips.iter().any(|ip| ip.kind != IpKind::Snat) {
        return Err(Error::invalid(
            "The primary interface may not be deleted while external IP addresses are attached \
             to the instance; detach them first",
        )
        .into());
    }
    for ip in &ips {
        release(conn, ip)?;
    }
    Ok(())
}

impl Datastore {
    /// Gives a stopped instance one more interface. Its first one is the primary one.
    pub async fn nic_create(
        &self,
        instance_id: Uuid,
        request: NicRequest,
    ) -> Result<NetworkInterface, Error> {
        self.transaction("create network interface", move |conn| {
            let refusal = "Instance must be stopped to attach a new network interface";
            let owner = instance_at_rest(conn, instance_id, &[InstanceState::NoVmm], refusal)?;
            let vpc = vpc_by_name(conn, owner.project_id, &request.vpc)?;
            let subnet = subnet_by_name(conn, vpc.id, &request.subnet)?;
            let others = nics_of(conn, instance_id)?;
            if others.iter().any(|nic| nic.vpc_id != vpc.id) {
                return Err(Error::invalid(
                    "Networking may not span multiple VPCs, but the requested resource is \
                     associated with another VPC",
                )
                .into());
            }
            if others.iter().any(|nic| nic.subnet_id == subnet.id) {
                let message = "Each interface must be in a distinct VPC Subnet";
                return Err(Error::invalid(message).into());
            }
            let place = next_place(instance_id, &others)?;
            let row = nic_row(conn, place, &vpc, &subnet, &request)?;
            let kind = ResourceType::InstanceNetworkInterface;
            diesel::insert_into(network_interface::table)
                .values(&row)
                .execute(conn)
                .map_err(taken("network_interface_name", kind, &row.name))?;
            Ok(row)
        })
        .await
    }

    /// Changes an interface of a stopped instance.
    pub async fn nic_update(&self, id: Uuid, change: NicUpdate) -> Result<NetworkInterface, Error> {
        self.transaction("update network interface", move |conn| {
            let old = live_nic(conn, id)?;
            let refusal = "Instance must be stopped to update its network interfaces";
            instance_at_rest(conn, old.instance_id, &[InstanceState::NoVmm], refusal)?;
            check_transit(&old, &change)?;
            if change.make_primary && !old.is_primary {
                make_primary(conn, &old)?;
            }
            let NicUpdate { identity, transit_ips_v4, transit_ips_v6, .. } = change.clone();
            let name = identity.name.unwrap_or(old.name);
            let updated =
                diesel::update(network_interface::table.filter(network_interface::id.eq(id)))
                    .set((
                        network_interface::name.eq(&name),
                        network_interface::description
                            .eq(identity.description.unwrap_or(old.description)),
                        network_interface::transit_ips_v4
                            .eq(serde_json::Value::from(transit_ips_v4)),
                        network_interface::transit_ips_v6
                            .eq(serde_json::Value::from(transit_ips_v6)),
                        network_interface::time_modified.eq(now()),
                    ))
                    .returning(NetworkInterface::as_returning())
                    .get_result(conn)
                    .map_err(taken(
                        "network_interface_name",
                        ResourceType::InstanceNetworkInterface,
                        &name,
                    ))?;
            Ok(updated)
        })
        .await
    }

    /// Takes an interface from an instance that is stopped or has failed.
    pub async fn nic_delete(&self, id: Uuid) -> Result<(), Error> {
        self.transaction("delete network interface", move |conn| {
            let nic = live_nic(conn, id)?;
            let states = [InstanceState::NoVmm, InstanceState::Failed];
            let refusal = "Instance must be stopped or failed to detach a network interface";
            instance_at_rest(conn, nic.instance_id, &states, refusal)?;
            if nic.is_primary {
                if nics_of(conn, nic.instance_id)?.len() > 1 {
                    return Err(Error::invalid(
                        "The primary interface may not be deleted while secondary interfaces \
                         are still attached",
                    )
                    .into());
                }
                give_up_external_ips(conn, nic.instance_id)?;
            }
            diesel::update(network_interface::table.filter(network_interface::id.eq(id)))
                .set(network_interface::time_deleted.eq(Some(now())))
                .execute(conn)?;
            Ok(())
        })
        .await
    }
}
