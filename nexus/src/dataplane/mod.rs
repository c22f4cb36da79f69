//! Everything that talks to switches and sleds.
//!
//! What they should hold is in the database; this room makes it so. Pushing NAT entries to the
//! switches is the affair of [`nat`], one worker for each switch, so that a slow one delays
//! nobody else; [`sled`] speaks with the sled agents.

pub mod dpd;
pub mod firewall;
pub mod nat;
pub mod port;
pub mod sled;
pub mod v2p;
pub mod vmm_spec;

use crate::config::DataplaneConfig;
use crate::db::Datastore;
use crate::metrics::Metrics;
use crate::turns::Turns;
use nat::SwitchWorker;
use nexus_common::Error;
use sled::SledAgents;
use slog::{Logger, o, warn};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// The switches and the sleds.
#[derive(Debug)]
pub struct Dataplane {
    switches: Vec<Arc<SwitchWorker>>,
    pub sleds: SledAgents,
    /// Keeps those apart, within this process, who add addresses to a VMM's port or remove them.
    pub port_turns: Turns<Uuid>,
    wait: Duration,
    metrics: Arc<Metrics>,
    log: Logger,
}

impl Dataplane {
    /// Starts a worker for each switch.
    pub fn new(
        config: &DataplaneConfig,
        datastore: Arc<Datastore>,
        metrics: Arc<Metrics>,
        log: &Logger,
    ) -> Result<Self, Error> {
        let log = log.new(o!("component" => "dataplane"));
        let switches = config
            .switches
            .iter()
            .map(|switch| {
                SwitchWorker::start(switch, config, datastore.clone(), metrics.clone(), &log)
            })
            .collect::<Result<_, _>>()?;
        Ok(Dataplane {
            switches,
            sleds: SledAgents::new(config, datastore, metrics.clone()),
            port_turns: Turns::default(),
            wait: Duration::from_millis(config.request_timeout_ms),
            metrics,
            log,
        })
    }

    /// The workers of all switches.
    pub fn switches(&self) -> &[Arc<SwitchWorker>] {
        &self.switches
    }

    /// Brings what every switch holds for these addresses to the intent. Returns when all
    /// switches that answer have it; one that does not is waited for once, for a bounded time, and
    /// brought up to date later. Never fails: the intent is recorded.
    pub async fn push_nat(&self, addresses: &[IpAddr]) {
        if addresses.is_empty() {
            return;
        }
        let pushes = self.switches.iter().map(|switch| async {
            match tokio::time::timeout(self.wait, switch.push(addresses)).await {
                Ok(true) => {}
                Ok(false) | Err(_) => {
                    self.metrics.switches.left_behind.at([switch.slot()]).inc();
                    warn!(self.log, "a switch does not hold a NAT change yet; it is reconciled later";
                        "switch" => switch.slot(), "addresses" => ?addresses);
                }
            }
        });
        futures::future::join_all(pushes).await;
    }
}
