//! A VMM: its state, and the ports of its guest.

use super::port::Port;
use crate::types::{
    Generation, MigrationRuntimeState, MigrationState, ResolvedVpcFirewallRule, SledVmmState,
    VmmRuntimeState, VmmState,
};
use chrono::{DateTime, Utc};
use std::net::SocketAddr;
use uuid::Uuid;

/// A VMM.
///
/// ```text
///  starting ─► running ◄─► rebooting
///                │  ▲
///                ▼  │ (migration out fails)
///             migrating          migrating ─► running
///                │ (out)           (in)  │
///                ▼                       ▼
///  stopping ─► destroyed               failed
/// ```
///
/// From everywhere a stop leads to stopping, or to destroyed where no guest has run yet; a crash
/// to failed; and removal to destroyed.
#[derive(Clone, Debug)]
pub struct Vmm {
    /// The instance that runs in it.
    pub instance_id: Uuid,
    /// Where it listens for its like.
    pub propolis_addr: SocketAddr,
    /// Its state.
    pub state: SledVmmState,
    /// The guest's ports; none once the VMM has ended.
    pub ports: Vec<Port>,
    /// The firewall rules that it came with.
    pub firewall_rules: Vec<ResolvedVpcFirewallRule>,
    /// Whether the guest has been asked to boot.
    pub booting: bool,
    /// Counts the plans for what comes next. A new one takes the place of the one before.
    pub plan: u64,
    /// How often the VMM that takes over the instance has been heard of.
    pub heard: u64,
}

/// Which side of a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one that the instance comes to.
    In,
    /// The one that the instance leaves.
    Out,
}

impl Vmm {
    /// What it is doing.
    pub fn phase(&self) -> VmmState {
        self.state.vmm_state.state
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        matches!(self.phase(), VmmState::Failed | VmmState::Destroyed)
    }

    /// Whether the guest runs, and so sends packets. It does while it is being moved away.
    pub fn guest_runs(&self) -> bool {
        match self.phase() {
            VmmState::Running => true,
            VmmState::Migrating => self.state.migration_out.is_some(),
            _ => false,
        }
    }

    /// Reaches a state. With the VMM its ports end, and migrations that had not completed fail.
    pub fn reach(&mut self, state: VmmState, now: DateTime<Utc>) {
        let generation = self.state.vmm_state.generation.next();
        self.state.vmm_state = VmmRuntimeState { state, generation, time_updated: now };
        if self.has_ended() {
            self.ports.clear();
            self.fail_migrations(now);
        }
    }

    /// Migrations that have not completed fail.
    pub fn fail_migrations(&mut self, now: DateTime<Utc>) {
        for side in [Side::In, Side::Out] {
            if self.migration(side).is_some_and(|migration| !is_over(migration)) {
                self.migrate(side, MigrationState::Failed, now);
            }
        }
    }

    /// A side of a migration reaches a state. Nothing, if there is no migration on that side.
    pub fn migrate(&mut self, side: Side, state: MigrationState, now: DateTime<Utc>) {
        let slot = match side {
            Side::In => &mut self.state.migration_in,
            Side::Out => &mut self.state.migration_out,
        };
        if let Some(migration) = slot {
            migration.state = state;
            migration.generation = migration.generation.next();
            migration.time_updated = now;
        }
    }

    /// The migration on a side.
    pub fn migration(&self, side: Side) -> Option<&MigrationRuntimeState> {
        match side {
            Side::In => self.state.migration_in.as_ref(),
            Side::Out => self.state.migration_out.as_ref(),
        }
    }
}

/// A migration of which nothing has been reported yet. Both sides count their generations from the
/// first, which is that of the record that Nexus makes.
pub fn new_migration(migration_id: Uuid, now: DateTime<Utc>) -> MigrationRuntimeState {
    MigrationRuntimeState {
        migration_id,
        state: MigrationState::Pending,
        generation: Generation::FIRST,
        time_updated: now,
    }
}

/// Whether a migration has come to an end, be it a good one.
pub fn is_over(migration: &MigrationRuntimeState) -> bool {
    matches!(migration.state, MigrationState::Completed | MigrationState::Failed)
}
