//! A simulated sled agent: what the servers and the tasks share, and what carries out the effects
//! of the model.

use crate::config::Config;
use crate::model::{Effect, Sled, Step};
use crate::reports::Reports;
use crate::take_over;
use anyhow::Result;
use chrono::Utc;
use nexus_common::client::{Timeouts, http_client};
use sim_kit::{Gate, NexusClients, SimContext, Tasks};
use slog::Logger;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a sled waits for another.
const PEER_TIMEOUTS: Timeouts =
    Timeouts { connect: Duration::from_millis(500), request: Duration::from_secs(1) };

/// A simulated sled agent.
#[derive(Debug)]
pub struct Agent {
    /// Its configuration.
    pub config: Config,
    /// The internal API of Nexus.
    pub nexus: NexusClients,
    /// What reaches other sleds.
    pub http: reqwest::Client,
    /// What Nexus is still to be told.
    pub reports: Reports,
    /// Where it logs.
    pub log: Logger,
    gate: Gate,
    tasks: Tasks,
    sled: Mutex<Sled>,
}

impl SimContext for Agent {
    fn gate(&self) -> &Gate {
        &self.gate
    }

    fn tasks(&self) -> &Tasks {
        &self.tasks
    }
}

impl Agent {
    /// The agent of a sled that has just been started: it has no VMMs.
    pub fn new(config: Config, gate: Gate, log: Logger) -> Result<Self> {
        Ok(Agent {
            nexus: NexusClients::new(&config.nexus)?,
            http: http_client(PEER_TIMEOUTS)?,
            reports: Reports::default(),
            config,
            log,
            gate,
            tasks: Tasks::default(),
            sled: Mutex::default(),
        })
    }

    /// Changes or reads the sled, and has the effects carried out.
    pub fn with<R>(self: &Arc<Self>, f: impl FnOnce(&mut Sled) -> R) -> R {
        let mut sled = self.sled();
        let result = f(&mut sled);
        // The lock is still held, so that reports are put down in the order of the changes.
        for effect in sled.take_effects() {
            self.carry_out(effect);
        }
        result
    }

    fn carry_out(self: &Arc<Self>, effect: Effect) {
        let agent = Arc::clone(self);
        match effect {
            Effect::Report { vmm, state } => self.reports.push(&agent, vmm, state),
            Effect::Unreport { vmm } => self.reports.forget(vmm),
            Effect::Later { after, step } => self.tasks.spawn(later(agent, after, step)),
            Effect::TakeOver(job) => self.tasks.spawn(take_over::run(agent, job)),
        }
    }

    fn sled(&self) -> MutexGuard<'_, Sled> {
        // Nothing panics while it holds the lock, and a sled is a sled even so.
        self.sled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn later(agent: Arc<Agent>, after: Duration, step: Step) {
    tokio::time::sleep(after).await;
    agent.with(|sled| sled.step(step, Utc::now()));
}
