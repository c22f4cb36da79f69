//! Instances that are between two states with nobody working on it.
//!
//! A saga that is unfinished works on it, and so does a sled that says itself that the VMM is
//! starting or stopping; the first is a violation of its own, the second is none.

use super::findings::{Findings, violation};
use super::looks::walk;
use crate::app::Nexus;
use crate::db::check::InstanceFacts;
use db_model::{InstanceState, Migration, Vmm, VmmState};
use nexus_common::Error;
use nexus_internal_api::types::{Violation, ViolationKind};

impl Nexus {
    pub(super) async fn check_instances(&self, findings: &Findings) -> Result<(), Error> {
        let load = |window| self.datastore.check_instances(window);
        let seen = walk(findings, |facts: &InstanceFacts| facts.instance.id, load, judge).await?;
        findings.count(|counts| counts.instances += seen);
        Ok(())
    }
}

fn judge(facts: &InstanceFacts) -> Vec<Violation> {
    if facts.worked_on {
        return Vec::new();
    }
    let vmm = facts.instance.active_vmm_id.map(|id| ("vmm", id));
    let ids = || [("instance", facts.instance.id)].into_iter().chain(vmm);
    let say = |why: String| {
        let message = format!("the instance {why}, and nobody works on it");
        violation(ViolationKind::InstanceStuck, message, ids())
    };
    let stuck = match facts.instance.state {
        InstanceState::Creating => Some("is being created".to_string()),
        InstanceState::Vmm => without_vmm(facts),
        InstanceState::Destroyed => Some("is destroyed but not deleted".to_string()),
        InstanceState::NoVmm | InstanceState::Failed => None,
    };
    stuck.or_else(|| migrating(facts)).map(say).into_iter().collect()
}

/// An instance that has a VMM as its record says, but none that can ever run.
fn without_vmm(facts: &InstanceFacts) -> Option<String> {
    let Some(vmm) = &facts.active else {
        return Some("has a VMM that does not exist".to_string());
    };
    if vmm.time_deleted.is_some() {
        return Some("has a VMM that was deleted".to_string());
    }
    match vmm.state {
        VmmState::Creating => Some("has a VMM that no sled has heard of".to_string()),
        VmmState::Failed | VmmState::Destroyed => Some("has a VMM that has ended".to_string()),
        VmmState::Migrating if facts.instance.migration_id.is_none() => {
            Some("has a VMM that migrates, but no migration".to_string())
        }
        _ => None,
    }
}

fn migrating(facts: &InstanceFacts) -> Option<String> {
    facts.instance.migration_id?;
    let over = |migration: &&Migration| {
        migration.time_deleted.is_some()
            || migration.source_state.is_terminal() && migration.target_state.is_terminal()
    };
    match &facts.migration {
        None => return Some("is in a migration that does not exist".to_string()),
        Some(migration) if over(&migration) => {
            return Some("is in a migration that is over".to_string());
        }
        Some(_) => {}
    }
    let gone = |vmm: &Vmm| vmm.time_deleted.is_some() || vmm.state.is_terminal();
    if facts.target.as_ref().is_none_or(gone) {
        return Some("migrates to a VMM that is no more".to_string());
    }
    None
}
