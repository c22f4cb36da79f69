//! Asks the sleds for the state of every VMM, for what they could not or did not report.

use super::{Task, details};
use crate::app::Nexus;
use futures::future::BoxFuture;
use serde_json::Value;
use std::time::Duration;

/// The task.
pub(super) struct InstanceWatcher;

impl Task for InstanceWatcher {
    fn name(&self) -> &'static str {
        "instance_watcher"
    }

    fn description(&self) -> &'static str {
        "asks the sleds for the state of every VMM"
    }

    fn period(&self) -> Duration {
        Duration::from_millis(5_000)
    }

    fn run<'a>(&'a self, nexus: &'a Nexus) -> BoxFuture<'a, Value> {
        Box::pin(async move { details("checked", nexus.watch_vmms().await) })
    }
}
