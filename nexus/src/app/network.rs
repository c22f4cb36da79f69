//! VPCs, subnets and network interfaces.

use super::authz::Action;
use super::{Nexus, OpContext, Selector};
use db_model::{NetworkInterface, Vpc, VpcSubnet};
use nexus_common::{Error, NameOrId, PageBy};

impl Nexus {
    /// A page of a project's VPCs.
    pub async fn vpc_list(
        &self,
        opctx: &OpContext,
        project: &NameOrId,
        page: PageBy,
    ) -> Result<Vec<Vpc>, Error> {
        let project = self.project(opctx, project, Action::ListChildren).await?;
        self.datastore.vpc_list(project.id, page).await
    }

    /// A page of a VPC's subnets.
    pub async fn subnet_list(
        &self,
        opctx: &OpContext,
        vpc: &Selector,
        page: PageBy,
    ) -> Result<Vec<VpcSubnet>, Error> {
        let vpc = self.vpc(opctx, vpc, Action::ListChildren).await?;
        self.datastore.subnet_list(vpc.id, page).await
    }

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
}
