//! What a firewall rule of a VPC can say. The parts here are written alike in the external API, in
//! the database and in what a sled agent is told.

use crate::Name;
use crate::bounded::at_most_or_null;
use oxnet::IpNet;
use schemars::JsonSchema;
use schemars::r#gen::SchemaGenerator;
use schemars::schema::{InstanceType, Schema, SchemaObject, StringValidation};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The most rules of a VPC.
pub const RULES_MAX: usize = 1024;
/// The most targets of a rule, and the most entries of each of its filters.
pub const PARTS_MAX: usize = 256;

/// Whether a rule counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VpcFirewallRuleStatus {
    Disabled,
    Enabled,
}

/// Which packets a rule is about, seen from its targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VpcFirewallRuleDirection {
    Inbound,
    Outbound,
}

/// What becomes of a packet that a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VpcFirewallRuleAction {
    Allow,
    Deny,
}

/// Network interfaces that a rule is for. Names that nothing has are nobody's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
pub enum VpcFirewallRuleTarget {
    /// All interfaces in the VPC of this name.
    Vpc(Name),
    /// All interfaces in this subnet of the VPC.
    Subnet(Name),
    /// All interfaces of this instance in the VPC.
    Instance(Name),
    /// The interface with this private address.
    Ip(IpAddr),
    /// The interfaces with a private address in this network.
    IpNet(IpNet),
}

/// The other end of a packet: where it comes from if it is inbound, where it goes if it is
/// outbound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
pub enum VpcFirewallRuleHostFilter {
    /// Anything in the VPC of this name.
    Vpc(Name),
    /// An address of this subnet of the VPC.
    Subnet(Name),
    /// An address of this instance in the VPC.
    Instance(Name),
    /// This address.
    Ip(IpAddr),
    /// An address in this network.
    IpNet(IpNet),
}

/// ICMP messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VpcFirewallIcmpFilter {
    /// The type of the message (RFC 792, RFC 4443).
    pub icmp_type: u8,
    /// The codes within the type; all of them if absent.
    pub code: Option<IcmpParamRange>,
}

/// A protocol that a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
pub enum VpcFirewallRuleProtocol {
    Tcp,
    Udp,
    /// ICMP for IPv4: these messages, or all of them.
    Icmp(Option<VpcFirewallIcmpFilter>),
    /// ICMP for IPv6: these messages, or all of them.
    Icmp6(Option<VpcFirewallIcmpFilter>),
}

/// Which packets a rule is about. Each filter that has entries has to match; within a filter, one
/// of its entries has to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "VpcFirewallRuleFilter")]
#[serde(bound(deserialize = "P: Deserialize<'de>"))]
pub struct VpcFirewallRuleFilter<P = VpcFirewallRuleProtocol> {
    /// The other end of the packet.
    #[serde(default, deserialize_with = "hosts")]
    #[schemars(length(max = 256))]
    pub hosts: Option<Vec<VpcFirewallRuleHostFilter>>,
    /// The protocol.
    #[serde(default, deserialize_with = "protocols")]
    #[schemars(length(max = 256))]
    pub protocols: Option<Vec<P>>,
    /// The destination's port.
    #[serde(default, deserialize_with = "ports")]
    #[schemars(length(max = 256))]
    pub ports: Option<Vec<L4PortRange>>,
}

impl<P> Default for VpcFirewallRuleFilter<P> {
    fn default() -> Self {
        VpcFirewallRuleFilter { hosts: None, protocols: None, ports: None }
    }
}

macro_rules! bounded {
    ($name:ident, $what:literal) => {
        fn $name<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
            deserializer: D,
        ) -> Result<Option<Vec<T>>, D::Error> {
            at_most_or_null(deserializer, PARTS_MAX, $what)
        }
    };
}

bounded!(hosts, "hosts");
bounded!(protocols, "protocols");
bounded!(ports, "ports");

/// Defines an inclusive range of numbers that is written as `N` or `FIRST-LAST`.
macro_rules! number_range {
    ($(#[$meta:meta])* $name:ident, $number:ty, $what:literal, $pattern:literal, $max_length:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name {
            pub first: $number,
            pub last: $number,
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                if self.first == self.last {
                    write!(f, "{}", self.first)
                } else {
                    write!(f, "{}-{}", self.first, self.last)
                }
            }
        }

        impl From<$name> for String {
            fn from(range: $name) -> String {
                range.to_string()
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let number = |part: &str| {
                    let digits = part.bytes().all(|byte| byte.is_ascii_digit());
                    part.parse::<$number>().ok().filter(|_| digits)
                };
                let (first, last) = text.split_once('-').unwrap_or((text, text));
                match (number(first), number(last)) {
                    (Some(first), Some(last)) if first <= last => Ok($name { first, last }),
                    (Some(_), Some(_)) => {
                        Err(format!("{} \"{text}\" ends before it begins", $what))
                    }
                    _ => Err(format!(
                        "{} \"{text}\" is neither a number from 0 to {} nor two of them with a \
                         hyphen between",
                        $what,
                        <$number>::MAX
                    )),
                }
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> String {
                stringify!($name).to_string()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                SchemaObject {
                    instance_type: Some(InstanceType::String.into()),
                    string: Some(Box::new(StringValidation {
                        max_length: Some($max_length),
                        min_length: Some(1),
                        pattern: Some($pattern.to_string()),
                    })),
                    metadata: Some(Box::new(schemars::schema::Metadata {
                        description: Some(format!(
                            "{}: a number, or two with a hyphen between, both included.",
                            $what
                        )),
                        ..Default::default()
                    })),
                    ..Default::default()
                }
                .into()
            }
        }
    };
}

number_range!(
    /// Ports of TCP or UDP.
    L4PortRange,
    u16,
    "port range",
    "^[0-9]{1,5}(-[0-9]{1,5})?$",
    11
);
number_range!(
    /// Codes of ICMP messages.
    IcmpParamRange,
    u8,
    "ICMP code range",
    "^[0-9]{1,3}(-[0-9]{1,3})?$",
    7
);

#[cfg(test)]
mod test {
    use super::*;
    use serde_json::{Value, json};

    fn ports(text: &str) -> Result<L4PortRange, String> {
        serde_json::from_value(json!(text)).map_err(|error| error.to_string())
    }

    #[test]
    fn ranges_are_written_as_numbers() {
        for text in ["0", "22", "80-443", "65535"] {
            assert_eq!(ports(text).map(|range| range.to_string()), Ok(text.to_string()));
        }
        assert_eq!(ports("22-22").map(|range| range.to_string()), Ok("22".to_string()));
        for text in ["", "-", "1-", "-1", "+1", "65536", "1-2-3", "a"] {
            assert!(ports(text).expect_err(text).contains("neither a number"), "{text}");
        }
        assert_eq!(ports("2-1"), Err("port range \"2-1\" ends before it begins".to_string()));
    }

    #[test]
    fn protocols_are_tagged() {
        for text in [
            json!({"type": "tcp"}),
            json!({"type": "icmp", "value": null}),
            json!({"type": "icmp6", "value": {"icmp_type": 128, "code": "0-3"}}),
        ] {
            let read: VpcFirewallRuleProtocol =
                serde_json::from_value(text.clone()).expect("a protocol");
            assert_eq!(json!(read), text);
        }
    }

    #[test]
    fn filters_are_bounded_and_may_be_absent() {
        let read = |value: Value| serde_json::from_value::<VpcFirewallRuleFilter>(value);
        assert_eq!(read(json!({})).expect("a filter"), VpcFirewallRuleFilter::default());
        assert_eq!(
            read(json!({"ports": null})).expect("a filter"),
            VpcFirewallRuleFilter::default()
        );
        let many: Vec<_> = (0..257).map(|port| port.to_string()).collect();
        let error = read(json!({"ports": many})).expect_err("too many").to_string();
        assert!(error.contains("expected a list of at most 256 ports"), "{error}");
    }
}
