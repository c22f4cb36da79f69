//! Firewall rules, as a sled agent is told of them.

use super::NetworkInterface;
use nexus_common::Vni;
use oxnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::str::FromStr;

/// The firewall rules of a VPC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VpcFirewallRulesEnsureBody {
    /// The VPC's virtual network
    pub vni: Vni,
    /// All its rules
    pub rules: Vec<ResolvedVpcFirewallRule>,
}

/// A firewall rule in which names were replaced by what they stand for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResolvedVpcFirewallRule {
    /// Whether the rule counts
    pub status: VpcFirewallRuleStatus,
    /// Which way packets go
    pub direction: VpcFirewallRuleDirection,
    /// The interfaces that the rule is about
    pub targets: Vec<NetworkInterface>,
    /// The hosts at the other end; any, if there is none
    pub filter_hosts: Option<BTreeSet<HostIdentifier>>,
    /// The ports; any, if there is none
    pub filter_ports: Option<Vec<L4PortRange>>,
    /// The protocols; any, if there is none
    pub filter_protocols: Option<Vec<VpcFirewallRuleProtocol>>,
    /// What happens to packets
    pub action: VpcFirewallRuleAction,
    /// Which rule comes first: the lower number
    pub priority: u16,
}

/// Whether a firewall rule counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VpcFirewallRuleStatus {
    /// It does not
    Disabled,
    /// It does
    Enabled,
}

/// Which way packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VpcFirewallRuleDirection {
    /// To the instance
    Inbound,
    /// From the instance
    Outbound,
}

/// What happens to packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VpcFirewallRuleAction {
    /// They pass
    Allow,
    /// They are dropped
    Deny,
}

/// Hosts.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
pub enum HostIdentifier {
    /// Those with an address in this network
    Ip(IpNet),
    /// Those in this virtual network
    Vpc(Vni),
}

/// A protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
pub enum VpcFirewallRuleProtocol {
    /// TCP
    Tcp,
    /// UDP
    Udp,
    /// ICMP; all of it, if there is no filter
    Icmp(Option<VpcFirewallIcmpFilter>),
    /// ICMPv6; all of it, if there is no filter
    Icmp6(Option<VpcFirewallIcmpFilter>),
}

/// Which ICMP messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VpcFirewallIcmpFilter {
    /// Those of this type
    pub icmp_type: u8,
    /// Those with one of these codes; any, if there is none
    pub code: Option<IcmpParamRange>,
}

/// Reads `first` or `first-last`.
fn check_range<N: FromStr + PartialOrd>(s: &str) -> Result<(), String> {
    let number = |s: &str| s.parse::<N>().map_err(|_| format!("\"{s}\" is not in range"));
    let (first, last) = s.split_once('-').unwrap_or((s, s));
    if number(first)? > number(last)? {
        return Err(format!("\"{s}\": the first must not be after the last"));
    }
    Ok(())
}

/// A port, or a range of ports such as `8000-8080`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct L4PortRange(#[schemars(length(min = 1, max = 11))] String);

/// A code of ICMP messages, or a range of codes such as `0-3`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct IcmpParamRange(#[schemars(length(min = 1, max = 7))] String);

impl TryFrom<String> for L4PortRange {
    type Error = String;
    fn try_from(s: String) -> Result<Self, String> {
        check_range::<u16>(&s)?;
        Ok(L4PortRange(s))
    }
}

impl From<L4PortRange> for String {
    fn from(range: L4PortRange) -> String {
        range.0
    }
}

impl TryFrom<String> for IcmpParamRange {
    type Error = String;
    fn try_from(s: String) -> Result<Self, String> {
        check_range::<u8>(&s)?;
        Ok(IcmpParamRange(s))
    }
}

impl From<IcmpParamRange> for String {
    fn from(range: IcmpParamRange) -> String {
        range.0
    }
}
