//! The configuration of a simulated sled agent.

use serde::Deserialize;
use sim_kit::LogConfig;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use uuid::Uuid;

/// The configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The sled's id.
    pub id: Uuid,
    /// The id of the rack that the sled is in.
    #[serde(default)]
    pub rack_id: Uuid,
    /// Where the daemon listens.
    pub bind: SocketAddr,
    /// Where the control port listens.
    pub sim_bind: SocketAddr,
    /// The sled's address on the underlay.
    pub underlay: Ipv6Addr,
    /// The sled's serial number.
    pub serial: String,
    /// The URLs of the internal API of each Nexus.
    #[serde(default)]
    pub nexus: Vec<String>,
    /// What the sled has.
    #[serde(default)]
    pub resources: Resources,
    /// The sleds that instances can come from.
    #[serde(default)]
    pub peers: Vec<PeerConfig>,
    /// How it logs.
    #[serde(default)]
    pub log: LogConfig,
}

/// What a sled has.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// Hardware threads.
    pub threads: u32,
    /// Memory, in GiB.
    pub memory_gib: u32,
}

impl Default for Resources {
    fn default() -> Self {
        Resources { threads: 512, memory_gib: 4096 }
    }
}

/// A sled that instances can come from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerConfig {
    /// Its address on the underlay.
    pub underlay: Ipv6Addr,
    /// The URL of its control port.
    pub sim_url: String,
}

impl sim_kit::Config for Config {
    fn log(&self) -> LogConfig {
        self.log
    }
}

impl Config {
    /// The sled that a VMM is on, by the VMM's address: the one with that address, or else the one
    /// with an address of the same /64, which is what a sled has for its VMMs.
    pub fn peer(&self, vmm: IpAddr) -> Option<&PeerConfig> {
        let IpAddr::V6(vmm) = vmm else { return None };
        let network = |ip: Ipv6Addr| u128::from(ip) >> 64;
        let exact = self.peers.iter().find(|peer| peer.underlay == vmm);
        exact.or_else(|| self.peers.iter().find(|peer| network(peer.underlay) == network(vmm)))
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_vmm_is_on_the_sled_of_its_network() {
        let text = r#"
            id = "00000000-0000-0000-0000-000000000001"
            bind = "127.0.0.1:0"
            sim_bind = "127.0.0.1:0"
            underlay = "fd00:1122:3344:101::1"
            serial = "s1"
            [[peers]]
            underlay = "fd00:1122:3344:101::1"
            sim_url = "first"
            [[peers]]
            underlay = "fd00:1122:3344:102::1"
            sim_url = "second"
        "#;
        let config: Config = toml::from_str(text).expect("a configuration");
        let peer = |ip: &str| {
            let peer = config.peer(ip.parse().expect("an address"));
            peer.map(|peer| peer.sim_url.as_str())
        };
        assert_eq!(peer("fd00:1122:3344:102::1"), Some("second"));
        assert_eq!(peer("fd00:1122:3344:101::1234"), Some("first"));
        assert_eq!(peer("fd00:1122:3344:103::1"), None);
        assert_eq!(peer("127.0.0.1"), None);
    }
}
