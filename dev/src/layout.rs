//! What a rack consists of and where each part listens: the file `rack.json` of a state directory.
//!
//! Everything that other parts, or a user, may have noted down is in it, so that a rack resumed
//! from its directory comes up as it was: same ports, same ids, same underlay addresses.

use crate::ports;
use crate::state_dir::{StateDir, write_private};
use anyhow::{Context, Result, bail, ensure};
use semver::Version;
use serde::{Deserialize, Serialize};
use std::net::Ipv6Addr;
use uuid::Uuid;

/// The port of the first Nexus's external API, unless another is asked for.
pub const DEFAULT_PORT: u16 = 12_220;

/// How NAT entries come to the switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum NatMode {
    /// Nexus writes them to the switches.
    #[default]
    Push,
    /// The switches read them from Nexus's changeset feed.
    Pull,
}

/// What a user may ask of a rack. What is left open is as the state directory has it, or the
/// default.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Sleds; 2 by default.
    pub sleds: Option<usize>,
    /// Switches; 2 by default.
    pub switches: Option<usize>,
    /// Nexus servers; 1 by default.
    pub nexus: Option<usize>,
    /// The port of the first Nexus's external API; 0 for any free one.
    pub port: Option<u16>,
    /// How NAT entries come to the switches.
    pub nat: Option<NatMode>,
    /// How Nexus answers requests that name no API version; the newest by default.
    pub default_api_version: Option<Version>,
    /// An existing database, instead of a private PostgreSQL.
    pub database_url: Option<String>,
}

/// The parts of a rack.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Layout {
    /// Where the data is.
    pub database: Database,
    /// How NAT entries come to the switches.
    pub nat: NatMode,
    /// How Nexus answers requests that name no API version; the newest if absent.
    #[serde(default)]
    pub default_api_version: Option<Version>,
    /// The Nexus servers.
    pub nexus: Vec<NexusPart>,
    /// The sleds.
    pub sleds: Vec<SledPart>,
    /// The switches.
    pub switches: Vec<SwitchPart>,
    /// Whether it has been decided, once and for all, if there are default pools. They are made
    /// once: a rack that is resumed does not bring back pools that its user has deleted.
    pub pools_settled: bool,
}

/// The database of a rack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Database {
    /// A PostgreSQL of the rack's own, on this port.
    Private {
        /// The port on the loopback address.
        port: u16,
    },
    /// One that exists without the rack.
    External {
        /// Its URL.
        url: String,
    },
}

/// A Nexus server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NexusPart {
    /// Its id, under which it owns sagas.
    pub id: Uuid,
    /// The port of the external API.
    pub external: u16,
    /// The port of the internal API.
    pub internal: u16,
    /// The port of the operator's API.
    pub operator: u16,
}

/// A sled: a simulated sled agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SledPart {
    /// Its id.
    pub id: Uuid,
    /// Its serial number.
    pub serial: String,
    /// Its address on the underlay.
    pub underlay: Ipv6Addr,
    /// The port of the sled agent's API.
    pub port: u16,
    /// The port of what only a simulator has.
    pub sim_port: u16,
}

/// A switch: a simulated dpd.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SwitchPart {
    /// Its slot: `switch0`, `switch1`, …
    pub slot: String,
    /// The port of dpd's API.
    pub port: u16,
    /// The port of what only a simulator has.
    pub sim_port: u16,
}

const FILE: &str = "rack.json";

impl Layout {
    /// The layout of the rack in a state directory, or of a new one, changed as asked.
    pub fn open(state: &StateDir, request: &Request) -> Result<Self> {
        let path = state.file(FILE);
        let layout = match std::fs::read(&path) {
            Ok(text) => {
                let saved: Layout = serde_json::from_slice(&text)
                    .with_context(|| format!("{} is damaged", path.display()))?;
                saved.changed(request)?
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Layout::new(request)?,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        layout.save(state)?;
        Ok(layout)
    }

    /// Writes it to the state directory.
    pub fn save(&self, state: &StateDir) -> Result<()> {
        write_private(&state.file(FILE), &serde_json::to_string_pretty(self)?)
    }

    fn new(request: &Request) -> Result<Self> {
        let mut layout = Layout {
            database: match &request.database_url {
                Some(url) => Database::External { url: url.clone() },
                None => Database::Private { port: ports::pick()? },
            },
            nat: request.nat.unwrap_or_default(),
            default_api_version: request.default_api_version.clone(),
            nexus: Vec::new(),
            sleds: Vec::new(),
            switches: Vec::new(),
            pools_settled: false,
        };
        layout.grow(
            request.nexus.unwrap_or(1),
            request.sleds.unwrap_or(2),
            request.switches.unwrap_or(2),
        )?;
        layout.listen_on(request.port.unwrap_or(DEFAULT_PORT));
        Ok(layout)
    }

    /// A rack may grow, but what its database speaks of cannot go: a sled that has instances, or
    /// the database itself.
    fn changed(mut self, request: &Request) -> Result<Self> {
        if let Some(url) = &request.database_url
            && self.database != (Database::External { url: url.clone() })
        {
            bail!("the rack in this state directory has its data in another database");
        }
        for (asked, has, what) in [
            (request.sleds, self.sleds.len(), "sleds"),
            (request.switches, self.switches.len(), "switches"),
        ] {
            ensure!(
                asked.is_none_or(|asked| asked >= has),
                "the rack in this state directory has {has} {what} and cannot do with fewer"
            );
        }
        let nexus = request.nexus.unwrap_or(self.nexus.len());
        self.nexus.truncate(nexus);
        self.grow(nexus, request.sleds.unwrap_or(0), request.switches.unwrap_or(0))?;
        self.nat = request.nat.unwrap_or(self.nat);
        if request.default_api_version.is_some() {
            self.default_api_version.clone_from(&request.default_api_version);
        }
        if let Some(port) = request.port.filter(|port| *port != 0) {
            self.listen_on(port);
        }
        Ok(self)
    }

    fn listen_on(&mut self, port: u16) {
        if let Some(first) = self.nexus.first_mut()
            && port != 0
        {
            first.external = port;
        }
    }

    fn grow(&mut self, nexus: usize, sleds: usize, switches: usize) -> Result<()> {
        while self.nexus.len() < nexus {
            self.nexus.push(NexusPart {
                id: Uuid::new_v4(),
                external: ports::pick()?,
                internal: ports::pick()?,
                operator: ports::pick()?,
            });
        }
        for index in self.sleds.len()..sleds {
            self.sleds.push(SledPart {
                id: Uuid::new_v4(),
                serial: format!("SIM{index:05}"),
                underlay: underlay(index)?,
                port: ports::pick()?,
                sim_port: ports::pick()?,
            });
        }
        for index in self.switches.len()..switches {
            self.switches.push(SwitchPart {
                slot: format!("switch{index}"),
                port: ports::pick()?,
                sim_port: ports::pick()?,
            });
        }
        Ok(())
    }

    /// Fails, with one clear line, if a port of the rack is taken.
    pub fn ensure_ports_free(&self) -> Result<()> {
        const INNER: &str = "stop that process, or use another state directory";
        if let Database::Private { port } = self.database {
            ports::ensure_free(port, "postgres", INNER)?;
        }
        for (index, nexus) in self.nexus.iter().enumerate() {
            let name = format!("nexus-{index}");
            let hint =
                if index == 0 { "stop that process, or choose another --port" } else { INNER };
            ports::ensure_free(nexus.external, &name, hint)?;
            ports::ensure_free(nexus.internal, &name, INNER)?;
            ports::ensure_free(nexus.operator, &name, INNER)?;
        }
        for (index, sled) in self.sleds.iter().enumerate() {
            ports::ensure_free(sled.port, &format!("sled-agent-{index}"), INNER)?;
            ports::ensure_free(sled.sim_port, &format!("sled-agent-{index}"), INNER)?;
        }
        for (index, switch) in self.switches.iter().enumerate() {
            ports::ensure_free(switch.port, &format!("dpd-{index}"), INNER)?;
            ports::ensure_free(switch.sim_port, &format!("dpd-{index}"), INNER)?;
        }
        Ok(())
    }
}

/// The underlay address of the sled with this index: each sled has a /64 of its own.
fn underlay(index: usize) -> Result<Ipv6Addr> {
    let subnet = u16::try_from(index + 0x101).context("too many sleds")?;
    Ok(Ipv6Addr::new(0xfd00, 0x1122, 0x3344, subnet, 0, 0, 0, 1))
}

/// The URL of a port on the loopback address.
pub fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_resumed_rack_is_the_same() {
        let dir = tempfile::tempdir().expect("a directory");
        let state = StateDir::open(Some(dir.path())).expect("a state directory");
        let asked = Request { sleds: Some(3), port: Some(0), ..Request::default() };
        let first = Layout::open(&state, &asked).expect("a layout");
        assert_eq!((first.sleds.len(), first.switches.len(), first.nexus.len()), (3, 2, 1));
        assert_eq!(first.sleds[2].underlay.to_string(), "fd00:1122:3344:103::1");
        let again = Layout::open(&state, &Request::default()).expect("a layout");
        assert_eq!(
            serde_json::to_string(&again).expect("json"),
            serde_json::to_string(&first).expect("json")
        );
    }

    #[test]
    fn a_rack_grows_but_does_not_shrink() {
        let dir = tempfile::tempdir().expect("a directory");
        let state = StateDir::open(Some(dir.path())).expect("a state directory");
        let first = Layout::open(&state, &Request::default()).expect("a layout");
        assert_eq!(first.nexus[0].external, DEFAULT_PORT);
        let more = Request { sleds: Some(4), nexus: Some(2), ..Request::default() };
        let grown = Layout::open(&state, &more).expect("a layout");
        assert_eq!(grown.sleds[0].id, first.sleds[0].id);
        assert_eq!((grown.sleds.len(), grown.nexus.len()), (4, 2));
        let fewer = Request { sleds: Some(1), ..Request::default() };
        Layout::open(&state, &fewer).expect_err("sleds cannot go");
        let elsewhere = Request { database_url: Some("x".to_string()), ..Request::default() };
        Layout::open(&state, &elsewhere).expect_err("nor can the database");
    }
}
