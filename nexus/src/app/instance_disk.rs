//! Disks of instances.

use super::authz::Action;
use super::{Nexus, OpContext, Selector};
use db_model::Disk;
use nexus_common::{Error, NameOrId, PageBy};

impl Nexus {
    /// A page of an instance's disks.
    pub async fn instance_disk_list(
        &self,
        opctx: &OpContext,
        instance: &Selector,
        page: PageBy,
    ) -> Result<Vec<Disk>, Error> {
        let found = self.instance(opctx, instance, Action::ListChildren).await?;
        self.datastore.instance_disk_list(found.instance.id, page).await
    }

    /// Attaches a disk to a stopped instance. A name is one of the instance's project.
    pub async fn instance_disk_attach(
        &self,
        opctx: &OpContext,
        instance: &Selector,
        disk: &NameOrId,
    ) -> Result<Disk, Error> {
        let found = self.instance(opctx, instance, Action::Modify).await?.instance;
        let disk = self.disk_in(opctx, found.project_id, disk, Action::Modify).await?;
        self.datastore.disk_attach(disk.id, found.id).await
    }

    /// Detaches a disk from a stopped instance. A name is one of the instance's project.
    pub async fn instance_disk_detach(
        &self,
        opctx: &OpContext,
        instance: &Selector,
        disk: &NameOrId,
    ) -> Result<Disk, Error> {
        let found = self.instance(opctx, instance, Action::Modify).await?.instance;
        let disk = self.disk_in(opctx, found.project_id, disk, Action::Modify).await?;
        self.datastore.disk_detach(disk.id, found.id).await
    }
}
