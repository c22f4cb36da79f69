//! The configuration of a simulated dpd.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use sim_kit::LogConfig;
use std::net::{Ipv6Addr, SocketAddr};
use std::num::NonZeroU32;

/// The configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where the daemon listens.
    pub bind: SocketAddr,
    /// Where the control port listens.
    pub sim_bind: SocketAddr,
    /// The slot of the switch: `switch0`, `switch1`, ….
    pub slot: String,
    /// The URLs of the internal API of each Nexus.
    #[serde(default)]
    pub nexus: Vec<String>,
    /// Where the NAT table comes from.
    #[serde(default)]
    pub nat: NatConfig,
    /// The sleds that packets can be sent to.
    #[serde(default)]
    pub sleds: Vec<SledConfig>,
    /// How it logs.
    #[serde(default)]
    pub log: LogConfig,
}

/// Where the NAT table comes from.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NatConfig {
    /// Who makes the first move.
    #[serde(default)]
    pub mode: NatMode,
    /// How many changes are asked of Nexus at once.
    #[serde(default)]
    pub page_size: PageSize,
}

/// Who makes the first move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NatMode {
    /// Nexus, which writes into the table.
    #[default]
    Push,
    /// The switch, which asks Nexus for changes.
    Pull,
}

/// How many changes are asked of Nexus at once: at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct PageSize(pub NonZeroU32);

impl Default for PageSize {
    fn default() -> Self {
        PageSize(NonZeroU32::MIN.saturating_add(99))
    }
}

/// A sled that packets can be sent to.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SledConfig {
    /// Its address on the underlay.
    pub underlay: Ipv6Addr,
    /// The URL of its control port.
    pub sim_url: String,
}

impl Config {
    /// The number of the slot. Refuses a configuration in which something does not fit.
    pub fn check(&self) -> Result<u16> {
        ensure!(
            self.nat.mode == NatMode::Push || !self.nexus.is_empty(),
            "nat.mode is \"pull\", but `nexus` names no Nexus to pull from"
        );
        let number = self.slot.strip_prefix("switch").and_then(|number| number.parse().ok());
        number.with_context(|| format!("slot \"{}\" is not \"switch\" and a number", self.slot))
    }
}

impl sim_kit::Config for Config {
    fn log(&self) -> LogConfig {
        self.log
    }
}
