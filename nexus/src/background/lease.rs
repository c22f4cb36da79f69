//! Keeps this process the owner of its sagas.

use super::{Task, details};
use crate::app::Nexus;
use futures::future::BoxFuture;
use serde_json::Value;
use std::time::Duration;

/// The task.
pub(super) struct Lease {
    period: Duration,
}

impl Lease {
    pub(super) fn new(nexus: &Nexus) -> Self {
        // Several renewals may fail before the lease is over.
        Lease { period: Duration::from_millis(nexus.config.sagas.lease_ms / 5) }
    }
}

impl Task for Lease {
    fn name(&self) -> &'static str {
        "saga_lease"
    }

    fn description(&self) -> &'static str {
        "renews the lease under which this process runs sagas"
    }

    fn period(&self) -> Duration {
        self.period
    }

    fn run<'a>(&'a self, nexus: &'a Nexus) -> BoxFuture<'a, Value> {
        Box::pin(async move {
            let renewed = nexus.sagas.renew_lease().await;
            if renewed.is_err() {
                nexus.metrics.sagas.lease_renewal_failures.at([]).inc();
            }
            details("renewed", renewed.map(|()| true))
        })
    }
}
