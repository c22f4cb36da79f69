//! Network interfaces of instances.

use super::authz::Action;
use super::instance_create::{check_transit_ips, nic_request};
use super::lookup::NicSelector;
use super::{Nexus, OpContext, Selector, identity_update};
use crate::db::nic_change::NicUpdate;
use db_model::NetworkInterface;
use nexus_api::types::{InstanceNetworkInterfaceCreate, InstanceNetworkInterfaceUpdate};
use nexus_common::{Error, PageBy};
use oxnet::IpNet;

impl Nexus {
    /// A page of an instance's network interfaces.
    pub async fn nic_list(
        &self,
        opctx: &OpContext,
        instance: &Selector,
        page: PageBy,
    ) -> Result<Vec<NetworkInterface>, Error> {
        let found = self.instance(opctx, instance, Action::ListChildren).await?;
        self.datastore.nic_list(found.instance.id, page).await
    }

    /// Gives a stopped instance one more interface.
    pub async fn nic_create(
        &self,
        opctx: &OpContext,
        instance: &Selector,
        body: InstanceNetworkInterfaceCreate,
    ) -> Result<NetworkInterface, Error> {
        let found = self.instance(opctx, instance, Action::Modify).await?;
        let request = nic_request(body)?;
        self.datastore.nic_create(found.instance.id, request).await
    }

    /// Changes an interface of a stopped instance.
    pub async fn nic_update(
        &self,
        opctx: &OpContext,
        nic: NicSelector,
        body: InstanceNetworkInterfaceUpdate,
    ) -> Result<NetworkInterface, Error> {
        let found = self.network_interface(opctx, nic, Action::Modify).await?;
        let (v4, v6): (Vec<IpNet>, Vec<IpNet>) =
            body.transit_ips.into_iter().partition(IpNet::is_ipv4);
        check_transit_ips(&v4)?;
        check_transit_ips(&v6)?;
        let strings = |nets: Vec<IpNet>| nets.iter().map(ToString::to_string).collect();
        let change = NicUpdate {
            identity: identity_update(body.identity)?,
            make_primary: body.primary,
            transit_ips_v4: strings(v4),
            transit_ips_v6: strings(v6),
        };
        self.datastore.nic_update(found.id, change).await
    }

    /// Takes an interface from an instance that is stopped or has failed.
    pub async fn nic_delete(&self, opctx: &OpContext, nic: NicSelector) -> Result<(), Error> {
        let found = self.network_interface(opctx, nic, Action::Delete).await?;
        self.datastore.nic_delete(found.id).await
    }
}
