//! Firewall rules of VPCs.

use super::IdentityMetadata;
use nexus_common::Name;
use nexus_common::bounded::at_most;
use nexus_common::firewall::{
    PARTS_MAX, RULES_MAX, VpcFirewallRuleAction, VpcFirewallRuleDirection, VpcFirewallRuleFilter,
    VpcFirewallRuleProtocol, VpcFirewallRuleStatus, VpcFirewallRuleTarget,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use uuid::Uuid;

/// A firewall rule of a VPC. Of the rules that a packet matches, the one with the lowest priority
/// decides; what no rule matches is let out and not in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "VpcFirewallRule")]
#[serde(bound(deserialize = "P: Deserialize<'de>"))]
pub struct VpcFirewallRule<P = VpcFirewallRuleProtocol> {
    #[serde(flatten)]
    pub identity: IdentityMetadata,
    /// Whether the rule counts.
    pub status: VpcFirewallRuleStatus,
    /// Which packets the rule is about: those that come in to its targets, or go out from them.
    pub direction: VpcFirewallRuleDirection,
    /// The interfaces that the rule is for.
    pub targets: Vec<VpcFirewallRuleTarget>,
    /// Which packets the rule is about.
    pub filters: VpcFirewallRuleFilter<P>,
    /// What becomes of the packets.
    pub action: VpcFirewallRuleAction,
    /// The lower, the sooner; of equal ones, a denial comes first.
    pub priority: u16,
    /// The VPC that the rule belongs to.
    pub vpc_id: Uuid,
}

/// All firewall rules of a VPC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "VpcFirewallRules")]
#[serde(bound(deserialize = "P: Deserialize<'de>"))]
pub struct VpcFirewallRules<P = VpcFirewallRuleProtocol> {
    /// The rules, by name.
    pub rules: Vec<VpcFirewallRule<P>>,
}

/// A firewall rule that a VPC is to have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "VpcFirewallRuleUpdate")]
#[serde(bound(deserialize = "P: Deserialize<'de>"))]
pub struct VpcFirewallRuleUpdate<P = VpcFirewallRuleProtocol> {
    /// The rule's name, which no other rule of the VPC has.
    pub name: Name,
    /// Free text about the rule, at most 512 characters.
    pub description: String,
    /// Whether the rule counts.
    pub status: VpcFirewallRuleStatus,
    /// Which packets the rule is about: those that come in to its targets, or go out from them.
    pub direction: VpcFirewallRuleDirection,
    /// The interfaces that the rule is for.
    #[serde(deserialize_with = "targets")]
    #[schemars(length(max = 256))]
    pub targets: Vec<VpcFirewallRuleTarget>,
    /// Which packets the rule is about.
    pub filters: VpcFirewallRuleFilter<P>,
    /// What becomes of the packets.
    pub action: VpcFirewallRuleAction,
    /// The lower, the sooner; of equal ones, a denial comes first.
    pub priority: u16,
}

/// All firewall rules that a VPC is to have. Those that are not named here are removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "VpcFirewallRuleUpdateParams")]
#[serde(bound(deserialize = "P: Deserialize<'de>"))]
pub struct VpcFirewallRuleUpdateParams<P = VpcFirewallRuleProtocol> {
    /// The rules.
    #[serde(default, deserialize_with = "rules")]
    #[schemars(length(max = 1024))]
    pub rules: Vec<VpcFirewallRuleUpdate<P>>,
}

fn targets<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<VpcFirewallRuleTarget>, D::Error> {
    at_most(deserializer, PARTS_MAX, "targets")
}

fn rules<'de, D, P>(deserializer: D) -> Result<Vec<VpcFirewallRuleUpdate<P>>, D::Error>
where
    D: Deserializer<'de>,
    P: Deserialize<'de>,
{
    at_most(deserializer, RULES_MAX, "rules")
}
