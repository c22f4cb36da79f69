//! Ends entries of the audit log that nobody will complete, and deletes old ones.

use super::{Task, details};
use crate::app::Nexus;
use futures::future::BoxFuture;
use serde_json::Value;
use std::time::Duration;

/// The task.
pub(super) struct AuditCollector;

impl Task for AuditCollector {
    fn name(&self) -> &'static str {
        "audit_collector"
    }

    fn description(&self) -> &'static str {
        "ends entries of the audit log that nobody will complete, and deletes old ones"
    }

    fn period(&self) -> Duration {
        Duration::from_secs(300)
    }

    fn run<'a>(&'a self, nexus: &'a Nexus) -> BoxFuture<'a, Value> {
        Box::pin(async move { details("entries", nexus.audit_collect().await) })
    }
}
