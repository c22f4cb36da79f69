//! Instances: starting, stopping, rebooting, migrating, deleting.

use super::authz::Action;
use super::{Nexus, OpContext, Selector};
use crate::dataplane::sled::{SledError, VmmRequest};
use crate::db::attach::Location;
use crate::db::instance::InstanceAndVmm;
use crate::sagas::engine::SagaFailure;
use crate::sagas::{instance_delete, instance_migrate, instance_start};
use db_model::{InstanceState as Stored, Vmm, VmmState};
use nexus_api::types::InstanceState;
use nexus_common::{Error, NameOrId, PageBy};
use slog::warn;
use uuid::Uuid;

impl Nexus {
    /// A page of a project's instances.
    pub async fn instance_list(
        &self,
        opctx: &OpContext,
        project: &NameOrId,
        page: PageBy,
    ) -> Result<Vec<InstanceAndVmm>, Error> {
        let project = self.project(opctx, project, Action::ListChildren).await?;
        self.datastore.instance_list(project.id, page).await
    }

    /// Deletes an instance that does not run.
    pub async fn instance_delete(
        &self,
        opctx: &OpContext,
        selector: &Selector,
    ) -> Result<(), Error> {
        let found = self.instance(opctx, selector, Action::Delete).await?;
        let params = instance_delete::Params { instance_id: found.instance.id };
        let dag = instance_delete::dag().map_err(Error::internal)?;
        self.sagas.run(dag, &params).await?;
        Ok(())
    }

    /// Starts an instance; one that runs, or is about to, is left.
    pub async fn instance_start(
        &self,
        opctx: &OpContext,
        selector: &Selector,
    ) -> Result<InstanceAndVmm, Error> {
        let found = self.instance(opctx, selector, Action::Modify).await?;
        match found.run_state() {
            InstanceState::Starting
            | InstanceState::Running
            | InstanceState::Rebooting
            | InstanceState::Migrating => return Ok(found),
            InstanceState::Stopped | InstanceState::Failed => {}
            InstanceState::Stopping => {
                let message = "instance must finish stopping before it can be started";
                return Err(Error::conflict(message));
            }
            state => {
                return Err(Error::conflict(format!(
                    "instance is in state {state} but it must be stopped to be started"
                )));
            }
        }
        self.start_somewhere(opctx, found.instance.id).await?;
        self.datastore.instance_fetch(None, found.instance.id.into()).await
    }

    /// Starts an instance on a sled that takes it.
    async fn start_somewhere(&self, opctx: &OpContext, instance_id: Uuid) -> Result<(), Error> {
        let start = instance_start::Params::new(instance_id, Vec::new());
        match self.run_start(&start).await {
            Ok(()) => Ok(()),
            Err(failure) => self.start_elsewhere(opctx, start, failure).await,
        }
    }

    /// Goes on after a start that failed: a sled that refuses is avoided at the next try.
    pub(super) async fn start_elsewhere(
        &self,
        opctx: &OpContext,
        mut start: instance_start::Params,
        mut failure: SagaFailure,
    ) -> Result<(), Error> {
        let mut refusal: Option<Error> = None;
        loop {
            let node = failure.node.as_deref().unwrap_or_default();
            if !instance_start::SLED_NODES.contains(&node) {
                // That no other sled has room is less to the point than why the first refused.
                return Err(refusal.unwrap_or(failure.error));
            }
            let Ok(vmm) = self.datastore.vmm_fetch(start.vmm_id).await else {
                return Err(failure.error);
            };
            warn!(opctx.log, "a sled did not take an instance; another is tried";
                "instance" => %start.instance_id, "sled" => %vmm.sled_id,
                "error" => %failure.error);
            start.avoid.push(vmm.sled_id);
            refusal.get_or_insert(failure.error);
            start = instance_start::Params::new(start.instance_id, start.avoid);
            match self.run_start(&start).await {
                Ok(()) => return Ok(()),
                Err(next) => failure = next,
            }
        }
    }

    async fn run_start(&self, start: &instance_start::Params) -> Result<(), SagaFailure> {
        let dag = instance_start::dag().map_err(Error::internal)?;
        let params = instance_start::WithStart { start: start.clone() };
        self.sagas.run(dag, &params).await.map(drop)
    }

    /// Tells the instance's VMM to stop. Does not wait for the guest.
    pub async fn instance_stop(
        &self,
        opctx: &OpContext,
        selector: &Selector,
    ) -> Result<InstanceAndVmm, Error> {
        let found = self.instance(opctx, selector, Action::Modify).await?;
        match (found.instance.state, found.vmm) {
            (Stored::Vmm, Some(vmm)) => self.ask_vmm(opctx, &vmm, VmmRequest::Stopped).await?,
            (Stored::Failed, _) => {
                self.datastore.instance_failed_to_stopped(found.instance.id).await?;
            }
            (Stored::Creating, _) => {
                let message = "cannot change instance state while it is still being created";
                return Err(Error::invalid(message));
            }
            (Stored::Destroyed, _) => {
                let message = "instance state cannot be changed from destroyed";
                return Err(Error::invalid(message));
            }
            (Stored::NoVmm, _) | (Stored::Vmm, None) => {}
        }
        self.datastore.instance_fetch(None, found.instance.id.into()).await
    }

    /// Tells the instance's VMM to reboot.
    pub async fn instance_reboot(
        &self,
        opctx: &OpContext,
        selector: &Selector,
    ) -> Result<InstanceAndVmm, Error> {
        let found = self.instance(opctx, selector, Action::Modify).await?;
        match (found.instance.state, found.vmm) {
            (Stored::Vmm, Some(vmm)) => self.ask_vmm(opctx, &vmm, VmmRequest::Reboot).await?,
            (Stored::NoVmm, _) | (Stored::Vmm, None) => {
                let message = "cannot reboot an instance in state stopped with no VMM";
                return Err(Error::invalid(message));
            }
            (state, _) => {
                let message = format!("instance state cannot be changed from {state}");
                return Err(Error::invalid(message));
            }
        }
        self.datastore.instance_fetch(None, found.instance.id.into()).await
    }

    /// Asks a sled to change a VMM's state, and takes in what it answers.
    async fn ask_vmm(
        &self,
        opctx: &OpContext,
        vmm: &Vmm,
        request: VmmRequest,
    ) -> Result<(), Error> {
        let agent = self.dataplane.sleds.agent(vmm.sled_id).await?;
        match agent.vmm_put_state(vmm.id, request).await {
            Ok(None) => Ok(()),
            Ok(Some(report)) => self.vmm_reported(vmm.id, report).await,
            // Its start is under way, and will bring it there. If it were given up now, it would
            // run on although nobody knows of it.
            Err(SledError::Gone) if vmm.state == VmmState::Creating => {
                Err(Error::busy("the instance is starting"))
            }
            Err(SledError::Gone) => {
                warn!(opctx.log, "a sled has lost a VMM"; "vmm" => %vmm.id);
                let instance_id = self.datastore.vmm_mark_failed(vmm.id).await?;
                self.settle(instance_id).await?;
                Err(Error::Busy {
                    message: "The instance was running but is no longer reachable. It is being \
                              moved to the Failed state."
                        .to_string(),
                })
            }
            Err(SledError::NoAnswer { timeout, cause }) => {
                Err(Error::SledUnreachable { timeout, cause })
            }
            Err(error @ SledError::Failed(_)) => Err(Error::internal(error)),
            Err(error) => Err(error.into()),
        }
    }

    /// Begins to migrate a running instance to another sled, for an operator.
    pub async fn instance_migrate(
        &self,
        instance_id: Uuid,
        sled_id: Uuid,
    ) -> Result<InstanceAndVmm, Error> {
        let params = instance_migrate::Params {
            instance_id,
            migration_id: Uuid::new_v4(),
            target: Location { vmm_id: Uuid::new_v4(), sled_id },
        };
        let dag = instance_migrate::dag().map_err(Error::internal)?;
        self.sagas.run(dag, &params).await?;
        self.datastore.instance_fetch(None, instance_id.into()).await
    }
}
