//! Firewall rules with the protocols of an older version, which is all that changed of them.

use super::{OlderBodyOf, OlderView, not_in_this_version};
use crate::types::{VpcFirewallRule, VpcFirewallRuleUpdateParams, VpcFirewallRules};
use dropshot::HttpError;
use nexus_common::firewall::{VpcFirewallRuleFilter, VpcFirewallRuleProtocol};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The protocols that a version knows.
pub trait OlderProtocol:
    Sized + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static
{
    /// The protocol as the version has it, if it has it.
    fn of(newest: VpcFirewallRuleProtocol) -> Option<Self>;
}

impl<P: OlderProtocol> OlderBodyOf<VpcFirewallRuleUpdateParams> for VpcFirewallRuleUpdateParams<P> {}

/// Rules that a version cannot show are not left out: whoever changes one rule sends back all that
/// it has seen, and the others would be lost.
impl<P: OlderProtocol> OlderView<VpcFirewallRules> for VpcFirewallRules<P> {
    fn of(newest: VpcFirewallRules) -> Result<Self, HttpError> {
        let rules = newest.rules.into_iter().map(rule).collect::<Result<_, _>>()?;
        Ok(VpcFirewallRules { rules })
    }
}

fn rule<P: OlderProtocol>(newest: VpcFirewallRule) -> Result<VpcFirewallRule<P>, HttpError> {
    let VpcFirewallRuleFilter { hosts, protocols, ports } = newest.filters;
    let protocols = match protocols {
        None => None,
        Some(protocols) => {
            let older: Option<Vec<P>> = protocols.into_iter().map(P::of).collect();
            Some(older.ok_or_else(|| {
                not_in_this_version(&format!(
                    "a protocol of firewall rule \"{}\"",
                    newest.identity.name
                ))
            })?)
        }
    };
    Ok(VpcFirewallRule {
        identity: newest.identity,
        status: newest.status,
        direction: newest.direction,
        targets: newest.targets,
        filters: VpcFirewallRuleFilter { hosts, protocols, ports },
        action: newest.action,
        priority: newest.priority,
        vpc_id: newest.vpc_id,
    })
}
