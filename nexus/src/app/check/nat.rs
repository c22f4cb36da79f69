//! The NAT entries that are recorded: exactly those that follow from instances, their VMMs, their
//! interfaces and their addresses.

use super::findings::{Findings, violation};
use super::looks::walk;
use crate::app::Nexus;
use crate::db::check::{EntryFacts, TargetFacts, VmmFacts};
use db_model::{ExternalIp, IpState, NatEntry, Sled, VmmState};
use nexus_common::Error;
use nexus_internal_api::types::{Violation, ViolationKind};

impl Nexus {
    pub(super) async fn check_nat(&self, findings: &Findings) -> Result<(), Error> {
        let vmms = |window| self.datastore.check_vmms(window);
        walk(findings, |facts: &VmmFacts| facts.vmm.id, vmms, judge_instance).await?;
        let entries = |window| self.datastore.check_nat_entries(window);
        let seen =
            walk(findings, |facts: &EntryFacts| facts.entry.id, entries, judge_entry).await?;
        findings.count(|counts| counts.nat_entries += seen);
        Ok(())
    }
}

/// What is wrong with the entries of an instance that has this VMM.
fn judge_instance(facts: &VmmFacts) -> Vec<Violation> {
    let active = facts.instance.as_ref().is_some_and(|instance| {
        instance.active_vmm_id == Some(facts.vmm.id) && instance.time_deleted.is_none()
    });
    // A VMM in one of these states is on its way, or is stuck, which is reported as that.
    let on_its_way = facts.vmm.state == VmmState::Creating || facts.vmm.state.is_terminal();
    let (Some(sled), true) = (&facts.sled, active && !on_its_way) else { return Vec::new() };
    let settled = |ip: &&ExternalIp| ip.state == IpState::Attached;
    let wrong = facts.ips.iter().filter(settled).filter_map(|ip| {
        let why = wrong_entries(facts, sled, ip)?;
        let message = format!("the {} IP {} of an instance with a VMM {why}", ip.kind, ip.ip);
        let ids = [
            ("external_ip", ip.id),
            ("instance", facts.vmm.instance_id),
            ("sled", facts.vmm.sled_id),
        ];
        Some(violation(ViolationKind::NatIntent, message, ids))
    });
    wrong.collect()
}

fn wrong_entries(facts: &VmmFacts, sled: &Sled, ip: &ExternalIp) -> Option<String> {
    let entries: Vec<&NatEntry> =
        facts.entries.iter().filter(|entry| entry.external_ip_id == ip.id).collect();
    let has_version =
        |target: &&TargetFacts| if ip.ip.0.is_ipv4() { target.has_v4 } else { target.has_v6 };
    let target = facts.target.as_ref().filter(has_version);
    match (target, entries.as_slice()) {
        (None, []) => None,
        (None, _) => Some("has a NAT entry, but the instance has no interface for it".to_string()),
        (Some(_), []) => Some("has no NAT entry".to_string()),
        (Some(target), [entry]) => (!leads_to(entry, target, sled, ip)).then(|| {
            format!(
                "has a NAT entry ({} ports {} to {}, to sled {}, VNI {}, MAC {}) that is not the \
                 one that follows from it",
                entry.external_address,
                entry.first_port,
                entry.last_port,
                entry.sled_address,
                entry.vni,
                entry.mac.0
            )
        }),
        (Some(_), more) => Some(format!("has {} NAT entries", more.len())),
    }
}

fn leads_to(entry: &NatEntry, target: &TargetFacts, sled: &Sled, ip: &ExternalIp) -> bool {
    (entry.external_address, entry.first_port, entry.last_port)
        == (ip.ip, ip.first_port, ip.last_port)
        && (entry.sled_address, entry.vni, entry.mac)
            == (sled.underlay_address, target.vni, target.mac)
}

/// An entry that does not follow from anything.
fn judge_entry(facts: &EntryFacts) -> Vec<Violation> {
    let entry = &facts.entry;
    let Some(why) = stray(facts) else { return Vec::new() };
    let message = format!(
        "there is a NAT entry for {} ports {} to {}, but {why}",
        entry.external_address, entry.first_port, entry.last_port
    );
    let ids = [
        ("nat_entry", entry.id),
        ("external_ip", entry.external_ip_id),
        ("instance", entry.instance_id),
    ];
    vec![violation(ViolationKind::NatIntent, message, ids)]
}

fn stray(facts: &EntryFacts) -> Option<String> {
    let Some(ip) = &facts.ip else {
        return Some("nobody has the address that it was made for".to_string());
    };
    match ip.state {
        // Reported as such; the entry comes or goes with it.
        IpState::Attaching | IpState::Detaching => return None,
        IpState::Detached => return Some(format!("the {} IP is detached", ip.kind)),
        IpState::Attached => {}
    }
    if ip.instance_id != Some(facts.entry.instance_id) {
        return Some(format!("the {} IP is another instance's", ip.kind));
    }
    match &facts.instance {
        None => Some("its instance does not exist".to_string()),
        Some(instance) if instance.time_deleted.is_some() => {
            Some("its instance was deleted".to_string())
        }
        Some(instance) if instance.active_vmm_id.is_none() => {
            Some("its instance has no VMM".to_string())
        }
        Some(_) => None,
    }
}
