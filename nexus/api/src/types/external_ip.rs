//! External addresses: how they are chosen, and those that an instance has.

use super::FloatingIp;
use nexus_common::{IpVersion, NameOrId};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::net::IpAddr;
use uuid::Uuid;

/// How the address of a floating IP is chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum AddressAllocator {
    /// This address. It finds its pool itself, which must be one that the caller's silo may use.
    Explicit {
        /// The address.
        #[serde(deserialize_with = "plain_address")]
        ip: IpAddr,
    },
    /// The lowest free address of a pool.
    Auto {
        /// The pool; the default pool if absent.
        #[serde(default)]
        pool_selector: PoolSelector,
    },
}

impl Default for AddressAllocator {
    fn default() -> Self {
        AddressAllocator::Auto { pool_selector: PoolSelector::default() }
    }
}

/// Which IP pool an address is taken from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum PoolSelector {
    /// This pool.
    Explicit {
        /// The pool's name or id.
        pool: NameOrId,
    },
    /// The default pool of the caller's silo.
    Auto {
        /// The IP version of the address. It must be given where the silo has a default pool for
        /// each version.
        #[serde(default)]
        ip_version: Option<IpVersion>,
    },
}

impl Default for PoolSelector {
    fn default() -> Self {
        PoolSelector::Auto { ip_version: None }
    }
}

/// Reads an address in its only spelling. An IPv4 address that is written as an IPv6 address
/// would be another address to the database and the same to a host.
fn plain_address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<IpAddr, D::Error> {
    let ip = IpAddr::deserialize(deserializer)?;
    if let IpAddr::V6(v6) = ip
        && let Some(v4) = v6.to_ipv4_mapped()
    {
        return Err(de::Error::custom(format!(
            "`ip` is the IPv4-mapped IPv6 address {v6}; write it as {v4}"
        )));
    }
    Ok(ip)
}

/// An external address that an instance has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ExternalIp {
    /// Source NAT: outbound connections only, from a block of the ports of an address that other
    /// instances share.
    Snat {
        /// The address.
        ip: IpAddr,
        /// The first port of the block.
        first_port: u16,
        /// The last port of the block.
        last_port: u16,
        /// The IP pool that the address is from.
        ip_pool_id: Uuid,
    },
    /// An address of the instance's own, which goes back to its pool when it is detached or the
    /// instance deleted.
    Ephemeral {
        /// The address.
        ip: IpAddr,
        /// The IP pool that the address is from.
        ip_pool_id: Uuid,
    },
    /// A floating IP that is attached to the instance.
    Floating(FloatingIp),
}

/// An external address that a new instance gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum ExternalIpCreate {
    /// An ephemeral address. An instance has at most one of each IP version.
    Ephemeral {
        /// The pool that the address is taken from; the default pool if absent.
        #[serde(default)]
        pool_selector: PoolSelector,
    },
    /// A floating IP of the instance's project, which must be detached.
    Floating {
        /// The floating IP's name or id.
        floating_ip: NameOrId,
    },
}

/// An ephemeral address to give to an instance.
///
/// A field that this type does not have is refused: it may be a misspelt `pool_selector`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EphemeralIpCreate {
    /// The pool that the address is taken from; the default pool if absent.
    #[serde(default)]
    pub pool_selector: PoolSelector,
}

#[cfg(test)]
mod test {
    use super::*;

    fn refusal<T: for<'de> Deserialize<'de> + std::fmt::Debug>(json: &str) -> String {
        serde_json::from_str::<T>(json).expect_err(json).to_string()
    }

    #[test]
    fn every_misspelling_is_refused_by_name() {
        let unknown = |error: String, name: &str| {
            assert!(error.starts_with(&format!("unknown field `{name}`")), "{error}");
        };
        let selector = r#""pool_selecter":{"type":"explicit","pool":"p"}"#;
        unknown(
            refusal::<AddressAllocator>(&format!(r#"{{"type":"auto",{selector}}}"#)),
            "pool_selecter",
        );
        unknown(
            refusal::<AddressAllocator>(r#"{"type":"explicit","ip":"10.0.0.1","pool":"p"}"#),
            "pool",
        );
        unknown(refusal::<PoolSelector>(r#"{"type":"auto","ip_versions":"v4"}"#), "ip_versions");
        unknown(refusal::<PoolSelector>(r#"{"type":"auto","pool":"p"}"#), "pool");
        unknown(
            refusal::<ExternalIpCreate>(&format!(r#"{{"type":"ephemeral",{selector}}}"#)),
            "pool_selecter",
        );
        unknown(refusal::<EphemeralIpCreate>(&format!("{{{selector}}}")), "pool_selecter");
    }

    #[test]
    fn an_address_has_one_spelling() {
        let explicit = |ip: &str| format!(r#"{{"type":"explicit","ip":"{ip}"}}"#);
        let error = refusal::<AddressAllocator>(&explicit("::ffff:10.0.0.5"));
        assert_eq!(
            error,
            "`ip` is the IPv4-mapped IPv6 address ::ffff:10.0.0.5; write it as 10.0.0.5"
        );
        refusal::<AddressAllocator>(&explicit("fe80::1%eth0"));
        let read = serde_json::from_str::<AddressAllocator>(&explicit("2001:DB8:0::1"));
        assert_eq!(
            serde_json::to_string(&read.expect("an address")).expect("JSON"),
            explicit("2001:db8::1")
        );
    }

    #[test]
    fn what_is_absent_is_automatic() {
        let auto = PoolSelector::Auto { ip_version: None };
        let read = |json: &str| serde_json::from_str::<AddressAllocator>(json).expect(json);
        let expected = AddressAllocator::Auto { pool_selector: auto };
        assert_eq!(read(r#"{"type":"auto"}"#), expected);
        assert_eq!(
            read(r#"{"type":"auto","pool_selector":{"type":"auto","ip_version":null}}"#),
            expected
        );
    }
}
