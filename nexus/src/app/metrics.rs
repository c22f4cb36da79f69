//! The metrics as text: what was counted, and what is read at the moment.
//!
//! Whoever looks is answered soon, whatever state the database is in: it is asked within a bound,
//! and what only it knows is left out when it does not answer. What costs more to read is kept for
//! a while, however many look.

use super::Nexus;
use crate::db::ip_pool::{PoolFilter, Utilization};
use crate::metrics::{self, Gauge, Series, process};
use nexus_common::{Direction, Error, PageBy, PageParams};
use prometheus_client::registry::Registry;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::timeout;

/// The longest that the database is waited for.
const BOUND: Duration = Duration::from_secs(1);
/// How long the use of pools is kept.
const POOLS_KEPT: Duration = Duration::from_secs(15);
/// The most pools that are shown.
const MAX_POOLS: NonZeroU32 = NonZeroU32::new(100).unwrap();

/// A pool, and how much of it is in use.
#[derive(Clone, Debug)]
struct PoolUse {
    pool: String,
    ip_version: &'static str,
    of: Utilization,
}

/// The use of pools as it was read last, and when.
type Kept = Option<(Instant, Vec<PoolUse>)>;

/// What is kept. Whoever reads it anew holds the lock.
#[derive(Debug, Default)]
pub(crate) struct PoolUses(Arc<Mutex<Kept>>);

fn gauges<const N: usize>(
    registry: &mut Registry,
    name: &str,
    help: &str,
    labels: [&'static str; N],
) -> Series<Gauge, N> {
    Series::register(registry, name, help, labels, Gauge::default)
}

impl Nexus {
    /// All metrics of this process, in the text format of Prometheus.
    pub async fn metrics_text(self: &Arc<Self>) -> Result<String, Error> {
        let mut registry = metrics::registry();
        let newest = timeout(BOUND, self.datastore.nat_generation()).await;
        let newest = newest.ok().and_then(Result::ok);
        let up = gauges(&mut registry, "database_up", "Whether the database answers", []);
        up.at([]).set(f64::from(newest.is_some()));
        self.switches_now(&mut registry, newest);
        self.connections_now(&mut registry);
        self.lease_now(&mut registry);
        self.process_now(&mut registry);
        if newest.is_some()
            && let Some(pools) = self.pool_uses().await
        {
            pools_now(&mut registry, &pools);
        }
        self.metrics.encode(&registry).map_err(Error::internal)
    }

    fn switches_now(&self, registry: &mut Registry, newest: Option<i64>) {
        let reachable = gauges(
            registry,
            "nat_switch_reachable",
            "Whether the switch did what it was last asked",
            ["switch"],
        );
        let queue = gauges(
            registry,
            "nat_queue_length",
            "Addresses that wait to be pushed to the switch",
            ["switch"],
        );
        let passed = gauges(
            registry,
            "nat_switch_generation",
            "The generation of NAT changes that the switch is known to have passed",
            ["switch"],
        );
        for switch in self.dataplane.switches() {
            let slot = [switch.slot()];
            reachable.at(slot).set(f64::from(switch.is_reachable()));
            queue.at(slot).set(switch.queue_length() as f64);
            passed.at(slot).set(switch.passed() as f64);
        }
        let Some(newest) = newest else { return };
        let help = "The generation of the newest NAT change";
        gauges(registry, "nat_generation", help, []).at([]).set(newest as f64);
        let help = "Generations that the switch is behind the newest";
        let lag = gauges(registry, "nat_switch_lag_generations", help, ["switch"]);
        for switch in self.dataplane.switches() {
            lag.at([switch.slot()]).set((newest - switch.passed()).max(0) as f64);
        }
    }

    fn connections_now(&self, registry: &mut Registry) {
        let of = self.datastore.connections();
        let help = "Connections to the database: in_use, or idle";
        let connections = gauges(registry, "database_connections", help, ["state"]);
        connections.at(["in_use"]).set(f64::from(of.in_use));
        connections.at(["idle"]).set(f64::from(of.idle));
        let help = "The most connections to the database that this process opens";
        gauges(registry, "database_connections_max", help, []).at([]).set(f64::from(of.max));
    }

    fn lease_now(&self, registry: &mut Registry) {
        let left = self.sagas.lease_remaining();
        let help = "Whether the lease under which this process runs sagas lasts";
        gauges(registry, "saga_lease_held", help, []).at([]).set(f64::from(!left.is_zero()));
        let help = "How long that lease lasts if it is not renewed";
        gauges(registry, "saga_lease_remaining_seconds", help, []).at([]).set(left.as_secs_f64());
    }

    fn process_now(&self, registry: &mut Registry) {
        let help = "One; its labels say what was built";
        let build = gauges(registry, "build_info", help, ["version", "profile"]);
        let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
        build.at([env!("CARGO_PKG_VERSION"), profile]).set(1.0);
        let started = self.metrics.started.duration_since(UNIX_EPOCH).unwrap_or_default();
        let help = "When the process began, since 1970";
        let start = gauges(registry, "process_start_time_seconds", help, []);
        start.at([]).set(started.as_secs_f64());
        if let Some(bytes) = process::resident_memory() {
            let help = "Memory of the process that is resident";
            gauges(registry, "process_resident_memory_bytes", help, []).at([]).set(bytes as f64);
        }
        if let Some(fds) = process::open_fds() {
            let help = "Open file descriptors of the process";
            gauges(registry, "process_open_fds", help, []).at([]).set(fds as f64);
        }
    }

    /// The use of pools, as it is or was a moment ago; none if it takes long to read. Those who
    /// ask at the same time wait for one reading, which goes on when their patience is over: what
    /// it finds is there for the next.
    async fn pool_uses(self: &Arc<Self>) -> Option<Vec<PoolUse>> {
        let fresh = |read: &Instant| read.elapsed() < POOLS_KEPT;
        if let Ok(kept) = self.pool_uses.0.clone().try_lock_owned()
            && !kept.as_ref().is_some_and(|(read, _)| fresh(read))
        {
            tokio::spawn(keep_pool_uses(self.clone(), kept));
        }
        let kept = timeout(BOUND, self.pool_uses.0.lock()).await.ok()?;
        kept.as_ref().map(|(_, pools)| pools.clone())
    }

    async fn read_pool_uses(&self) -> Result<Vec<PoolUse>, Error> {
        let page = PageParams { limit: MAX_POOLS, direction: Direction::Ascending, marker: None };
        let all = PoolFilter { ip_version: None, pool_type: None, assignment: None };
        let mut uses = Vec::new();
        for pool in self.datastore.pool_list(all, PageBy::Name(page)).await? {
            let of = self.datastore.pool_utilization(pool.id).await?;
            uses.push(PoolUse { pool: pool.name, ip_version: pool.ip_version.as_str(), of });
        }
        Ok(uses)
    }
}

/// Reads the use of pools, and keeps it; or nothing, if it cannot be read.
async fn keep_pool_uses(nexus: Arc<Nexus>, mut kept: OwnedMutexGuard<Kept>) {
    *kept = nexus.read_pool_uses().await.ok().map(|pools| (Instant::now(), pools));
}

fn pools_now(registry: &mut Registry, pools: &[PoolUse]) {
    let labels = ["pool", "ip_version"];
    let help = "Addresses in the ranges of an IP pool";
    let capacity = gauges(registry, "ip_pool_capacity_addresses", help, labels);
    let help = "Addresses of an IP pool that are in use";
    let in_use = gauges(registry, "ip_pool_in_use_addresses", help, labels);
    for PoolUse { pool, ip_version, of } in pools {
        capacity.at([pool, ip_version]).set(of.capacity);
        in_use.at([pool, ip_version]).set(of.allocated);
    }
}
