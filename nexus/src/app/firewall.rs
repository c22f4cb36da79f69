//! Firewall rules of VPCs.

use super::authz::Action;
use super::{Nexus, OpContext, Selector, check_description};
use crate::db::firewall::Firewall;
use crate::db::now;
use db_model::FirewallRule;
use nexus_api::types::{VpcFirewallRuleUpdate, VpcFirewallRuleUpdateParams};
use nexus_common::Error;
use slog::warn;
use std::collections::BTreeSet;
use uuid::Uuid;

impl Nexus {
    /// The rules of a VPC.
    pub async fn firewall_view(
        &self,
        opctx: &OpContext,
        vpc: &Selector,
    ) -> Result<Firewall, Error> {
        let vpc = self.vpc(opctx, vpc, Action::Read).await?;
        self.datastore.firewall_fetch(vpc.id).await
    }

    /// Sets the rules of a VPC, and tells the sleds that have ports of it.
    pub async fn firewall_update(
        &self,
        opctx: &OpContext,
        vpc: &Selector,
        body: VpcFirewallRuleUpdateParams,
    ) -> Result<Firewall, Error> {
        let vpc = self.vpc(opctx, vpc, Action::Modify).await?;
        check_names(&body.rules)?;
        let rules = body.rules.into_iter().map(new_rule).collect::<Result<Vec<_>, _>>()?;
        let set = self.datastore.firewall_set(vpc.id, rules).await?;
        self.tell_firewall(opctx, vpc.id).await;
        Ok(set)
    }

    /// Tells the sleds the rules of a VPC. What does not reach them now does later: the rules are
    /// recorded, and a background task sees to it.
    pub(super) async fn tell_firewall(&self, opctx: &OpContext, vpc_id: Uuid) {
        match self.dataplane.push_firewall(&self.datastore, vpc_id).await {
            Ok(report) if report.failed == 0 => {}
            Ok(report) => warn!(opctx.log, "some sleds do not have the firewall rules yet";
                "vpc" => %vpc_id, "sleds" => report.failed),
            Err(error) => warn!(opctx.log, "the sleds do not have the firewall rules yet";
                "vpc" => %vpc_id, "error" => %error),
        }
    }
}

fn check_names(rules: &[VpcFirewallRuleUpdate]) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    let repeated: BTreeSet<_> =
        rules.iter().map(|rule| &rule.name).filter(|name| !seen.insert(*name)).collect();
    if repeated.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = repeated.iter().map(|name| format!("\"{name}\"")).collect();
    let message = format!("Rule names must be unique. Found duplicates: [{}]", names.join(", "));
    Err(Error::invalid_value("rules", message))
}

fn new_rule(rule: VpcFirewallRuleUpdate) -> Result<FirewallRule, Error> {
    check_description(&rule.description)?;
    let created = now();
    Ok(FirewallRule {
        id: Uuid::new_v4(),
        name: rule.name.into(),
        description: rule.description,
        status: rule.status,
        direction: rule.direction,
        action: rule.action,
        priority: rule.priority,
        targets: rule.targets,
        filters: rule.filters,
        time_created: created,
        time_modified: created,
    })
}
