//! Takes over the sagas of Nexuses that are gone.

use super::{Task, details};
use crate::app::Nexus;
use futures::future::BoxFuture;
use serde_json::Value;
use std::time::Duration;

/// The task.
pub(super) struct SagaRecovery;

impl Task for SagaRecovery {
    fn name(&self) -> &'static str {
        "saga_recovery"
    }

    fn description(&self) -> &'static str {
        "takes over the unfinished sagas of Nexuses that are gone"
    }

    fn period(&self) -> Duration {
        Duration::from_millis(1_000)
    }

    fn run<'a>(&'a self, nexus: &'a Nexus) -> BoxFuture<'a, Value> {
        Box::pin(async move { details("taken", nexus.sagas.take_over().await) })
    }
}
