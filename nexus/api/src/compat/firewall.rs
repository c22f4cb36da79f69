//! Firewall rules: protocols that are their names alone, from when ICMP had no types.

use super::{Fields, OldSpellings};
use crate::types::VpcFirewallRuleUpdateParams;
use dropshot::HttpError;
use nexus_common::NameOrId;
use serde_json::{Value, json};

impl OldSpellings for VpcFirewallRuleUpdateParams {
    fn modernize(fields: &mut Fields) -> Result<Option<NameOrId>, HttpError> {
        fields.rewrite_each("rules", |rule| {
            rule.rewrite("filters", |filters| {
                filters.replace_each("protocols", protocol);
                Ok(())
            })
        })?;
        Ok(None)
    }
}

fn protocol(value: Value) -> Value {
    match value.as_str() {
        Some("TCP") => json!({"type": "tcp"}),
        Some("UDP") => json!({"type": "udp"}),
        Some("ICMP") => json!({"type": "icmp", "value": null}),
        _ => value,
    }
}

#[cfg(test)]
mod test {
    use super::super::test_util::assert_means;
    use super::*;

    fn rules(protocols: Value) -> Value {
        json!({"rules": [{
            "name": "r", "description": "", "status": "enabled", "direction": "inbound",
            "action": "allow", "priority": 1, "targets": [], "filters": {"protocols": protocols},
        }]})
    }

    #[test]
    fn a_name_is_a_protocol() {
        assert_means::<VpcFirewallRuleUpdateParams>(
            rules(json!(["TCP", "UDP", "ICMP", {"type": "icmp6", "value": null}])),
            rules(json!([
                {"type": "tcp"},
                {"type": "udp"},
                {"type": "icmp", "value": null},
                {"type": "icmp6", "value": null},
            ])),
        );
    }
}
