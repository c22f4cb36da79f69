//! The configuration files of a rack's processes.

use crate::layout::{Layout, NatMode, NexusPart, SledPart, SwitchPart, url};
use anyhow::Result;
use semver::Version;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use uuid::Uuid;

#[derive(Serialize)]
struct Nexus<'a> {
    id: Uuid,
    log: Log<'a>,
    database: Database<'a>,
    external: External<'a>,
    internal: Listener,
    operator: Listener,
    dataplane: Dataplane<'a>,
}

#[derive(Serialize)]
struct Log<'a> {
    level: &'a str,
}

#[derive(Serialize)]
struct Database<'a> {
    url: &'a str,
}

#[derive(Serialize)]
struct Listener {
    bind_address: String,
}

#[derive(Serialize)]
struct External<'a> {
    bind_address: String,
    default_api_version: Option<&'a Version>,
}

#[derive(Serialize)]
struct Dataplane<'a> {
    nat_mode: NatMode,
    switches: Vec<SwitchAt<'a>>,
    underlay: BTreeMap<Ipv6Addr, String>,
}

#[derive(Serialize)]
struct SwitchAt<'a> {
    slot: &'a str,
    url: String,
}

#[derive(Serialize)]
struct Dpd<'a> {
    bind: String,
    sim_bind: String,
    slot: &'a str,
    nexus: Vec<String>,
    nat: Nat,
    sleds: Vec<Peer>,
}

#[derive(Serialize)]
struct Nat {
    mode: NatMode,
}

#[derive(Serialize)]
struct SledAgent<'a> {
    id: Uuid,
    bind: String,
    sim_bind: String,
    underlay: Ipv6Addr,
    serial: &'a str,
    nexus: Vec<String>,
    resources: Resources,
    peers: Vec<Peer>,
}

#[derive(Serialize)]
struct Resources {
    threads: u32,
    memory_gib: u32,
}

#[derive(Serialize)]
struct Peer {
    underlay: Ipv6Addr,
    sim_url: String,
}

fn address(port: u16) -> String {
    format!("127.0.0.1:{port}")
}

/// The configuration of a Nexus server.
pub fn nexus(layout: &Layout, part: &NexusPart, database_url: &str) -> Result<String> {
    let listener = |port| Listener { bind_address: address(port) };
    Ok(toml::to_string(&Nexus {
        id: part.id,
        log: Log { level: "info" },
        database: Database { url: database_url },
        external: External {
            bind_address: address(part.external),
            default_api_version: layout.default_api_version.as_ref(),
        },
        internal: listener(part.internal),
        operator: listener(part.operator),
        dataplane: Dataplane {
            nat_mode: layout.nat,
            switches: layout
                .switches
                .iter()
                .map(|switch| SwitchAt { slot: &switch.slot, url: url(switch.port) })
                .collect(),
            underlay: layout.sleds.iter().map(|sled| (sled.underlay, url(sled.port))).collect(),
        },
    })?)
}

/// The configuration of a simulated dpd.
pub fn dpd(layout: &Layout, part: &SwitchPart) -> Result<String> {
    Ok(toml::to_string(&Dpd {
        bind: address(part.port),
        sim_bind: address(part.sim_port),
        slot: &part.slot,
        nexus: internal_urls(layout),
        nat: Nat { mode: layout.nat },
        sleds: peers(layout),
    })?)
}

/// The configuration of a simulated sled agent. A sled is larger than most tests can fill.
pub fn sled_agent(layout: &Layout, part: &SledPart) -> Result<String> {
    Ok(toml::to_string(&SledAgent {
        id: part.id,
        bind: address(part.port),
        sim_bind: address(part.sim_port),
        underlay: part.underlay,
        serial: &part.serial,
        nexus: internal_urls(layout),
        resources: Resources { threads: 512, memory_gib: 4096 },
        peers: peers(layout),
    })?)
}

fn internal_urls(layout: &Layout) -> Vec<String> {
    layout.nexus.iter().map(|nexus| url(nexus.internal)).collect()
}

fn peers(layout: &Layout) -> Vec<Peer> {
    let peer = |sled: &SledPart| Peer { underlay: sled.underlay, sim_url: url(sled.sim_port) };
    layout.sleds.iter().map(peer).collect()
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::layout::Request;
    use crate::state_dir::StateDir;

    #[test]
    fn a_nexus_is_told_everything_it_needs() {
        let dir = tempfile::tempdir().expect("a directory");
        let state = StateDir::open(Some(dir.path())).expect("a state directory");
        let version = Version::new(20240327, 0, 0);
        let request = Request { default_api_version: Some(version), ..Request::default() };
        let layout = Layout::open(&state, &request).expect("a layout");
        let text = nexus(&layout, &layout.nexus[0], "postgresql://x").expect("a configuration");
        let read: toml::Value = toml::from_str(&text).expect("it is TOML");
        assert_eq!(read["database"]["url"].as_str(), Some("postgresql://x"));
        assert_eq!(read["external"]["bind_address"].as_str(), Some("127.0.0.1:12220"));
        assert_eq!(read["external"]["default_api_version"].as_str(), Some("20240327.0.0"));
        assert_eq!(read["dataplane"]["nat_mode"].as_str(), Some("push"));
        assert_eq!(read["dataplane"]["switches"][1]["slot"].as_str(), Some("switch1"));
        let sled = read["dataplane"]["underlay"]["fd00:1122:3344:102::1"].as_str();
        assert_eq!(sled, Some(url(layout.sleds[1].port).as_str()));
    }
}
