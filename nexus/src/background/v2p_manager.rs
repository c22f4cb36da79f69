//! Brings the sleds' v2p mappings to the intent.

use super::{Task, details};
use crate::app::Nexus;
use futures::future::BoxFuture;
use serde_json::Value;
use std::time::Duration;

/// The task.
pub(super) struct V2pManager;

impl Task for V2pManager {
    fn name(&self) -> &'static str {
        "v2p_manager"
    }

    fn description(&self) -> &'static str {
        "brings the sleds' virtual to physical mappings to the intent"
    }

    fn period(&self) -> Duration {
        Duration::from_millis(5_000)
    }

    fn run<'a>(&'a self, nexus: &'a Nexus) -> BoxFuture<'a, Value> {
        Box::pin(async move {
            details("mappings", nexus.dataplane.reconcile_v2p(&nexus.datastore).await)
        })
    }
}
