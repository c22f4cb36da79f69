//! Changing instances.

use super::authz::Action;
use super::instance_create::{
    check_size, no_jumbo_frames, refuse_multicast_groups, stored_platform, stored_policy,
};
use super::{Nexus, OpContext, Selector};
use crate::db::instance::{InstanceAndVmm, InstanceUpdate as Change};
use nexus_api::types::InstanceUpdate;
use nexus_common::Error;

impl Nexus {
    /// Changes an instance to what is asked for. The name of a boot disk is one of the instance's
    /// project.
    pub async fn instance_update(
        &self,
        opctx: &OpContext,
        selector: &Selector,
        body: InstanceUpdate,
    ) -> Result<InstanceAndVmm, Error> {
        let instance = self.instance(opctx, selector, Action::Modify).await?.instance;
        check_size(body.ncpus, body.memory)?;
        if body.enable_jumbo_frames {
            return Err(no_jumbo_frames("set to true"));
        }
        refuse_multicast_groups(&body.multicast_groups.unwrap_or_default())?;
        let boot_disk_id = match &body.boot_disk {
            None => None,
            Some(disk) => {
                Some(self.disk_in(opctx, instance.project_id, disk, Action::Modify).await?.id)
            }
        };
        let change = Change {
            ncpus: i32::from(body.ncpus.0),
            memory: body.memory.to_stored(),
            boot_disk_id,
            auto_restart_policy: body.auto_restart_policy.map(stored_policy),
            cpu_platform: body.cpu_platform.map(stored_platform),
        };
        self.datastore.instance_update(instance.id, change).await?;
        self.datastore.instance_fetch(None, instance.id.into()).await
    }
}
