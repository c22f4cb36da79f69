//! Faults that tests put into a saga on purpose, node by node. Nothing else uses them.

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use steno::{RepeatInjected, SagaDag, SagaId, SagaNodeEvent, SecClient};
use tokio::sync::watch;

/// What happens to a node, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Its action runs twice, and so does its undo if it comes to that.
    Repeat(String),
    /// Its action is not run, and fails.
    Fail(String),
    /// Its action is done, and the process dies before that is recorded.
    CrashAfterAction(String),
    /// Its undo is done, and the process dies before that is recorded.
    CrashAfterUndo(String),
}

/// Faults for the next saga of a name.
#[derive(Debug)]
pub struct Faults {
    planned: Mutex<Option<(String, Vec<Fault>)>>,
    crashed: watch::Sender<bool>,
}

impl Default for Faults {
    fn default() -> Self {
        Faults { planned: Mutex::default(), crashed: watch::Sender::new(false) }
    }
}

impl Faults {
    /// Plans faults for the next new saga of this name.
    pub fn plan(&self, saga: &str, faults: Vec<Fault>) {
        let mut planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        *planned = Some((saga.to_string(), faults));
    }

    /// Waits until a saga stands still in a planned crash. The test ends the process then, as far
    /// as it can: a crashed saga does nothing more.
    pub async fn crashed(&self) {
        let mut crashed = self.crashed.subscribe();
        // The sender is `self`, so it is there.
        let _ = crashed.wait_for(|crashed| *crashed).await;
    }

    /// The faults for a saga that begins, if it is the one that they were planned for.
    pub(super) fn take(&self, saga: &str) -> Vec<Fault> {
        let mut planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        match planned.take_if(|(name, _)| name == saga) {
            Some((_, faults)) => faults,
            None => Vec::new(),
        }
    }

    /// Stands still for ever.
    pub(super) async fn crash(&self) {
        self.crashed.send_replace(true);
        std::future::pending().await
    }
}

impl Fault {
    /// Whether the process dies before it records this event.
    pub(super) fn is_crash_at(&self, dag: &SagaDag, event: &SagaNodeEvent) -> bool {
        let (node, label) = match self {
            Fault::CrashAfterAction(node) => (node, "succeeded"),
            Fault::CrashAfterUndo(node) => (node, "undo_finished"),
            Fault::Repeat(_) | Fault::Fail(_) => return false,
        };
        event.event_type.label() == label
            && dag
                .get_index(node)
                .is_ok_and(|index| index.index() == u32::from(event.node_id) as usize)
    }

    /// Tells steno of the fault, where it is steno's to make.
    pub(super) async fn inject(
        &self,
        sec: &SecClient,
        id: SagaId,
        dag: &SagaDag,
    ) -> Result<(), anyhow::Error> {
        const TWICE: NonZeroU32 = NonZeroU32::new(2).unwrap();
        match self {
            Fault::Repeat(node) => {
                let repeat = RepeatInjected { action: TWICE, undo: TWICE };
                sec.saga_inject_repeat(id, dag.get_index(node)?, repeat).await
            }
            Fault::Fail(node) => sec.saga_inject_error(id, dag.get_index(node)?).await,
            Fault::CrashAfterAction(_) | Fault::CrashAfterUndo(_) => Ok(()),
        }
    }
}
