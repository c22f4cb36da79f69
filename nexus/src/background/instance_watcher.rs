//! Asks the sleds for the state of every VMM, for what they could not or did not report.

use super::Task;
use crate::app::Nexus;
use futures::future::BoxFuture;
use serde_json::{Value, json};
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
        Box::pin(async move {
            match nexus.watch_vmms().await {
                Ok(done) => json!({ "checked": done }),
                Err(error) => json!({ "error": error.to_string() }),
            }
        })
    }
}
