//! Version 20251008: protocols of firewall rules with the types of ICMP messages, for IPv4.

use super::firewall::OlderProtocol;
use nexus_common::firewall::{VpcFirewallIcmpFilter, VpcFirewallRuleProtocol as Newest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A protocol that a rule is about.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
pub enum VpcFirewallRuleProtocol {
    Tcp,
    Udp,
    /// ICMP for IPv4: these messages, or all of them.
    Icmp(Option<VpcFirewallIcmpFilter>),
}

impl OlderProtocol for VpcFirewallRuleProtocol {
    fn of(newest: Newest) -> Option<Self> {
        match newest {
            Newest::Tcp => Some(VpcFirewallRuleProtocol::Tcp),
            Newest::Udp => Some(VpcFirewallRuleProtocol::Udp),
            Newest::Icmp(filter) => Some(VpcFirewallRuleProtocol::Icmp(filter)),
            Newest::Icmp6(_) => None,
        }
    }
}
