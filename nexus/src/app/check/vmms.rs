//! VMMs: their rows, and what the sleds say of them.
//!
//! A sled agent tells of the VMMs that it is asked about. Those that nobody knows of are seen by
//! whoever sees all that a sled has.

use super::findings::{Findings, violation};
use super::looks::walk;
use crate::app::Nexus;
use crate::dataplane::sled::SledError;
use crate::db::check::VmmFacts;
use crate::db::vmm::VmmReport;
use db_model::VmmState;
use futures::StreamExt;
use nexus_common::Error;
use nexus_internal_api::types::{Violation, ViolationKind};

/// VMMs that are asked about at the same time.
const CONCURRENCY: usize = 16;

/// What a sled says of a VMM.
enum Said {
    /// This.
    Report(VmmReport),
    /// That it has none.
    Gone,
    /// Nothing: it was not asked, or it did not answer.
    Nothing,
}

impl Nexus {
    pub(super) async fn check_vmms(&self, findings: &Findings) -> Result<(), Error> {
        let load = |window| async move {
            let rows = self.datastore.check_vmms(window).await?;
            let asked = futures::stream::iter(rows)
                .map(|facts| self.ask_sled(facts, findings))
                .buffered(CONCURRENCY);
            Ok(asked.collect::<Vec<_>>().await)
        };
        let seen = walk(findings, |(facts, _)| facts.vmm.id, load, judge).await?;
        findings.count(|counts| counts.vmms += seen);
        Ok(())
    }

    async fn ask_sled(&self, facts: VmmFacts, findings: &Findings) -> (VmmFacts, Said) {
        let Some(sled) = &facts.sled else { return (facts, Said::Nothing) };
        // One that is being made is not on its sled yet.
        if facts.vmm.state == VmmState::Creating {
            return (facts, Said::Nothing);
        }
        let answer = match self.dataplane.sleds.agent_of(sled) {
            Ok(agent) => agent.vmm_state(facts.vmm.id).await,
            Err(error) => Err(SledError::Failed(error.to_string())),
        };
        let said = match answer {
            Ok(report) => Said::Report(report),
            Err(SledError::Gone) => Said::Gone,
            Err(error) => {
                findings.unchecked(format!("sled {}: its VMMs: {error}", sled.id));
                Said::Nothing
            }
        };
        (facts, said)
    }
}

fn judge((facts, said): &(VmmFacts, Said)) -> Vec<Violation> {
    let why = misplaced(facts).or_else(|| differs(facts, said));
    let ids =
        [("vmm", facts.vmm.id), ("instance", facts.vmm.instance_id), ("sled", facts.vmm.sled_id)];
    let say = |why| violation(ViolationKind::Vmm, format!("the VMM {why}"), ids);
    why.map(say).into_iter().collect()
}

fn misplaced(facts: &VmmFacts) -> Option<String> {
    let id = Some(facts.vmm.id);
    if facts.sled.is_none() {
        return Some("is on a sled that does not exist".to_string());
    }
    match &facts.instance {
        None => Some("is of an instance that does not exist".to_string()),
        Some(instance) if instance.time_deleted.is_some() => {
            Some("is of an instance that was deleted".to_string())
        }
        Some(instance) if instance.active_vmm_id != id && instance.target_vmm_id != id => {
            Some(format!("({}) is not one that its instance has", facts.vmm.state))
        }
        Some(_) => None,
    }
}

fn differs(facts: &VmmFacts, said: &Said) -> Option<String> {
    let vmm = &facts.vmm;
    // What a sled has forgotten once Nexus knew that it had ended is as it should be.
    let ended = vmm.state.is_terminal();
    match said {
        Said::Nothing => None,
        Said::Gone => {
            (!ended).then(|| format!("is {} as recorded, but its sled has none", vmm.state))
        }
        Said::Report(report) => {
            let same = report.state == vmm.state && report.generation == vmm.generation;
            (!same).then(|| {
                format!(
                    "is {} as recorded (generation {}), but {} as its sled says (generation {})",
                    vmm.state, vmm.generation, report.state, report.generation
                )
            })
        }
    }
}
