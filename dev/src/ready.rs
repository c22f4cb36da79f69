//! The ready file: where everything of a rack is, for programs that drive it.

use crate::state_dir::write_private;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// What a driver of the rack needs to know. It holds the token, so its file is private.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ready {
    /// URLs of the external API, one for each Nexus.
    pub external_api: Vec<String>,
    /// URLs of the internal API.
    pub internal_api: Vec<String>,
    /// URLs of the operator's API.
    pub operator_api: Vec<String>,
    /// An API token of the user `admin`.
    pub token: String,
    /// The silo of that user.
    pub silo: String,
    /// The URL of the database.
    pub database_url: String,
    /// The sleds.
    pub sled_agents: Vec<ReadySled>,
    /// The switches.
    pub switches: Vec<ReadySwitch>,
    /// What runs, and how to run it again.
    pub processes: Vec<ReadyProcess>,
}

impl Ready {
    /// Reads the file.
    pub fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read the ready file {}", file.display()))?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} is not a ready file", file.display()))
    }

    /// Writes the file, in one step: whoever sees it sees all of it.
    pub fn write(&self, file: &Path) -> Result<()> {
        write_private(file, &serde_json::to_string_pretty(self)?)
            .context("cannot write the ready file")
    }
}

/// Removes a ready file, if there is one.
pub fn remove(file: &Path) -> Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", file.display()))
        }
        _ => Ok(()),
    }
}

/// A simulated sled agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReadySled {
    /// The sled's id.
    pub id: Uuid,
    /// The sled agent's API.
    pub url: String,
    /// What only the simulator has.
    pub sim_url: String,
}

/// A simulated switch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReadySwitch {
    /// Its slot: `switch0`, `switch1`, …
    pub slot: String,
    /// dpd's API.
    pub url: String,
    /// What only the simulator has.
    pub sim_url: String,
}

/// A process of the rack.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReadyProcess {
    /// `postgres`, `dpd-N`, `sled-agent-N` or `nexus-N`.
    pub name: String,
    /// Its process id.
    pub pid: u32,
    /// Running this again after the process has ended brings the component back.
    pub argv: Vec<String>,
    /// Where its output goes.
    pub log: PathBuf,
}
