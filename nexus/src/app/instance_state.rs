//! What users see of an instance's state.

use crate::db::instance::InstanceAndVmm;
use db_model::{InstanceState as Stored, VmmState};
use nexus_api::types::InstanceState;

impl InstanceAndVmm {
    /// The state as users see it: the VMM's, where there is one, and the record's otherwise. A
    /// VMM that has ended is one that stops, until the record has followed.
    pub fn run_state(&self) -> InstanceState {
        match (self.instance.state, &self.vmm) {
            (Stored::Vmm, Some(_)) if self.instance.migration_id.is_some() => {
                InstanceState::Migrating
            }
            (Stored::Vmm, Some(vmm)) => match vmm.state {
                VmmState::Creating | VmmState::Starting => InstanceState::Starting,
                VmmState::Running => InstanceState::Running,
                VmmState::Rebooting => InstanceState::Rebooting,
                VmmState::Migrating => InstanceState::Migrating,
                VmmState::Stopping | VmmState::Stopped | VmmState::Failed | VmmState::Destroyed => {
                    InstanceState::Stopping
                }
            },
            // The VMM's row is deleted after the instance's record has left it.
            (Stored::Vmm, None) => InstanceState::Stopping,
            (Stored::NoVmm, _) => InstanceState::Stopped,
            (Stored::Creating, _) => InstanceState::Creating,
            (Stored::Failed, _) => InstanceState::Failed,
            (Stored::Destroyed, _) => InstanceState::Destroyed,
        }
    }

    /// When that state began.
    pub fn time_run_state_updated(&self) -> chrono::DateTime<chrono::Utc> {
        match &self.vmm {
            Some(vmm) => vmm.time_state_updated,
            None => self.instance.time_state_updated,
        }
    }
}
