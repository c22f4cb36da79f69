//! Migration: how an instance comes to a VMM here, and how it leaves one.
//!
//! The VMM that takes over (the target) asks the sled of the one that has the instance (the
//! source) to let it go, again and again while it copies, and at last to hand it over. The source
//! decides: an instance that it has handed over is gone from here, and one that it has not is
//! still here. If it does not hear of the target for [`TARGET_BOUND`], or hears that the target has
//! given up, the instance stays and runs on.

use super::effect::{Effect, Step, StepKind, TakeOver};
use super::refusal::Refusal;
use super::sled::Sled;
use super::vmm::{Side, Vmm, new_migration};
use crate::types::{MigrationState, VmmState};
use chrono::{DateTime, Utc};
use std::net::SocketAddr;
use std::time::Duration;
use uuid::Uuid;

/// How long a source keeps an instance ready for a target that it does not hear of.
pub const TARGET_BOUND: Duration = Duration::from_secs(3);

/// How many instances that have left a sled it remembers.
const MOVED_AWAY_MAX: usize = 1_000;

/// The target's side.
impl Sled {
    /// Begins to take over an instance from the VMM that listens at `source`. Nothing, if that is
    /// not what the VMM is for, or it has begun already.
    pub(super) fn take_over(&mut self, id: Uuid, source: SocketAddr, now: DateTime<Utc>) {
        let after = Duration::from_millis(self.pace.migrate_ms);
        let Ok(vmm) = self.living(id) else { return };
        let Some(migration) = vmm.migration(Side::In) else { return };
        if migration.state != MigrationState::Pending {
            return;
        }
        let migration_id = migration.migration_id;
        vmm.migrate(Side::In, MigrationState::InProgress, now);
        vmm.plan += 1;
        let (plan, instance_id) = (vmm.plan, vmm.instance_id);
        self.changed(id);
        let job = TakeOver { vmm: id, plan, instance_id, migration_id, source, after };
        self.add_effect(Effect::TakeOver(job));
    }

    /// Whether a VMM is still taking over an instance: it has neither got it nor come to its end.
    pub fn is_taking_over(&self, job: &TakeOver) -> bool {
        let in_progress = |vmm: &Vmm| {
            vmm.plan == job.plan
                && vmm.migration(Side::In).is_some_and(|m| m.state == MigrationState::InProgress)
        };
        self.vmms.get(&job.vmm).is_some_and(in_progress)
    }

    /// The source has handed over the instance, or it will not.
    pub fn taken_over(&mut self, job: &TakeOver, handed_over: bool, now: DateTime<Utc>) {
        if !self.is_taking_over(job) {
            return;
        }
        let Some(vmm) = self.vmms.get_mut(&job.vmm) else { return };
        if handed_over {
            vmm.migrate(Side::In, MigrationState::Completed, now);
            vmm.reach(VmmState::Running, now);
        } else {
            vmm.reach(VmmState::Failed, now);
        }
        self.changed(job.vmm);
    }
}

/// The source's side.
impl Sled {
    /// A target takes over an instance, or still does: it has to be heard of from time to time.
    pub fn migrate_out(
        &mut self,
        instance_id: Uuid,
        propolis_addr: SocketAddr,
        migration_id: Uuid,
        now: DateTime<Utc>,
    ) -> Result<(), Refusal> {
        let refused = Refusal::NoSuchMigration(migration_id);
        let is_source = |vmm: &Vmm| {
            vmm.instance_id == instance_id && vmm.propolis_addr == propolis_addr && !vmm.has_ended()
        };
        let vmm = self.vmms.iter_mut().find(|(_, vmm)| is_source(vmm));
        let Some((id, vmm)) = vmm else { return Err(refused) };
        let id = *id;
        let known = vmm.migration(Side::Out).is_some_and(|out| out.migration_id == migration_id);
        match vmm.phase() {
            VmmState::Migrating if known => {}
            // One that failed is over: the target that belongs to it has been told so.
            VmmState::Running if !known => {
                vmm.state.migration_out = Some(new_migration(migration_id, now));
                vmm.migrate(Side::Out, MigrationState::InProgress, now);
                vmm.reach(VmmState::Migrating, now);
                self.changed(id);
            }
            _ => return Err(refused),
        }
        self.wait_for_target(id);
        Ok(())
    }

    /// Hands over an instance: it is gone from here. It may be asked for again.
    pub fn hand_over(&mut self, migration_id: Uuid, now: DateTime<Utc>) -> Result<(), Refusal> {
        if self.moved_away.contains(&migration_id) {
            return Ok(());
        }
        let Some(id) = self.leaving(migration_id) else {
            return Err(Refusal::NoSuchMigration(migration_id));
        };
        let vmm = self.living(id)?;
        vmm.migrate(Side::Out, MigrationState::Completed, now);
        vmm.reach(VmmState::Destroyed, now);
        self.changed(id);
        if self.moved_away.len() == MOVED_AWAY_MAX {
            self.moved_away.pop_front();
        }
        self.moved_away.push_back(migration_id);
        Ok(())
    }

    /// Keeps an instance that a target wanted: it runs on. Nothing, if that migration is not under
    /// way.
    pub fn keep(&mut self, migration_id: Uuid, now: DateTime<Utc>) {
        let Some(id) = self.leaving(migration_id) else { return };
        if let Ok(vmm) = self.living(id) {
            vmm.fail_migrations(now);
            vmm.reach(VmmState::Running, now);
            self.changed(id);
        }
    }

    /// It is time to ask whether the target has been heard of again.
    pub(super) fn target_lost(&mut self, id: Uuid, heard: u64, now: DateTime<Utc>) {
        let Ok(vmm) = self.living(id) else { return };
        let is_lost = vmm.heard == heard;
        let migration_id = vmm.migration(Side::Out).map(|out| out.migration_id);
        if let Some(migration_id) = migration_id.filter(|_| is_lost) {
            self.keep(migration_id, now);
        }
    }

    /// The VMM that an instance is leaving in a migration.
    fn leaving(&self, migration_id: Uuid) -> Option<Uuid> {
        let leaves = |vmm: &Vmm| {
            vmm.phase() == VmmState::Migrating
                && vmm.migration(Side::Out).is_some_and(|out| out.migration_id == migration_id)
        };
        self.vmms().find(|(_, vmm)| leaves(vmm)).map(|(id, _)| id)
    }

    fn wait_for_target(&mut self, id: Uuid) {
        if let Ok(vmm) = self.living(id) {
            vmm.heard += 1;
            let kind = StepKind::TargetLost { heard: vmm.heard };
            let step = Step { vmm: id, plan: vmm.plan, kind };
            self.add_effect(Effect::Later { after: TARGET_BOUND, step });
        }
    }
}
