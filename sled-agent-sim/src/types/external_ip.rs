//! External addresses, as a sled agent is told of them.

use nexus_common::address::SNAT_PORTS;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The external addresses of an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalIpConfig {
    /// The IPv4 addresses
    pub v4: Option<ExternalIpv4Config>,
    /// The IPv6 addresses
    pub v6: Option<ExternalIpv6Config>,
}

/// The external IPv4 addresses of an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalIpv4Config {
    /// The ports of an address that it shares with others, for connections that it makes
    pub source_nat: Option<SourceNatConfigV4>,
    /// The ephemeral address
    pub ephemeral_ip: Option<Ipv4Addr>,
    /// The floating addresses
    pub floating_ips: BTreeSet<Ipv4Addr>,
}

/// The external IPv6 addresses of an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalIpv6Config {
    /// The ports of an address that it shares with others, for connections that it makes
    pub source_nat: Option<SourceNatConfigV6>,
    /// The ephemeral address
    pub ephemeral_ip: Option<Ipv6Addr>,
    /// The floating addresses
    pub floating_ips: BTreeSet<Ipv6Addr>,
}

#[derive(Deserialize, JsonSchema)]
struct RawSourceNat<A> {
    /// The address
    ip: A,
    /// The first port of the block
    first_port: u16,
    /// The last port of the block
    last_port: u16,
}

impl<A> RawSourceNat<A> {
    /// Whether the ports are exactly one of the blocks that an address is divided into.
    fn check(&self) -> Result<(), String> {
        let RawSourceNat { first_port, last_port, .. } = *self;
        if first_port % SNAT_PORTS != 0 || last_port.checked_sub(first_port) != Some(SNAT_PORTS - 1)
        {
            return Err(format!(
                "ports {first_port} to {last_port} are not a block of {SNAT_PORTS} ports"
            ));
        }
        Ok(())
    }
}

/// A block of ports of an IPv4 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawSourceNat<Ipv4Addr>")]
pub struct SourceNatConfigV4 {
    /// The address
    pub ip: Ipv4Addr,
    /// The first port of the block
    pub first_port: u16,
    /// The last port of the block
    pub last_port: u16,
}

/// A block of ports of an IPv6 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawSourceNat<Ipv6Addr>")]
pub struct SourceNatConfigV6 {
    /// The address
    pub ip: Ipv6Addr,
    /// The first port of the block
    pub first_port: u16,
    /// The last port of the block
    pub last_port: u16,
}

/// Makes a block of ports from what was read, once that is one.
macro_rules! source_nat {
    ($name:ident, $address:ty) => {
        impl TryFrom<RawSourceNat<$address>> for $name {
            type Error = String;
            fn try_from(raw: RawSourceNat<$address>) -> Result<Self, String> {
                raw.check()?;
                let RawSourceNat { ip, first_port, last_port } = raw;
                Ok($name { ip, first_port, last_port })
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> String {
                stringify!($name).to_string()
            }
            fn json_schema(
                generator: &mut schemars::r#gen::SchemaGenerator,
            ) -> schemars::schema::Schema {
                RawSourceNat::<$address>::json_schema(generator)
            }
        }
    };
}
source_nat!(SourceNatConfigV4, Ipv4Addr);
source_nat!(SourceNatConfigV6, Ipv6Addr);

/// An external address that is given to an instance or taken from it while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
pub enum InstanceExternalIpBody {
    /// An ephemeral address
    Ephemeral(IpAddr),
    /// A floating address
    Floating(IpAddr),
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn source_nat_has_exactly_one_block() {
        let read = |first: u16, last: u16| {
            serde_json::from_value::<SourceNatConfigV4>(serde_json::json!({
                "ip": "10.0.0.1", "first_port": first, "last_port": last
            }))
        };
        for first in [0, 16384, 32768, 49152] {
            read(first, first + 16383).expect("a block");
        }
        for (first, last) in [(0, 65535), (0, 32767), (1, 16384), (16384, 16383), (8192, 24575)] {
            read(first, last).expect_err("not a block");
        }
    }
}
