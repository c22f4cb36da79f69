//! What sleds report of VMMs, and what follows.

use super::Nexus;
use crate::dataplane::sled::SledError;
use crate::db::vmm::{Settled, VmmReport};
use db_model::{Vmm, VmmState};
use futures::StreamExt;
use nexus_common::Error;
use slog::{info, warn};
use uuid::Uuid;

/// Rows of one page of a task's walk.
const PAGE: i64 = 100;
/// VMMs that are asked about at the same time.
const WATCH_CONCURRENCY: usize = 16;

impl Nexus {
    /// Takes in what a sled reports of a VMM, unless something newer is known. When this returns,
    /// what follows from it has been done too.
    pub async fn vmm_reported(&self, vmm_id: Uuid, report: VmmReport) -> Result<(), Error> {
        let state = report.state;
        let ended = state.is_terminal()
            || [&report.migration_in, &report.migration_out]
                .into_iter()
                .flatten()
                .any(|side| side.state.is_terminal());
        let instance_id = self.datastore.vmm_report(vmm_id, report).await?;
        if ended {
            self.settle(instance_id).await?;
        }
        if !state.is_terminal() {
            self.end_if_unwanted(vmm_id).await?;
        }
        Ok(())
    }

    /// Ends a VMM that its sled still has although it was given up: its sled could not be reached
    /// when it was.
    async fn end_if_unwanted(&self, vmm_id: Uuid) -> Result<(), Error> {
        let vmm = self.datastore.vmm_fetch(vmm_id).await?;
        if vmm.time_deleted.is_none() {
            return Ok(());
        }
        warn!(self.log, "a sled has a VMM that was given up; it is ended"; "vmm" => %vmm_id);
        let agent = self.dataplane.sleds.agent(vmm.sled_id).await?;
        agent.vmm_unregister(vmm_id).await?;
        Ok(())
    }

    /// Brings an instance's record, and the switches, in line with what is known of its VMMs.
    pub async fn settle(&self, instance_id: Uuid) -> Result<(), Error> {
        let mut changed = false;
        while let Settled::NatChanged(addresses) =
            self.datastore.instance_settle(instance_id).await?
        {
            changed = true;
            self.dataplane.push_nat(&addresses).await;
        }
        if changed {
            info!(self.log, "instance settled"; "instance" => %instance_id);
        }
        self.v2p.activate();
        Ok(())
    }

    /// Settles all instances that a crash kept from it. Returns how many there were.
    pub(crate) async fn settle_all(&self) -> Result<usize, Error> {
        let mut settled = 0;
        let mut after = None;
        loop {
            let page = self.datastore.unsettled_instances(after, PAGE).await?;
            after = page.last().copied();
            for id in &page {
                self.settle(*id).await?;
            }
            settled += page.len();
            if (page.len() as i64) < PAGE {
                return Ok(settled);
            }
        }
    }

    /// Asks the sleds about every VMM. One that a sled does not have has failed; one whose sled
    /// does not answer may well be running, and is left. Returns how many were asked about.
    pub(crate) async fn watch_vmms(&self) -> Result<usize, Error> {
        let mut asked = 0;
        let mut after = None;
        loop {
            let page = self.datastore.vmm_list(after, PAGE).await?;
            after = page.last().map(|vmm| vmm.id);
            let full = page.len() as i64 == PAGE;
            asked += page.len();
            // One that is being made is not on its sled yet.
            let known = page.into_iter().filter(|vmm| vmm.state != VmmState::Creating);
            futures::stream::iter(known)
                .for_each_concurrent(WATCH_CONCURRENCY, |vmm| self.watch_vmm(vmm))
                .await;
            if !full {
                return Ok(asked);
            }
        }
    }

    async fn watch_vmm(&self, vmm: Vmm) {
        let result = match self.dataplane.sleds.agent(vmm.sled_id).await {
            Ok(agent) => match agent.vmm_state(vmm.id).await {
                Ok(report) => self.vmm_reported(vmm.id, report).await,
                Err(SledError::Gone) => self.vmm_lost(&vmm).await,
                Err(_) => Ok(()),
            },
            Err(error) => Err(error),
        };
        if let Err(error) = result {
            warn!(self.log, "a VMM could not be checked"; "vmm" => %vmm.id, "error" => %error);
        }
    }

    async fn vmm_lost(&self, vmm: &Vmm) -> Result<(), Error> {
        warn!(self.log, "a sled has lost a VMM"; "vmm" => %vmm.id, "sled" => %vmm.sled_id);
        let instance_id = self.datastore.vmm_mark_failed(vmm.id).await?;
        self.settle(instance_id).await
    }
}
