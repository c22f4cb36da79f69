//! Deletes the records of sagas that finished long ago.

use super::{Task, details};
use crate::app::Nexus;
use futures::future::BoxFuture;
use serde_json::Value;
use std::time::Duration;

/// The task.
pub(super) struct SagaCollector;

impl Task for SagaCollector {
    fn name(&self) -> &'static str {
        "saga_collector"
    }

    fn description(&self) -> &'static str {
        "deletes the records of sagas that finished long ago"
    }

    fn period(&self) -> Duration {
        Duration::from_millis(60_000)
    }

    fn run<'a>(&'a self, nexus: &'a Nexus) -> BoxFuture<'a, Value> {
        Box::pin(async move { details("deleted", nexus.collect_sagas().await) })
    }
}
