//! Deletes NAT entries that were removed long ago and that every switch has passed.

use super::{Task, details};
use crate::app::Nexus;
use futures::future::BoxFuture;
use serde_json::Value;
use std::time::Duration;

/// The task.
pub(super) struct NatCollector;

impl Task for NatCollector {
    fn name(&self) -> &'static str {
        "nat_garbage_collector"
    }

    fn description(&self) -> &'static str {
        "deletes NAT entries that were removed long ago and that every switch has passed"
    }

    fn period(&self) -> Duration {
        Duration::from_millis(30_000)
    }

    fn run<'a>(&'a self, nexus: &'a Nexus) -> BoxFuture<'a, Value> {
        Box::pin(async move { details("deleted", nexus.collect_nat().await) })
    }
}
