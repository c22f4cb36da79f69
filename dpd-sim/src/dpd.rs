//! A simulated switch: what the servers and the reconciler share.

use crate::config::{Config, SledConfig};
use crate::model::NatTable;
use anyhow::Result;
use nexus_common::client::{Timeouts, http_client};
use sim_kit::packet::{DELIVER_PATH, Delivery, DropReason, Packet};
use sim_kit::{Gate, SimContext, Tasks};
use slog::Logger;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// How long a switch waits for a sled to say what becomes of a packet.
const SLED_TIMEOUTS: Timeouts =
    Timeouts { connect: Duration::from_secs(1), request: Duration::from_secs(2) };

/// A simulated switch.
#[derive(Debug)]
pub struct Dpd {
    /// The name of the switch's slot.
    pub slot: String,
    /// The number of the switch's slot.
    pub slot_number: u16,
    /// Wakes the reconciler.
    pub trigger: Notify,
    /// Where it logs.
    pub log: Logger,
    gate: Gate,
    tasks: Tasks,
    nat: Mutex<NatTable>,
    sleds: Vec<SledConfig>,
    http: reqwest::Client,
}

impl SimContext for Dpd {
    fn gate(&self) -> &Gate {
        &self.gate
    }

    fn tasks(&self) -> &Tasks {
        &self.tasks
    }
}

impl Dpd {
    /// A switch that has just been started: its NAT table is empty.
    pub fn new(config: &Config, gate: Gate, log: Logger) -> Result<Self> {
        Ok(Dpd {
            slot: config.slot.clone(),
            slot_number: config.check()?,
            trigger: Notify::new(),
            log,
            gate,
            tasks: Tasks::default(),
            nat: Mutex::default(),
            sleds: config.sleds.clone(),
            http: http_client(SLED_TIMEOUTS)?,
        })
    }

    /// The NAT table.
    pub fn nat(&self) -> MutexGuard<'_, NatTable> {
        // Nothing panics while it holds the lock, and the table is a table even so.
        self.nat.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What becomes of a packet from outside.
    pub async fn inbound(&self, ip: IpAddr, port: u16) -> Delivery {
        let Some(mapping) = self.nat().get(ip, port) else {
            return Delivery::dropped(DropReason::NoNatEntry);
        };
        let target = mapping.target;
        let sled = self.sleds.iter().find(|sled| sled.underlay == target.internal_ip);
        let Some(sled) = sled else {
            return Delivery::dropped(DropReason::SledUnreachable);
        };
        let packet = Packet { vni: target.vni, mac: target.inner_mac.into(), ip, port };
        match self.ask(sled, &packet).await {
            Ok(delivery) => delivery,
            Err(error) => {
                slog::warn!(self.log, "cannot ask a sled about a packet"; "url" => &sled.sim_url, "error" => %error);
                Delivery::dropped(DropReason::SledUnreachable)
            }
        }
    }

    async fn ask(&self, sled: &SledConfig, packet: &Packet) -> reqwest::Result<Delivery> {
        let url = format!("{}{DELIVER_PATH}", sled.sim_url.trim_end_matches('/'));
        self.http.post(url).json(packet).send().await?.error_for_status()?.json().await
    }
}
