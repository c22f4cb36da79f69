//! Brings the sleds' firewall rules to the intent.

use super::{Task, details};
use crate::app::Nexus;
use futures::future::BoxFuture;
use serde_json::Value;
use std::time::Duration;

/// The task.
pub(super) struct FirewallManager;

impl Task for FirewallManager {
    fn name(&self) -> &'static str {
        "firewall_manager"
    }

    fn description(&self) -> &'static str {
        "tells the sleds the firewall rules of the VPCs that they have ports of"
    }

    fn period(&self) -> Duration {
        Duration::from_secs(60)
    }

    fn run<'a>(&'a self, nexus: &'a Nexus) -> BoxFuture<'a, Value> {
        Box::pin(async move {
            details("firewalls", nexus.dataplane.reconcile_firewalls(&nexus.datastore).await)
        })
    }
}
