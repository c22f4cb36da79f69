//! Goes over the ports of VMMs, so that each has exactly its instance's external addresses.

use super::{Task, details};
use crate::app::Nexus;
use futures::future::BoxFuture;
use serde_json::Value;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use uuid::Uuid;

/// The task.
#[derive(Default)]
pub(super) struct PortReconciler {
    /// Where the round over all ports has got to.
    cursor: Mutex<Option<Uuid>>,
}

impl PortReconciler {
    fn cursor(&self) -> MutexGuard<'_, Option<Uuid>> {
        self.cursor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Task for PortReconciler {
    fn name(&self) -> &'static str {
        "port_reconciler"
    }

    fn description(&self) -> &'static str {
        "brings the external addresses of the VMMs' ports to the intent"
    }

    fn period(&self) -> Duration {
        Duration::from_millis(1_000)
    }

    fn run<'a>(&'a self, nexus: &'a Nexus) -> BoxFuture<'a, Value> {
        Box::pin(async move {
            let from = *self.cursor();
            let result = nexus.reconcile_ports(from).await;
            let report = result.map(|(report, next)| {
                *self.cursor() = next;
                report
            });
            details("ports", report)
        })
    }
}
