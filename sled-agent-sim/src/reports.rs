//! Tells Nexus of the states of VMMs.
//!
//! Each VMM of which there is something to tell has a task, which tells it in order and tries
//! again, with growing pauses, until Nexus has accepted the last state.

use crate::agent::Agent;
use crate::model::Outbox;
use crate::types::SledVmmState;
use nexus_client::internal::Client;
use sim_kit::{NexusError, SimContext};
use slog::{debug, error, warn};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use uuid::Uuid;

/// The first pause after a report that did not get through. Each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// What Nexus is still to be told, by VMM.
#[derive(Debug, Default)]
pub struct Reports(Mutex<HashMap<Uuid, Reporter>>);

/// What Nexus is still to be told of a VMM.
#[derive(Debug, Default)]
struct Reporter {
    outbox: Outbox,
    /// Ends the pause of the VMM's task.
    news: Arc<Notify>,
}

impl Reports {
    /// A VMM has a new state.
    pub fn push(&self, agent: &Arc<Agent>, vmm: Uuid, state: SledVmmState) {
        match self.lock().entry(vmm) {
            Entry::Occupied(mut entry) => {
                entry.get_mut().outbox.push(state);
                entry.get().news.notify_one();
            }
            Entry::Vacant(entry) => {
                let reporter = entry.insert(Reporter::default());
                reporter.outbox.push(state);
                let news = Arc::clone(&reporter.news);
                agent.tasks().spawn(report(Arc::clone(agent), vmm, news));
            }
        }
    }

    /// Nexus need not be told of a VMM any more.
    pub fn forget(&self, vmm: Uuid) {
        if let Some(reporter) = self.lock().remove(&vmm) {
            reporter.news.notify_one();
        }
    }

    /// The state of a VMM that is to be told next. If there is none, the task that `news` belongs
    /// to has nothing more to do.
    fn next(&self, vmm: Uuid, news: &Arc<Notify>) -> Option<SledVmmState> {
        let mut reporters = self.lock();
        // A VMM that was forgotten and made again has another task.
        let reporter = reporters.get(&vmm).filter(|reporter| Arc::ptr_eq(&reporter.news, news))?;
        let next = reporter.outbox.next().cloned();
        if next.is_none() {
            reporters.remove(&vmm);
        }
        next
    }

    fn settle(&self, vmm: Uuid, news: &Arc<Notify>, settle: impl FnOnce(&mut Outbox)) {
        let mut reporters = self.lock();
        let reporter = reporters.get_mut(&vmm);
        if let Some(reporter) = reporter.filter(|reporter| Arc::ptr_eq(&reporter.news, news)) {
            settle(&mut reporter.outbox);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, Reporter>> {
        // Nothing panics while it holds the lock, and a map is a map even so.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells Nexus of a VMM until there is nothing left to tell.
async fn report(agent: Arc<Agent>, vmm: Uuid, news: Arc<Notify>) {
    let log = &agent.log;
    let mut pause = FIRST_PAUSE;
    while let Some(state) = agent.reports.next(vmm, &news) {
        let generation = state.vmm_state.generation;
        match tell(&agent, vmm, &state).await {
            Ok(()) => {
                debug!(log, "told Nexus"; "vmm" => %vmm, "state" => %state.vmm_state.state);
            }
            Err(NexusError::Refused(status, message)) => {
                error!(log, "Nexus does not want to know"; "vmm" => %vmm,
                    "state" => %state.vmm_state.state, "status" => %status, "error" => message);
            }
            Err(NexusError::Failed(message)) => {
                if pause == FIRST_PAUSE {
                    warn!(log, "cannot tell Nexus yet"; "vmm" => %vmm, "error" => message);
                }
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = news.notified() => {}
                }
                pause = LONGEST_PAUSE.min(pause * 2);
                agent.reports.settle(vmm, &news, Outbox::failed);
                continue;
            }
        }
        pause = FIRST_PAUSE;
        agent.reports.settle(vmm, &news, Outbox::done);
        agent.with(|sled| sled.reported(vmm, generation));
    }
}

async fn tell(agent: &Agent, vmm: Uuid, state: &SledVmmState) -> Result<(), NexusError> {
    let state = for_nexus(state)?;
    let request = |nexus: Client| {
        let state = &state;
        async move { nexus.cpapi_instances_put(&vmm, state).await }
    };
    agent.nexus.ask(request).await
}

/// The state as the client of Nexus has it. Both types are that of the document of Nexus's API, so
/// that one reads what the other writes.
fn for_nexus(
    state: &SledVmmState,
) -> Result<nexus_client::internal::types::SledVmmState, NexusError> {
    let json = serde_json::to_value(state).and_then(serde_json::from_value);
    json.map_err(|error| NexusError::Failed(error.to_string()))
}
