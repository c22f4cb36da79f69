//! Goes on with instances whose VMM has ended, where a crash kept them from being brought in line.

use super::{Task, details};
use crate::app::Nexus;
use futures::future::BoxFuture;
use serde_json::Value;
use std::time::Duration;

/// The task.
pub(super) struct InstanceUpdater;

impl Task for InstanceUpdater {
    fn name(&self) -> &'static str {
        "instance_updater"
    }

    fn description(&self) -> &'static str {
        "brings the records of instances in line with what is known of their VMMs"
    }

    fn period(&self) -> Duration {
        Duration::from_millis(2_000)
    }

    fn run<'a>(&'a self, nexus: &'a Nexus) -> BoxFuture<'a, Value> {
        Box::pin(async move { details("settled", nexus.settle_all().await) })
    }
}
