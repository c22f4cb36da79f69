//! Periodic tasks: each runs on its period, and at once when something activates it.
//!
//! Activations coalesce: those that come while a task runs make it run once more.

mod audit_collector;
mod credential_collector;
mod firewall_manager;
mod instance_updater;
mod instance_watcher;
mod lease;
mod nat_collector;
mod nat_reconciler;
mod port_reconciler;
mod saga_collector;
mod saga_recovery;
mod status;
mod v2p_manager;

pub use status::{Current, Last, Reason, TaskStatus};

use crate::app::Nexus;
use crate::metrics::TaskMetrics;
use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::{Value, json};
use slog::{Logger, debug};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::Notify;

/// Wakes a task.
#[derive(Debug, Default)]
pub struct Activator(Notify);

impl Activator {
    /// Makes the task run, now or once more after its present run.
    pub fn activate(&self) {
        self.0.notify_one();
    }
}

/// A task: what it does in one run, and what it has to say of it.
pub(crate) trait Task: Send + Sync + 'static {
    fn name(&self) -> &'static str;
    fn description(&self) -> &'static str;
    fn period(&self) -> Duration;
    /// One run. A task says in its details what went wrong; it is run again all the same.
    fn run<'a>(&'a self, nexus: &'a Nexus) -> BoxFuture<'a, Value>;
}

struct Handle {
    task: Arc<dyn Task>,
    activator: Arc<Activator>,
    status: Arc<Mutex<TaskStatus>>,
}

/// All tasks of this process.
pub struct Driver {
    tasks: BTreeMap<&'static str, Handle>,
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.tasks.keys()).finish()
    }
}

impl Driver {
    /// The tasks for these switches and sleds, not yet running.
    pub(crate) fn new(nexus: &Nexus, v2p: Arc<Activator>) -> Self {
        let mut driver = Driver { tasks: BTreeMap::new() };
        for switch in nexus.dataplane.switches() {
            driver.add(nat_reconciler::NatReconciler::new(switch.clone(), nexus), None);
        }
        driver.add(lease::Lease::new(nexus), None);
        driver.add(saga_recovery::SagaRecovery, None);
        driver.add(saga_collector::SagaCollector, None);
        driver.add(nat_collector::NatCollector, None);
        driver.add(credential_collector::CredentialCollector, None);
        driver.add(audit_collector::AuditCollector, None);
        driver.add(v2p_manager::V2pManager, Some(v2p));
        driver.add(firewall_manager::FirewallManager, None);
        driver.add(port_reconciler::PortReconciler::default(), None);
        driver.add(instance_updater::InstanceUpdater, None);
        driver.add(instance_watcher::InstanceWatcher, None);
        driver
    }

    fn add(&mut self, task: impl Task, activator: Option<Arc<Activator>>) {
        let status = TaskStatus::new(task.name(), task.description(), task.period());
        let handle = Handle {
            activator: activator.unwrap_or_default(),
            status: Arc::new(Mutex::new(status)),
            task: Arc::new(task),
        };
        self.tasks.insert(handle.task.name(), handle);
    }

    /// Starts all tasks. They run for as long as the process.
    pub(crate) fn start(&self, nexus: &Arc<Nexus>, log: &Logger) {
        for handle in self.tasks.values() {
            tokio::spawn(drive(
                handle.task.clone(),
                handle.activator.clone(),
                handle.status.clone(),
                nexus.clone(),
                log.clone(),
            ));
        }
    }

    /// How all tasks stand, by name.
    pub fn list(&self) -> Vec<TaskStatus> {
        self.tasks.values().map(|handle| lock(&handle.status).clone()).collect()
    }

    /// How one task stands.
    pub fn view(&self, name: &str) -> Option<TaskStatus> {
        self.tasks.get(name).map(|handle| lock(&handle.status).clone())
    }

    /// Activates tasks; or none, if there are names among these that none has, which are returned.
    pub fn activate(&self, names: &[String]) -> Vec<String> {
        let unknown: Vec<String> =
            names.iter().filter(|name| !self.tasks.contains_key(name.as_str())).cloned().collect();
        if unknown.is_empty() {
            for handle in names.iter().filter_map(|name| self.tasks.get(name.as_str())) {
                handle.activator.activate();
            }
        }
        unknown
    }
}

fn lock(status: &Mutex<TaskStatus>) -> std::sync::MutexGuard<'_, TaskStatus> {
    status.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a run has to say: what it has done, under the name `what`, or the `error`.
fn details<T: Serialize, E: Display>(what: &str, result: Result<T, E>) -> Value {
    match result {
        Ok(done) => json!({ what: done }),
        Err(error) => json!({ "error": error.to_string() }),
    }
}

/// Counts a run. One that failed has an `error` in its details.
fn count(metrics: &TaskMetrics, task: &str, elapsed: Duration, details: &Value) {
    metrics.runs.at([task]).inc();
    metrics.last_duration.at([task]).set(elapsed.as_secs_f64());
    if details.get("error").is_some() {
        metrics.failures.at([task]).inc();
    } else {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        metrics.last_success.at([task]).set(now.as_secs_f64());
    }
}

async fn drive(
    task: Arc<dyn Task>,
    activator: Arc<Activator>,
    status: Arc<Mutex<TaskStatus>>,
    nexus: Arc<Nexus>,
    log: Logger,
) {
    let mut reason = Reason::Timeout;
    loop {
        lock(&status).begin(reason);
        let started = Instant::now();
        let details = task.run(&nexus).await;
        debug!(log, "background task ran"; "task" => task.name(), "details" => %details);
        count(&nexus.metrics.tasks, task.name(), started.elapsed(), &details);
        lock(&status).end(started.elapsed(), details);
        reason = tokio::select! {
            () = activator.0.notified() => Reason::Signaled,
            () = tokio::time::sleep(task.period()) => Reason::Timeout,
        };
    }
}
