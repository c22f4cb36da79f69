//! Firewall rules of VPCs.

use crate::schema::vpc_firewall;
use chrono::{DateTime, Utc};
use diesel::{Insertable, Queryable, Selectable};
use nexus_common::firewall::{
    VpcFirewallRuleAction, VpcFirewallRuleDirection, VpcFirewallRuleFilter, VpcFirewallRuleStatus,
    VpcFirewallRuleTarget,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The rules of a VPC. They are set as a whole.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = vpc_firewall)]
pub struct VpcFirewall {
    pub vpc_id: Uuid,
    /// Counts the changes.
    pub generation: i64,
    /// An array of [`FirewallRule`].
    pub rules: serde_json::Value,
}

/// One rule, as it is written in [`VpcFirewall::rules`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirewallRule {
    pub id: Uuid,
    pub name: String,
    pub description: String,
    pub status: VpcFirewallRuleStatus,
    pub direction: VpcFirewallRuleDirection,
    pub action: VpcFirewallRuleAction,
    /// The lower, the sooner; the first rule that a packet matches decides.
    pub priority: u16,
    pub targets: Vec<VpcFirewallRuleTarget>,
    pub filters: VpcFirewallRuleFilter,
    pub time_created: DateTime<Utc>,
    pub time_modified: DateTime<Utc>,
}
