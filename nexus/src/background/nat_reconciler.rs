//! Compares a switch's NAT table with the intent, in whole, and repairs it.

use super::{Task, details};
use crate::app::Nexus;
use crate::dataplane::nat::SwitchWorker;
use futures::future::BoxFuture;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// The reconciler of one switch.
pub(super) struct NatReconciler {
    switch: Arc<SwitchWorker>,
    name: &'static str,
    period: Duration,
}

impl NatReconciler {
    pub(super) fn new(switch: Arc<SwitchWorker>, nexus: &Nexus) -> Self {
        // There are two switches in a rack, made once: their names live as long as the process.
        let name = Box::leak(format!("nat_reconciler_{}", switch.slot()).into_boxed_str());
        let period = Duration::from_secs(nexus.config.dataplane.reconcile_period_secs);
        NatReconciler { switch, name, period }
    }
}

impl Task for NatReconciler {
    fn name(&self) -> &'static str {
        self.name
    }

    fn description(&self) -> &'static str {
        "compares a switch's NAT table with the intended entries, and repairs it"
    }

    fn period(&self) -> Duration {
        self.period
    }

    fn run<'a>(&'a self, _: &'a Nexus) -> BoxFuture<'a, Value> {
        Box::pin(async move { details("repairs", self.switch.reconcile().await) })
    }
}
