//! External addresses: what their rows say of themselves, of each other, and of their instances.

use super::findings::{Findings, violation};
use super::looks::walk;
use crate::app::Nexus;
use crate::db::check::IpFacts;
use db_model::{ExternalIp, IpKind, IpState, IpVersion};
use nexus_common::Error;
use nexus_common::address::{SNAT_BLOCKS, SNAT_PORTS};
use nexus_internal_api::types::{Violation, ViolationKind};

impl Nexus {
    pub(super) async fn check_addresses(&self, findings: &Findings) -> Result<(), Error> {
        let load = |window| self.datastore.check_ips(window);
        let seen = walk(findings, |facts: &IpFacts| facts.ip.id, load, judge).await?;
        findings.count(|counts| counts.external_ips += seen);
        Ok(())
    }
}

fn judge(facts: &IpFacts) -> Vec<Violation> {
    let mut wrong = Vec::new();
    let ip = &facts.ip;
    let mut say = |kind, why: String| {
        let message = format!("the {} IP {}{} {why}", ip.kind, ip.ip, ports(ip));
        let instance = ip.instance_id.map(|id| ("instance", id));
        let ids = [("external_ip", ip.id), ("ip_pool", ip.ip_pool_id)];
        wrong.push(violation(kind, message, ids.into_iter().chain(instance)));
    };
    if let Some(why) = transition(ip) {
        say(ViolationKind::AddressInTransition, why);
    } else if let Some(why) = attachment(facts) {
        say(ViolationKind::Attachment, why);
    }
    if let Some(why) = outside(facts) {
        say(ViolationKind::AddressOutsidePool, why);
    }
    for why in overlaps(facts) {
        say(ViolationKind::AddressOverlap, why);
    }
    if let Some(why) = uncounted(facts) {
        say(ViolationKind::PoolUtilization, why);
    }
    wrong
}

fn ports(ip: &ExternalIp) -> String {
    match ip.kind {
        IpKind::Snat => format!(" (ports {} to {})", ip.first_port, ip.last_port),
        IpKind::Ephemeral | IpKind::Floating => String::new(),
    }
}

fn transition(ip: &ExternalIp) -> Option<String> {
    match (ip.state, ip.saga_id) {
        (IpState::Attaching | IpState::Detaching, Some(saga)) => {
            Some(format!("is {} by saga {saga}", ip.state))
        }
        (IpState::Attaching | IpState::Detaching, None) => Some(format!("is {}", ip.state)),
        (IpState::Attached | IpState::Detached, _) => None,
    }
}

/// An address that is attached, and the instance that it names.
fn attachment(facts: &IpFacts) -> Option<String> {
    let ip = &facts.ip;
    let Some(id) = ip.instance_id else {
        let why = "belongs to no instance, but exists for an instance alone";
        return (ip.kind != IpKind::Floating).then(|| why.to_string());
    };
    if ip.state == IpState::Detached {
        return Some(format!("is detached but names instance {id}"));
    }
    match &facts.instance {
        None => Some("is attached to an instance that does not exist".to_string()),
        Some(instance) if instance.time_deleted.is_some() => {
            Some("is attached to an instance that was deleted".to_string())
        }
        Some(instance) if instance.project_id != ip.project_id => {
            Some("is attached to an instance of another project".to_string())
        }
        Some(_) => None,
    }
}

fn outside(facts: &IpFacts) -> Option<String> {
    let ip = &facts.ip;
    let Some(range) = &facts.range else {
        return Some("is in a range that was removed from its pool".to_string());
    };
    if range.ip_pool_id != ip.ip_pool_id {
        return Some(format!("names pool {}, but its range is another's", ip.ip_pool_id));
    }
    if ip.ip < range.first_address || ip.ip > range.last_address {
        return Some(format!(
            "is not in its range, which goes from {} to {}",
            range.first_address, range.last_address
        ));
    }
    let version = IpVersion::from(nexus_common::IpVersion::of(ip.ip.0));
    (ip.ip_version != version).then(|| format!("is said to be an IP{} address", ip.ip_version))
}

/// Others that have ports of this address. Of two that overlap, the later is told of.
fn overlaps(facts: &IpFacts) -> Vec<String> {
    let ip = &facts.ip;
    let earlier = |other: &&ExternalIp| (other.time_created, other.id) < (ip.time_created, ip.id);
    let overlaps =
        |other: &&ExternalIp| other.first_port <= ip.last_port && ip.first_port <= other.last_port;
    let others = facts.same_address.iter().filter(earlier).filter(overlaps);
    others.map(|other| format!("overlaps with the {} IP {}", other.kind, other.id)).collect()
}

/// A block of source NAT that the record of its address does not have, and so the count neither.
fn uncounted(facts: &IpFacts) -> Option<String> {
    let ip = &facts.ip;
    match (ip.kind, &facts.shared) {
        (IpKind::Snat, None) => {
            Some("is in use, but its address is not recorded as a shared one".to_string())
        }
        (IpKind::Snat, Some(shared)) => {
            let block = ip.first_port / i32::from(SNAT_PORTS);
            let known = (0..i32::from(SNAT_BLOCKS)).contains(&block)
                && shared.used_blocks & (1 << block) != 0;
            (!known).then(|| "is in use, but recorded as a free block".to_string())
        }
        (_, None) => None,
        (_, Some(_)) => {
            Some("is a whole address, but recorded as one that source NAT shares".to_string())
        }
    }
}
