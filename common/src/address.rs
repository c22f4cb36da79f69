//! Network addresses: IP versions and ranges, MAC addresses, VNIs, and the port blocks of source
//! NAT.

use schemars::JsonSchema;
use schemars::r#gen::SchemaGenerator;
use schemars::schema::{InstanceType, Metadata, Schema, SchemaObject, StringValidation};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Ports in one source NAT block. Four blocks share an address.
pub const SNAT_PORTS: u16 = 16_384;

/// Blocks of source NAT on one address.
pub const SNAT_BLOCKS: u16 = 4;

/// First and last port of the `n`th source NAT block of an address, `n` below [`SNAT_BLOCKS`].
pub const fn snat_block(n: u16) -> (u16, u16) {
    let first = n * SNAT_PORTS;
    (first, first + (SNAT_PORTS - 1))
}

/// A version of the Internet Protocol.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum IpVersion {
    V4,
    V6,
}

impl IpVersion {
    /// The version of an address.
    pub fn of(ip: IpAddr) -> Self {
        if ip.is_ipv4() { IpVersion::V4 } else { IpVersion::V6 }
    }

    /// `4` or `6`.
    pub fn number(self) -> u8 {
        match self {
            IpVersion::V4 => 4,
            IpVersion::V6 => 6,
        }
    }
}

impl fmt::Display for IpVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.number())
    }
}

/// The address after `ip`, or none after the last of its family.
pub fn next_ip(ip: IpAddr) -> Option<IpAddr> {
    match ip {
        IpAddr::V4(ip) => u32::from(ip).checked_add(1).map(|n| Ipv4Addr::from(n).into()),
        IpAddr::V6(ip) => u128::from(ip).checked_add(1).map(|n| Ipv6Addr::from(n).into()),
    }
}

/// A range of addresses of one family, both ends included, `first` not after `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum IpRange {
    V4(Ipv4Range),
    V6(Ipv6Range),
}

#[derive(Deserialize, JsonSchema)]
struct RawRange<A> {
    first: A,
    last: A,
}

/// A range of IPv4 addresses, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "RawRange<Ipv4Addr>")]
pub struct Ipv4Range {
    first: Ipv4Addr,
    last: Ipv4Addr,
}

/// A range of IPv6 addresses, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "RawRange<Ipv6Addr>")]
pub struct Ipv6Range {
    first: Ipv6Addr,
    last: Ipv6Addr,
}

const RANGE_ORDER: &str = "the first address of a range must not be after its last";

impl TryFrom<RawRange<Ipv4Addr>> for Ipv4Range {
    type Error = &'static str;
    fn try_from(RawRange { first, last }: RawRange<Ipv4Addr>) -> Result<Self, Self::Error> {
        if first <= last { Ok(Ipv4Range { first, last }) } else { Err(RANGE_ORDER) }
    }
}

impl TryFrom<RawRange<Ipv6Addr>> for Ipv6Range {
    type Error = &'static str;
    fn try_from(RawRange { first, last }: RawRange<Ipv6Addr>) -> Result<Self, Self::Error> {
        if first <= last { Ok(Ipv6Range { first, last }) } else { Err(RANGE_ORDER) }
    }
}

impl JsonSchema for Ipv4Range {
    fn schema_name() -> String {
        "Ipv4Range".to_string()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        described(
            RawRange::<Ipv4Addr>::json_schema(generator),
            "A non-decreasing IPv4 address range, inclusive of both ends.\n\nThe first address \
             must be less than or equal to the last address.",
        )
    }
}

impl JsonSchema for Ipv6Range {
    fn schema_name() -> String {
        "Ipv6Range".to_string()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        described(
            RawRange::<Ipv6Addr>::json_schema(generator),
            "A non-decreasing IPv6 address range, inclusive of both ends.\n\nThe first address \
             must be less than or equal to the last address.",
        )
    }
}

fn described(schema: Schema, description: &str) -> Schema {
    let mut schema = schema.into_object();
    schema.metadata().description = Some(description.to_string());
    schema.into()
}

impl JsonSchema for IpRange {
    fn schema_name() -> String {
        "IpRange".to_string()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let variant = |title: &str, schema: Schema| {
            SchemaObject {
                metadata: Some(Box::new(Metadata {
                    title: Some(title.to_string()),
                    ..Default::default()
                })),
                subschemas: Some(Box::new(schemars::schema::SubschemaValidation {
                    all_of: Some(vec![schema]),
                    ..Default::default()
                })),
                ..Default::default()
            }
            .into()
        };
        SchemaObject {
            subschemas: Some(Box::new(schemars::schema::SubschemaValidation {
                one_of: Some(vec![
                    variant("v4", generator.subschema_for::<Ipv4Range>()),
                    variant("v6", generator.subschema_for::<Ipv6Range>()),
                ]),
                ..Default::default()
            })),
            ..Default::default()
        }
        .into()
    }
}

impl IpRange {
    /// A range, if both ends are of one family and in order.
    pub fn new(first: IpAddr, last: IpAddr) -> Option<Self> {
        match (first, last) {
            (IpAddr::V4(first), IpAddr::V4(last)) if first <= last => {
                Some(IpRange::V4(Ipv4Range { first, last }))
            }
            (IpAddr::V6(first), IpAddr::V6(last)) if first <= last => {
                Some(IpRange::V6(Ipv6Range { first, last }))
            }
            _ => None,
        }
    }

    /// The lowest address.
    pub fn first(&self) -> IpAddr {
        match self {
            IpRange::V4(r) => r.first.into(),
            IpRange::V6(r) => r.first.into(),
        }
    }

    /// The highest address.
    pub fn last(&self) -> IpAddr {
        match self {
            IpRange::V4(r) => r.last.into(),
            IpRange::V6(r) => r.last.into(),
        }
    }

    /// The family of the addresses.
    pub fn version(&self) -> IpVersion {
        match self {
            IpRange::V4(_) => IpVersion::V4,
            IpRange::V6(_) => IpVersion::V6,
        }
    }

    /// The number of addresses. An IPv6 range may have more than fit an integer, so this is a
    /// floating-point number, as in the API.
    pub fn size(&self) -> f64 {
        match self {
            IpRange::V4(r) => f64::from(u32::from(r.last) - u32::from(r.first)) + 1.0,
            IpRange::V6(r) => (u128::from(r.last) - u128::from(r.first)) as f64 + 1.0,
        }
    }
}

/// A MAC address (EUI-48).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddr([u8; 6]);

impl MacAddr {
    /// The lowest address for a guest's network interface.
    pub const GUEST_FIRST: MacAddr = MacAddr([0xA8, 0x40, 0x25, 0xF0, 0x00, 0x00]);
    /// The highest address for a guest's network interface.
    pub const GUEST_LAST: MacAddr = MacAddr([0xA8, 0x40, 0x25, 0xFE, 0xFF, 0xFF]);

    /// The address with these bytes.
    pub const fn new(bytes: [u8; 6]) -> Self {
        MacAddr(bytes)
    }

    /// The six bytes, in the order in which they are sent.
    pub const fn bytes(self) -> [u8; 6] {
        self.0
    }

    /// The address as a number below 2⁴⁸.
    pub fn to_i64(self) -> i64 {
        self.0.iter().fold(0, |n, b| n << 8 | i64::from(*b))
    }

    /// The address with this number; only the low 48 bits count.
    pub fn from_i64(n: i64) -> Self {
        let b = n.to_be_bytes();
        MacAddr([b[2], b[3], b[4], b[5], b[6], b[7]])
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02X}:{b:02X}:{c:02X}:{d:02X}:{e:02X}:{g:02X}")
    }
}

impl fmt::Debug for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for MacAddr {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        let bad = || format!("invalid MAC address: \"{s}\"");
        let mut bytes = [0; 6];
        let mut parts = s.split(':');
        for byte in &mut bytes {
            let part = parts.next().ok_or_else(bad)?;
            if part.len() > 2 {
                return Err(bad());
            }
            *byte = u8::from_str_radix(part, 16).map_err(|_| bad())?;
        }
        if parts.next().is_some() {
            return Err(bad());
        }
        Ok(MacAddr(bytes))
    }
}

impl Serialize for MacAddr {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MacAddr {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let s = String::deserialize(d)?;
        s.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for MacAddr {
    fn schema_name() -> String {
        "MacAddr".to_string()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        SchemaObject {
            metadata: Some(Box::new(Metadata {
                title: Some("A MAC address".to_string()),
                description: Some("A Media Access Control address, in EUI-48 format".to_string()),
                examples: vec!["ff:ff:ff:ff:ff:ff".into()],
                ..Default::default()
            })),
            instance_type: Some(InstanceType::String.into()),
            string: Some(Box::new(StringValidation {
                max_length: Some(17),
                min_length: Some(5),
                pattern: Some("^([0-9a-fA-F]{0,2}:){5}[0-9a-fA-F]{0,2}$".to_string()),
            })),
            ..Default::default()
        }
        .into()
    }
}

/// A Geneve virtual network identifier (RFC 8926): 24 bits. A VPC has one of its own.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "u32", into = "u32")]
pub struct Vni(u32);

impl Vni {
    /// The largest VNI.
    pub const MAX: u32 = 0xFF_FFFF;
    /// The smallest VNI of a tenant's VPC; those below are the system's.
    pub const GUEST_FIRST: u32 = 1024;
    /// The VNI of the rack's own services, which v2p reconciliation leaves alone.
    pub const SERVICES: Vni = Vni(100);

    /// The number.
    pub const fn to_u32(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for Vni {
    type Error = String;
    fn try_from(n: u32) -> Result<Self, String> {
        if n > Vni::MAX { Err(format!("VNI {n} is out of range")) } else { Ok(Vni(n)) }
    }
}

impl From<Vni> for u32 {
    fn from(vni: Vni) -> u32 {
        vni.0
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn snat_blocks_are_the_quarters_of_the_port_space() {
        let blocks: Vec<_> = (0..SNAT_BLOCKS).map(snat_block).collect();
        assert_eq!(blocks, [(0, 16383), (16384, 32767), (32768, 49151), (49152, 65535)]);
    }

    #[test]
    fn ranges_are_ordered_and_of_one_family() {
        let read = |s: &str| serde_json::from_str::<IpRange>(s);
        let range = read(r#"{"first":"10.0.0.1","last":"10.0.0.10"}"#).expect("a range");
        assert_eq!(range.size(), 10.0);
        for bad in [
            r#"{"first":"10.0.0.2","last":"10.0.0.1"}"#,
            r#"{"first":"10.0.0.1","last":"fd00::1"}"#,
            r#"{"first":"fd00::2","last":"fd00::1"}"#,
        ] {
            let error = read(bad).expect_err(bad).to_string();
            assert_eq!(error, "data did not match any variant of untagged enum IpRange");
        }
    }

    #[test]
    fn the_largest_range_has_a_length() {
        let all = IpRange::new(Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::from(u128::MAX).into());
        assert_eq!(all.expect("a range").size(), 2f64.powi(128));
    }

    #[test]
    fn mac_addresses_read_as_they_print() {
        let mac: MacAddr = "a8:40:25:f0:0:1".parse().expect("a MAC address");
        assert_eq!(mac.to_string(), "A8:40:25:F0:00:01");
        assert_eq!(MacAddr::from_i64(mac.to_i64()), mac);
        for bad in
            ["", "a8:40:25:f0:00", "a8:40:25:f0:00:01:02", "a8:40:25:f0:00:100", "g:0:0:0:0:0"]
        {
            bad.parse::<MacAddr>().expect_err(bad);
        }
    }
}
