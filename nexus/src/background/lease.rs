//! Keeps this process the owner of its sagas.

use super::Task;
use crate::app::Nexus;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

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
            let asked = Instant::now();
            match nexus.sagas.renew_lease().await {
                Ok(()) => {
                    let length = Duration::from_millis(nexus.config.sagas.lease_ms);
                    nexus.metrics.lease.renewed(asked, length);
                    json!({ "renewed": true })
                }
                Err(error) => {
                    nexus.metrics.lease.failures.at([]).inc();
                    json!({ "error": error.to_string() })
                }
            }
        })
    }
}
