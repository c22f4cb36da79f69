//! Tells Nexus that the sled is there.
//!
//! A sled tells Nexus when it starts, until Nexus has heard it. After that it asks now and then
//! whether Nexus still knows it, which is cheaper than to tell it again, and tells it again if not:
//! the database may be another.

use crate::agent::Agent;
use crate::config::Resources;
use chrono::Utc;
use nexus_client::internal::Client;
use nexus_client::internal::types::{Baseboard, SledAgentInfo, SledCpuFamily, SledRole};
use nexus_common::ByteCount;
use sim_kit::NexusError;
use slog::{info, warn};
use std::net::SocketAddrV6;
use std::sync::Arc;
use std::time::Duration;

/// The port of sled agents on the underlay.
const SLED_AGENT_PORT: u16 = 12345;

/// The port of update artifacts on the underlay.
const REPO_DEPOT_PORT: u16 = 12348;

/// How long the sled waits until it tells Nexus again.
const RETRY: Duration = Duration::from_millis(500);

/// How often the sled asks whether Nexus knows it.
const PERIOD: Duration = Duration::from_secs(10);

/// Runs for ever.
pub async fn run(agent: Arc<Agent>) {
    if agent.config.nexus.is_empty() {
        warn!(agent.log, "there is no Nexus to tell of this sled");
        return;
    }
    loop {
        let mut tries = 0;
        while let Err(error) = register(&agent).await {
            // Sleds often start before Nexus does: it is said once.
            if tries == 0 {
                warn!(agent.log, "cannot tell Nexus of this sled yet"; "error" => %error);
            }
            tries += 1;
            tokio::time::sleep(RETRY).await;
        }
        info!(agent.log, "Nexus knows this sled"; "id" => %agent.config.id);
        while is_known(&agent).await {
            tokio::time::sleep(PERIOD).await;
        }
    }
}

async fn register(agent: &Agent) -> Result<(), NexusError> {
    let id = agent.config.id;
    let info = info(agent).map_err(NexusError::Failed)?;
    let request = |nexus: Client| {
        let info = &info;
        async move { nexus.sled_agent_put(&id, info).await }
    };
    agent.nexus.ask(request).await
}

/// Whether Nexus knows the sled. If none can be asked, it is believed to.
async fn is_known(agent: &Agent) -> bool {
    let id = agent.config.id;
    let request = |nexus: Client| async move { nexus.sled_agent_get(&id).await };
    match agent.nexus.ask(request).await {
        Ok(_) | Err(NexusError::Failed(_)) => true,
        Err(NexusError::Refused(..)) => false,
    }
}

/// What Nexus is told. Each time the generation is a later one, across restarts too: it is the
/// time.
fn info(agent: &Agent) -> Result<SledAgentInfo, String> {
    let Resources { threads, memory_gib } = agent.config.resources;
    let memory = ByteCount::try_from(u64::from(memory_gib) << 30)?;
    let generation = Utc::now().timestamp_millis().unsigned_abs();
    Ok(SledAgentInfo {
        sa_address: SocketAddrV6::new(agent.config.underlay, SLED_AGENT_PORT, 0, 0).to_string(),
        repo_depot_port: REPO_DEPOT_PORT,
        role: SledRole::Gimlet,
        baseboard: Baseboard {
            serial: agent.config.serial.clone(),
            part: "sled-agent-sim".to_string(),
            revision: 0,
        },
        usable_hardware_threads: threads,
        usable_physical_ram: memory,
        reservoir_size: memory,
        cpu_family: SledCpuFamily::AmdMilan,
        generation: generation.into(),
        decommissioned: false,
    })
}
