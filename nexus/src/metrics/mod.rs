//! What an operator watches, in the text format of Prometheus.
//!
//! [`Metrics`] is made once, by the program, and handed to everything that counts. What happens is
//! counted where it happens; what merely is (a lag, a pool's use) is read when someone looks, by
//! [`crate::app::Nexus::metrics_text`]. Names follow the conventions of Prometheus: base units, `_total`
//! on counters, and `nexus_` before everything. docs/operations.md says what each is good for.

pub mod process;
mod saga;
mod series;

pub use saga::SagaMeter;
pub use series::{Counter, Gauge, Histogram, Series, durations};

use prometheus_client::encoding::prometheus_text;
use prometheus_client::registry::Registry;
use std::time::SystemTime;

/// The type of the text that [`encode`] makes.
pub const CONTENT_TYPE: &str = prometheus_text::CONTENT_TYPE;

/// A registry for metrics of Nexus.
pub fn registry() -> Registry {
    Registry::with_prefix("nexus")
}

/// Everything that is counted, and the registry that it is in.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// When the process began.
    pub started: SystemTime,
    pub http: HttpMetrics,
    pub sagas: SagaMetrics,
    pub switches: SwitchMetrics,
    pub sleds: SledMetrics,
    pub tasks: TaskMetrics,
    pub database: DatabaseMetrics,
}

impl Metrics {
    /// All metrics, at zero.
    pub fn new() -> Self {
        let mut registry = registry();
        Metrics {
            started: SystemTime::now(),
            http: HttpMetrics::new(&mut registry),
            sagas: SagaMetrics::new(&mut registry),
            switches: SwitchMetrics::new(&mut registry),
            sleds: SledMetrics::new(&mut registry),
            tasks: TaskMetrics::new(&mut registry),
            database: DatabaseMetrics::new(&mut registry),
            registry,
        }
    }

    /// Everything as text, with what is in `momentary` besides.
    pub fn encode(&self, momentary: &Registry) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        prometheus_text::encode(&mut text, &self.registry)?;
        prometheus_text::encode(&mut text, momentary)?;
        Ok(text)
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Metrics::new()
    }
}

/// Requests to the three APIs.
#[derive(Debug)]
pub struct HttpMetrics {
    /// By API and operation: requests that came in, those included that are refused before the
    /// operation begins.
    pub received: Series<Counter, 2>,
    /// By API, operation and status.
    pub requests: Series<Counter, 3>,
    /// By API and operation.
    pub duration: Series<Histogram, 2>,
    /// By API.
    pub in_flight: Series<Gauge, 1>,
    /// By API.
    pub connections: Series<Gauge, 1>,
    /// By API and reason: connections that the server ended before their clients did.
    pub connections_ended: Series<Counter, 2>,
}

impl HttpMetrics {
    fn new(registry: &mut Registry) -> Self {
        HttpMetrics {
            received: Series::register(
                registry,
                "http_requests_received",
                "Requests that came in, also those that cannot be read",
                ["api", "operation"],
                Counter::default,
            ),
            requests: Series::register(
                registry,
                "http_requests",
                "Requests that were answered; of no operation: those that no operation is for",
                ["api", "operation", "status"],
                Counter::default,
            ),
            duration: Series::register(
                registry,
                "http_request_duration_seconds",
                "How long operations took",
                ["api", "operation"],
                durations,
            ),
            in_flight: Series::register(
                registry,
                "http_requests_in_flight",
                "Operations that are going on",
                ["api"],
                Gauge::default,
            ),
            connections: Series::register(
                registry,
                "http_connections",
                "Connections of clients",
                ["api"],
                Gauge::default,
            ),
            connections_ended: Series::register(
                registry,
                "http_connections_ended",
                "Connections that were ended because of a limit: quiet, crowded, or refused",
                ["api", "reason"],
                Counter::default,
            ),
        }
    }
}

/// Sagas that this process runs.
#[derive(Debug)]
pub struct SagaMetrics {
    /// By saga and state: those that are going on.
    pub running: Series<Gauge, 2>,
    /// By saga and outcome.
    pub finished: Series<Counter, 2>,
    /// By saga.
    pub node_retries: Series<Counter, 1>,
    /// By saga.
    pub undo_retries: Series<Counter, 1>,
    /// By saga: resumed here, of an earlier life of this process or of another.
    pub taken_over: Series<Counter, 1>,
    /// By saga: found in the hands of another.
    pub lost: Series<Counter, 1>,
    /// Renewals of the lease on sagas that failed.
    pub lease_renewal_failures: Series<Counter, 0>,
}

impl SagaMetrics {
    fn new(registry: &mut Registry) -> Self {
        let mut by_saga =
            |name, help| Series::register(registry, name, help, ["saga"], Counter::default);
        SagaMetrics {
            node_retries: by_saga("saga_node_retries", "Calls of actions that were tried again"),
            undo_retries: by_saga("saga_undo_retries", "Steps of undos that were tried again"),
            taken_over: by_saga("sagas_taken_over", "Unfinished sagas that were resumed here"),
            lost: by_saga("sagas_lost", "Sagas that another Nexus took from this one"),
            running: Series::register(
                registry,
                "sagas",
                "Sagas that this process runs now: running, or unwinding",
                ["saga", "state"],
                Gauge::default,
            ),
            finished: Series::register(
                registry,
                "sagas_finished",
                "Sagas that ended: succeeded, undone, stuck, or never begun",
                ["saga", "outcome"],
                Counter::default,
            ),
            lease_renewal_failures: Series::register(
                registry,
                "saga_lease_renewal_failures",
                "Renewals of the lease on sagas that failed",
                [],
                Counter::default,
            ),
        }
    }
}

/// NAT on the switches.
#[derive(Debug)]
pub struct SwitchMetrics {
    /// By switch and outcome: addresses brought to the intent on behalf of sagas.
    pub pushes: Series<Counter, 2>,
    /// By switch: callers who went on without the switch.
    pub left_behind: Series<Counter, 1>,
    /// By switch: mappings changed by the reconciler.
    pub repairs: Series<Counter, 1>,
}

impl SwitchMetrics {
    fn new(registry: &mut Registry) -> Self {
        SwitchMetrics {
            pushes: Series::register(
                registry,
                "nat_pushes",
                "Addresses pushed to a switch, each try: ok, or failed",
                ["switch", "outcome"],
                Counter::default,
            ),
            left_behind: Series::register(
                registry,
                "nat_changes_left_behind",
                "Changes that were answered before the switch held them",
                ["switch"],
                Counter::default,
            ),
            repairs: Series::register(
                registry,
                "nat_repairs",
                "Mappings that the reconciler added to a switch or removed from it",
                ["switch"],
                Counter::default,
            ),
        }
    }
}

/// Calls to sleds.
#[derive(Debug)]
pub struct SledMetrics {
    /// By operation and outcome.
    pub calls: Series<Counter, 2>,
    /// By operation.
    pub duration: Series<Histogram, 1>,
    /// By what was done with a mapping.
    pub v2p_repairs: Series<Counter, 1>,
    /// Sleds that a comparison of v2p mappings could not reach.
    pub v2p_unreached: Series<Counter, 0>,
}

impl SledMetrics {
    fn new(registry: &mut Registry) -> Self {
        SledMetrics {
            calls: Series::register(
                registry,
                "sled_calls",
                "Calls to sled agents: ok, gone, no_answer, busy, refused, or failed",
                ["operation", "outcome"],
                Counter::default,
            ),
            duration: Series::register(
                registry,
                "sled_call_duration_seconds",
                "How long calls to sled agents took",
                ["operation"],
                durations,
            ),
            v2p_repairs: Series::register(
                registry,
                "v2p_repairs",
                "Mappings of private addresses that were added to sleds or removed from them",
                ["change"],
                Counter::default,
            ),
            v2p_unreached: Series::register(
                registry,
                "v2p_sleds_unreached",
                "Sleds that could not be compared with the intended mappings, each try",
                [],
                Counter::default,
            ),
        }
    }
}

/// Background tasks, by task.
#[derive(Debug)]
pub struct TaskMetrics {
    pub runs: Series<Counter, 1>,
    pub failures: Series<Counter, 1>,
    pub last_duration: Series<Gauge, 1>,
    pub last_success: Series<Gauge, 1>,
}

impl TaskMetrics {
    fn new(registry: &mut Registry) -> Self {
        let mut counter =
            |name, help| Series::register(registry, name, help, ["task"], Counter::default);
        let runs = counter("background_task_runs", "Runs of a background task");
        let failures = counter("background_task_failures", "Runs that failed");
        let mut gauge =
            |name, help| Series::register(registry, name, help, ["task"], Gauge::default);
        TaskMetrics {
            runs,
            failures,
            last_duration: gauge(
                "background_task_last_duration_seconds",
                "How long the last run took",
            ),
            last_success: gauge(
                "background_task_last_success_timestamp_seconds",
                "When a run last ended without failure, since 1970",
            ),
        }
    }
}

/// What is asked of the database.
#[derive(Debug)]
pub struct DatabaseMetrics {
    /// By transaction and outcome.
    pub transactions: Series<Counter, 2>,
    /// By transaction.
    pub retries: Series<Counter, 1>,
    /// Waits for a connection that ended without one.
    pub no_connection: Series<Counter, 0>,
}

impl DatabaseMetrics {
    fn new(registry: &mut Registry) -> Self {
        DatabaseMetrics {
            transactions: Series::register(
                registry,
                "database_transactions",
                "Transactions: ok, refused, given_up (conflicts), lost (connection), or failed",
                ["transaction", "outcome"],
                Counter::default,
            ),
            retries: Series::register(
                registry,
                "database_transaction_retries",
                "Transactions that were run again after a conflict",
                ["transaction"],
                Counter::default,
            ),
            no_connection: Series::register(
                registry,
                "database_connection_waits_failed",
                "Waits for a connection that ended without one, and with a 503",
                [],
                Counter::default,
            ),
        }
    }
}
