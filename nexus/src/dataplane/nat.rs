//! Bringing a switch's NAT table to the intent.
//!
//! Everything rests on one step, *converge*: for one address, read the intent from the database,
//! read what the switch holds, remove what differs and add what is missing, then read the intent
//! again, and start over if it has changed. So it does not matter who pushes, in what order, or
//! how late: whoever pushed last leaves the switch at an intent that he has read after his push.
//!
//! Each switch has one worker with a queue of addresses. Sagas put the addresses that they changed
//! into it and wait; the reconciler goes through the whole table. A switch that fails keeps its
//! queue of addresses, which is tried again until it answers, and is then compared in whole. What
//! the switch holds for addresses that are not ours is left alone.

use super::dpd::{Dpd, DpdError, Mapping, Target};
use crate::config::{DataplaneConfig, NatMode, SwitchConfig};
use crate::db::Datastore;
use crate::metrics::Metrics;
use db_model::NatEntry;
use dpd_client::Timeouts;
use futures::StreamExt;
use nexus_common::{Error, Vni};
use slog::{Logger, debug, info, o, warn};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};

/// Addresses that one round of the worker takes from the queue.
const BATCH: usize = 256;
/// Addresses of one switch that are worked on at the same time.
const CONCURRENCY: usize = 16;
/// Pause before a switch that failed is tried again.
const RETRY: Duration = Duration::from_millis(500);
/// Times that one address is gone over before the rest is left to the next round.
const MAX_ROUNDS: usize = 20;
/// Pause between two looks at a pulling switch's generation.
const PULL_POLL: Duration = Duration::from_millis(20);
/// Addresses whose mappings are compared in one full pass of the reconciler.
const INTENT_PAGE: i64 = 1000;

/// Why a push did not succeed.
#[derive(Debug, thiserror::Error)]
enum PushError {
    #[error("switch: {0}")]
    Switch(#[from] DpdError),
    #[error("database: {0}")]
    Database(#[from] Error),
    #[error("the intent kept changing")]
    Unsettled,
}

/// Addresses that wait for the worker, each with those who wait for it.
#[derive(Default)]
struct Queue {
    waiting: BTreeMap<IpAddr, Vec<oneshot::Sender<bool>>>,
}

/// Keeps one switch at the intent.
pub struct SwitchWorker {
    slot: String,
    dpd: Dpd,
    mode: NatMode,
    datastore: Arc<Datastore>,
    log: Logger,
    queue: Mutex<Queue>,
    wake: Notify,
    reachable: AtomicBool,
    passed: AtomicI64,
    metrics: Arc<Metrics>,
}

impl std::fmt::Debug for SwitchWorker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SwitchWorker").field("slot", &self.slot).finish_non_exhaustive()
    }
}

impl SwitchWorker {
    /// Starts the worker of a switch.
    pub fn start(
        switch: &SwitchConfig,
        config: &DataplaneConfig,
        datastore: Arc<Datastore>,
        metrics: Arc<Metrics>,
        log: &Logger,
    ) -> Result<Arc<Self>, Error> {
        let timeouts = Timeouts {
            connect: Duration::from_millis(config.connect_timeout_ms),
            request: Duration::from_millis(config.request_timeout_ms),
        };
        let worker = Arc::new(SwitchWorker {
            slot: switch.slot.clone(),
            dpd: Dpd::new(&switch.url, timeouts)?,
            mode: config.nat_mode,
            datastore,
            log: log.new(o!("switch" => switch.slot.clone())),
            queue: Mutex::default(),
            wake: Notify::new(),
            reachable: AtomicBool::new(true),
            passed: AtomicI64::new(0),
            metrics,
        });
        tokio::spawn(worker.clone().run());
        Ok(worker)
    }

    /// `switch0` or `switch1`.
    pub fn slot(&self) -> &str {
        &self.slot
    }

    /// The switch's daemon, for those who only look.
    pub(crate) fn dpd(&self) -> &Dpd {
        &self.dpd
    }

    /// Whether the last attempt to reach the switch succeeded.
    pub fn is_reachable(&self) -> bool {
        self.reachable.load(Ordering::Relaxed)
    }

    /// The generation up to which the switch is known to agree with the intent.
    pub fn passed(&self) -> i64 {
        self.passed.load(Ordering::Relaxed)
    }

    /// Addresses that wait to be pushed.
    pub fn queue_length(&self) -> usize {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).waiting.len()
    }

    /// Queues addresses, and waits until the switch holds the intent for them. False if it could
    /// not be brought there; the addresses stay queued then.
    pub async fn push(&self, addresses: &[IpAddr]) -> bool {
        let mut waits = Vec::with_capacity(addresses.len());
        {
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            for ip in addresses {
                let (done, wait) = oneshot::channel();
                queue.waiting.entry(*ip).or_default().push(done);
                waits.push(wait);
            }
        }
        self.wake.notify_one();
        let results = futures::future::join_all(waits).await;
        results.into_iter().all(|result| result == Ok(true))
    }

    async fn run(self: Arc<Self>) {
        loop {
            let batch = self.take_batch();
            if batch.is_empty() {
                self.wake.notified().await;
                continue;
            }
            let addresses: Vec<IpAddr> = batch.keys().copied().collect();
            let failed = match self.mode {
                NatMode::Push => self.converge_all(addresses).await,
                NatMode::Pull => self.wait_for_pull(addresses).await,
            };
            self.finish(batch, &failed);
            if !failed.is_empty() {
                tokio::time::sleep(RETRY).await;
            }
        }
    }

    fn take_batch(&self) -> BTreeMap<IpAddr, Vec<oneshot::Sender<bool>>> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = match queue.waiting.keys().nth(BATCH).copied() {
            Some(first_left) => queue.waiting.split_off(&first_left),
            None => BTreeMap::new(),
        };
        std::mem::replace(&mut queue.waiting, rest)
    }

    /// Tells those who wait what became of their addresses, and queues again what failed.
    fn finish(
        &self,
        batch: BTreeMap<IpAddr, Vec<oneshot::Sender<bool>>>,
        failed: &BTreeSet<IpAddr>,
    ) {
        self.reachable.store(failed.is_empty(), Ordering::Relaxed);
        let pushes = &self.metrics.switches.pushes;
        pushes.at([self.slot(), "failed"]).inc_by(failed.len() as u64);
        pushes.at([self.slot(), "ok"]).inc_by((batch.len() - failed.len()) as u64);
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        for (ip, waiting) in batch {
            let ok = !failed.contains(&ip);
            if !ok {
                queue.waiting.entry(ip).or_default();
            }
            for done in waiting {
                // Nobody listens any more if the caller's patience is over.
                let _ = done.send(ok);
            }
        }
    }

    /// Converges addresses, several at a time. Returns those that failed.
    async fn converge_all(&self, addresses: Vec<IpAddr>) -> BTreeSet<IpAddr> {
        let results = futures::stream::iter(addresses)
            .map(|ip| async move { (ip, self.converge(ip).await) })
            .buffer_unordered(CONCURRENCY)
            .collect::<Vec<_>>()
            .await;
        let mut failed = BTreeSet::new();
        for (ip, result) in results {
            if let Err(error) = result {
                debug!(self.log, "NAT push failed"; "address" => %ip, "error" => %error);
                failed.insert(ip);
            }
        }
        failed
    }

    /// Brings one address to the intent. Returns how many mappings were changed.
    async fn converge(&self, ip: IpAddr) -> Result<u64, PushError> {
        let mut changed = 0;
        let mut intent = self.intent(ip).await?;
        for _ in 0..MAX_ROUNDS {
            let held: BTreeSet<Mapping> = self.dpd.mappings(ip).await?.into_iter().collect();
            for stale in held.difference(&intent) {
                self.dpd.delete(ip, stale.low).await?;
                changed += 1;
            }
            let mut conflict = false;
            for missing in intent.difference(&held) {
                match self.dpd.create(ip, missing).await {
                    Ok(()) => changed += 1,
                    // Somebody else wrote meanwhile; the next round sees what.
                    Err(DpdError::Conflict) => conflict = true,
                    Err(error) => return Err(error.into()),
                }
            }
            let now = self.intent(ip).await?;
            if now == intent && !conflict {
                return Ok(changed);
            }
            intent = now;
        }
        Err(PushError::Unsettled)
    }

    async fn intent(&self, ip: IpAddr) -> Result<BTreeSet<Mapping>, Error> {
        let entries = self.datastore.nat_intent(vec![ip]).await?;
        Ok(entries.iter().filter_map(mapping_of).collect())
    }

    /// Pokes a pulling switch, and waits until it has passed the newest change. Returns the
    /// addresses if it did not.
    async fn wait_for_pull(&self, addresses: Vec<IpAddr>) -> BTreeSet<IpAddr> {
        let passed = async {
            let wanted = self.datastore.nat_generation().await?;
            self.dpd.trigger().await?;
            while self.dpd.generation().await? < wanted {
                tokio::time::sleep(PULL_POLL).await;
            }
            Ok::<(), PushError>(())
        };
        match tokio::time::timeout(Duration::from_secs(2), passed).await {
            Ok(Ok(())) => BTreeSet::new(),
            Ok(Err(error)) => {
                debug!(self.log, "NAT pull failed"; "error" => %error);
                addresses.into_iter().collect()
            }
            Err(_) => addresses.into_iter().collect(),
        }
    }

    /// Compares the whole table with the intent, and repairs it. Returns how many mappings were
    /// changed, or why the switch could not be compared.
    pub async fn reconcile(&self) -> anyhow::Result<u64> {
        match self.reconcile_table().await {
            Ok(repairs) => {
                self.reachable.store(true, Ordering::Relaxed);
                self.metrics.switches.repairs.at([self.slot()]).inc_by(repairs);
                if repairs > 0 {
                    info!(self.log, "NAT table repaired"; "mappings" => repairs);
                }
                Ok(repairs)
            }
            Err(error) => {
                if self.reachable.swap(false, Ordering::Relaxed) {
                    warn!(self.log, "NAT table cannot be reconciled"; "error" => %error);
                }
                Err(error.into())
            }
        }
    }

    async fn reconcile_table(&self) -> Result<u64, PushError> {
        // Read before the table: changes after this are not claimed to be on the switch.
        let generation = self.datastore.nat_generation().await?;
        let mut repairs = self.repair(self.strays().await?).await?;
        let mut after = None;
        loop {
            let page = self.datastore.nat_addresses(after, INTENT_PAGE).await?;
            let full = page.len() as i64 == INTENT_PAGE;
            after = page.last().copied();
            repairs += self.repair(page).await?;
            if !full {
                break;
            }
        }
        if self.mode == NatMode::Pull && self.dpd.generation().await? < generation {
            self.dpd.trigger().await?;
            return Ok(repairs);
        }
        self.passed.store(generation, Ordering::Relaxed);
        self.datastore.nat_switch_passed(self.slot.clone(), generation).await?;
        Ok(repairs)
    }

    async fn repair(&self, addresses: Vec<IpAddr>) -> Result<u64, PushError> {
        let mut repairs = futures::stream::iter(addresses)
            .map(|ip| self.converge(ip))
            .buffer_unordered(CONCURRENCY);
        let mut total = 0;
        while let Some(changed) = repairs.next().await {
            total += changed?;
        }
        Ok(total)
    }

    /// Addresses of ours for which the switch has mappings although the intent has none.
    async fn strays(&self) -> Result<Vec<IpAddr>, PushError> {
        let mut strays = Vec::new();
        for v4 in [true, false] {
            let mut token: Option<String> = None;
            loop {
                let (page, next) = self.dpd.addresses(v4, token.as_deref()).await?;
                let intended: BTreeSet<IpAddr> = self
                    .datastore
                    .nat_intent(page.clone())
                    .await?
                    .iter()
                    .map(|entry| entry.external_address.0)
                    .collect();
                let unintended: Vec<IpAddr> =
                    page.into_iter().filter(|ip| !intended.contains(ip)).collect();
                if !unintended.is_empty() {
                    strays.extend(self.datastore.nat_ours(unintended).await?);
                }
                match next {
                    Some(next) => token = Some(next),
                    None => break,
                }
            }
        }
        Ok(strays)
    }
}

/// An entry as a switch holds it; none if the row is not of that shape, which no row is.
pub(crate) fn mapping_of(entry: &NatEntry) -> Option<Mapping> {
    let IpAddr::V6(sled_address) = entry.sled_address.0 else { return None };
    Some(Mapping {
        low: u16::try_from(entry.first_port).ok()?,
        high: u16::try_from(entry.last_port).ok()?,
        target: target(sled_address, entry)?,
    })
}

fn target(sled_address: Ipv6Addr, entry: &NatEntry) -> Option<Target> {
    Some(Target {
        sled_address,
        vni: Vni::try_from(u32::try_from(entry.vni).ok()?).ok()?,
        mac: entry.mac.0,
    })
}
