//! The external addresses of a port, and what they are used for.
//!
//! Towards the port, a packet is accepted if it is for one of them. Away from it, the source is a
//! floating address before the ephemeral one before source NAT.

use crate::types::{
    ExternalIpConfig, InstanceExternalIpBody, SourceNatConfigV4, SourceNatConfigV6,
};
use nexus_common::IpVersion;
use nexus_common::address::SNAT_PORTS;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// The external addresses of a port, of both IP versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalIps {
    /// The floating addresses.
    pub floating: BTreeSet<IpAddr>,
    /// The ephemeral addresses, one of each version at most.
    pub ephemeral: BTreeSet<IpAddr>,
    /// The blocks of ports for source NAT.
    pub snat: Vec<SnatBlock>,
}

/// A block of ports of an address that several instances share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnatBlock {
    /// The address.
    pub ip: IpAddr,
    /// The first port of the block.
    pub first_port: u16,
    /// The last port of the block.
    pub last_port: u16,
}

impl From<SourceNatConfigV4> for SnatBlock {
    fn from(SourceNatConfigV4 { ip, first_port, last_port }: SourceNatConfigV4) -> Self {
        SnatBlock { ip: ip.into(), first_port, last_port }
    }
}

impl From<SourceNatConfigV6> for SnatBlock {
    fn from(SourceNatConfigV6 { ip, first_port, last_port }: SourceNatConfigV6) -> Self {
        SnatBlock { ip: ip.into(), first_port, last_port }
    }
}

/// The source of a packet that leaves a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// The address.
    pub source_ip: IpAddr,
    /// The kind of address.
    pub kind: SourceKind,
    /// The port.
    pub source_port: u16,
}

/// A kind of external address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// A floating address.
    Floating,
    /// An ephemeral address.
    Ephemeral,
    /// An address that several instances share.
    Snat,
}

/// The address cannot be an ephemeral one of the port: it has this one already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherEphemeral(pub IpAddr);

impl ExternalIps {
    /// The addresses of a configuration.
    pub fn new(config: &ExternalIpConfig) -> Self {
        let mut ips = ExternalIps::default();
        if let Some(v4) = &config.v4 {
            ips.extend(&v4.floating_ips, v4.ephemeral_ip, v4.source_nat.map(SnatBlock::from));
        }
        if let Some(v6) = &config.v6 {
            ips.extend(&v6.floating_ips, v6.ephemeral_ip, v6.source_nat.map(SnatBlock::from));
        }
        ips
    }

    fn extend<A: Copy + Into<IpAddr>>(
        &mut self,
        floating: &BTreeSet<A>,
        ephemeral: Option<A>,
        snat: Option<SnatBlock>,
    ) {
        self.floating.extend(floating.iter().map(|ip| (*ip).into()));
        self.ephemeral.extend(ephemeral.map(Into::into));
        self.snat.extend(snat);
    }

    /// The versions of the addresses that there are.
    pub fn versions(&self) -> BTreeSet<IpVersion> {
        let snat = self.snat.iter().map(|block| &block.ip);
        self.floating
            .iter()
            .chain(&self.ephemeral)
            .chain(snat)
            .map(|ip| IpVersion::of(*ip))
            .collect()
    }

    /// Adds an address. One that is there already is no error.
    pub fn add(&mut self, ip: InstanceExternalIpBody) -> Result<(), OtherEphemeral> {
        match ip {
            InstanceExternalIpBody::Floating(ip) => {
                self.floating.insert(ip);
            }
            InstanceExternalIpBody::Ephemeral(ip) => {
                let is_rival =
                    |other: &&IpAddr| IpVersion::of(**other) == IpVersion::of(ip) && **other != ip;
                if let Some(other) = self.ephemeral.iter().find(is_rival) {
                    return Err(OtherEphemeral(*other));
                }
                self.ephemeral.insert(ip);
            }
        }
        Ok(())
    }

    /// Removes an address. One that is not there is no error.
    pub fn remove(&mut self, ip: InstanceExternalIpBody) {
        match ip {
            InstanceExternalIpBody::Floating(ip) => self.floating.remove(&ip),
            InstanceExternalIpBody::Ephemeral(ip) => self.ephemeral.remove(&ip),
        };
    }

    /// Whether the port takes a packet for this address and port.
    pub fn accept(&self, ip: IpAddr, port: u16) -> bool {
        let in_block = |block: &SnatBlock| {
            block.ip == ip && (block.first_port..=block.last_port).contains(&port)
        };
        self.floating.contains(&ip)
            || self.ephemeral.contains(&ip)
            || self.snat.iter().any(in_block)
    }

    /// The source of a packet of this version that the guest sends from this port of its own; none
    /// if there is no address of the version.
    ///
    /// Several floating addresses are equally good; it is the lowest. Source NAT keeps the guest's
    /// port if that is in the block, and takes the one with the same place in the block if not.
    pub fn source(&self, version: IpVersion, port: u16) -> Option<Source> {
        let of_version = |ip: &&IpAddr| IpVersion::of(**ip) == version;
        let whole = |ip: &IpAddr, kind| Source { source_ip: *ip, kind, source_port: port };
        let floating = self.floating.iter().find(of_version);
        let ephemeral = self.ephemeral.iter().find(of_version);
        let snat = self.snat.iter().find(|block| IpVersion::of(block.ip) == version);
        let snat = snat.map(|block| Source {
            source_ip: block.ip,
            kind: SourceKind::Snat,
            source_port: block.first_port + port % SNAT_PORTS,
        });
        floating
            .map(|ip| whole(ip, SourceKind::Floating))
            .or_else(|| ephemeral.map(|ip| whole(ip, SourceKind::Ephemeral)))
            .or(snat)
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use InstanceExternalIpBody::{Ephemeral, Floating};

    fn ip(s: &str) -> IpAddr {
        s.parse().expect("an address")
    }

    fn snat() -> ExternalIps {
        let config = serde_json::json!({
            "v4": {
                "source_nat": {"ip": "10.0.0.9", "first_port": 16384, "last_port": 32767},
                "ephemeral_ip": null,
                "floating_ips": []
            }
        });
        ExternalIps::new(&serde_json::from_value(config).expect("a configuration"))
    }

    #[test]
    fn there_is_one_ephemeral_address_of_each_version() {
        let mut ips = ExternalIps::default();
        for address in ["10.0.0.1", "10.0.0.1", "2001:db8::1", "2001:db8::1"] {
            assert_eq!(ips.add(Ephemeral(ip(address))), Ok(()));
        }
        let there = ip("10.0.0.1");
        assert_eq!(ips.add(Ephemeral(ip("10.0.0.2"))), Err(OtherEphemeral(there)));
        let there = ip("2001:db8::1");
        assert_eq!(ips.add(Ephemeral(ip("2001:db8::2"))), Err(OtherEphemeral(there)));
        ips.remove(Ephemeral(ip("10.0.0.2")));
        assert_eq!(ips.ephemeral.len(), 2, "what is not there is not removed");
        ips.remove(Ephemeral(ip("10.0.0.1")));
        assert_eq!(ips.add(Ephemeral(ip("10.0.0.2"))), Ok(()));
    }

    #[test]
    fn a_port_takes_what_is_for_its_addresses() {
        let mut ips = snat();
        ips.add(Floating(ip("10.0.0.1"))).expect("room");
        ips.add(Ephemeral(ip("10.0.0.2"))).expect("room");
        for (address, port, accepted) in [
            ("10.0.0.1", 0, true),
            ("10.0.0.2", 65535, true),
            ("10.0.0.3", 80, false),
            ("10.0.0.9", 16383, false),
            ("10.0.0.9", 16384, true),
            ("10.0.0.9", 32767, true),
            ("10.0.0.9", 32768, false),
        ] {
            assert_eq!(ips.accept(ip(address), port), accepted, "{address}:{port}");
        }
        ips.remove(Floating(ip("10.0.0.1")));
        assert!(!ips.accept(ip("10.0.0.1"), 0));
    }

    #[test]
    fn the_source_is_floating_before_ephemeral_before_snat() {
        let mut ips = snat();
        let source = |ips: &ExternalIps| {
            let source = ips.source(IpVersion::V4, 40_000).expect("a source");
            (source.source_ip.to_string(), source.kind, source.source_port)
        };
        // 40,000 is the 7,232nd port of its block.
        assert_eq!(source(&ips), ("10.0.0.9".to_string(), SourceKind::Snat, 16384 + 7232));
        ips.add(Ephemeral(ip("10.0.0.1"))).expect("room");
        assert_eq!(source(&ips), ("10.0.0.1".to_string(), SourceKind::Ephemeral, 40_000));
        ips.add(Floating(ip("10.0.0.20"))).expect("room");
        ips.add(Floating(ip("10.0.0.3"))).expect("room");
        assert_eq!(source(&ips), ("10.0.0.3".to_string(), SourceKind::Floating, 40_000));
        ips.remove(Floating(ip("10.0.0.3")));
        assert_eq!(source(&ips), ("10.0.0.20".to_string(), SourceKind::Floating, 40_000));
    }

    #[test]
    fn the_source_is_of_the_version_of_the_destination() {
        let mut ips = snat();
        assert_eq!(ips.source(IpVersion::V6, 1), None);
        ips.add(Floating(ip("2001:db8::1"))).expect("room");
        assert_eq!(ips.source(IpVersion::V6, 1).expect("a source").kind, SourceKind::Floating);
        assert_eq!(ips.source(IpVersion::V4, 1).expect("a source").kind, SourceKind::Snat);
    }

    #[test]
    fn snat_keeps_a_port_of_its_block() {
        for port in [16384, 20000, 32767] {
            assert_eq!(snat().source(IpVersion::V4, port).expect("a source").source_port, port);
        }
    }
}
