//! Deletes sessions, tokens and requests for tokens whose time is over.

use super::{Task, details};
use crate::app::Nexus;
use futures::future::BoxFuture;
use serde_json::Value;
use std::time::Duration;

/// The task.
pub(super) struct CredentialCollector;

impl Task for CredentialCollector {
    fn name(&self) -> &'static str {
        "credential_collector"
    }

    fn description(&self) -> &'static str {
        "deletes sessions, tokens and requests for tokens whose time is over"
    }

    fn period(&self) -> Duration {
        Duration::from_millis(300_000)
    }

    fn run<'a>(&'a self, nexus: &'a Nexus) -> BoxFuture<'a, Value> {
        Box::pin(async move { details("deleted", nexus.collect_credentials().await) })
    }
}
