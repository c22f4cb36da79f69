//! Firewalls: which packets the ports of a VPC's interfaces let through.
//!
//! Owners write rules in names; a sled gets them with the interfaces and addresses that these
//! stand for. A VMM is registered with the rules of its own ports. When rules change, every sled
//! with ports of the VPC is told. A sled that does not answer then, and names that come to stand
//! for something else, are caught up with periodically.

use super::Dataplane;
use super::sled::SledError;
use super::vmm_spec::nic as nic_spec;
use crate::db::Datastore;
use crate::db::firewall::{Firewall, GuardedNic, HostNames, NamedHosts};
use crate::db::network::NicWithNetwork;
use db_model::{FirewallRule, NetworkInterface, VpcSubnet};
use futures::future::join_all;
use ipnetwork::IpNetwork;
use nexus_common::Error;
use nexus_common::firewall::{VpcFirewallRuleHostFilter as Host, VpcFirewallRuleTarget as Target};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::IpAddr;
use uuid::Uuid;

/// What pushes of rules did.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct FirewallReport {
    /// VPCs with ports somewhere.
    pub vpcs: usize,
    /// Sleds that were told, once for each VPC.
    pub pushed: usize,
    /// Sleds that could not be told.
    pub failed: usize,
}

impl FirewallReport {
    fn add(&mut self, other: FirewallReport) {
        self.vpcs += other.vpcs;
        self.pushed += other.pushed;
        self.failed += other.failed;
    }
}

/// An interface that rules may be for.
struct Port<'a> {
    nic: &'a NicWithNetwork,
    instance: &'a str,
}

/// The names that have to be known to say which hosts rules mean. The VPC's own is known.
fn host_names(firewall: &Firewall) -> HostNames {
    let mut names = HostNames::default();
    for host in firewall.rules.iter().flat_map(|rule| rule.filters.hosts.iter().flatten()) {
        match host {
            Host::Vpc(name) if name.as_str() == firewall.vpc.name => {}
            Host::Vpc(name) => {
                names.vpcs.insert(name.clone());
            }
            Host::Subnet(name) => {
                names.subnets.insert(name.clone());
            }
            Host::Instance(name) => {
                names.instances.insert(name.clone());
            }
            Host::Ip(_) | Host::IpNet(_) => {}
        }
    }
    names
}

fn addresses(nic: &NetworkInterface) -> impl Iterator<Item = IpAddr> {
    [nic.ipv4, nic.ipv6].into_iter().flatten().map(|ip| ip.0)
}

fn is_for(target: &Target, firewall: &Firewall, port: &Port<'_>) -> bool {
    let nic = &port.nic.nic;
    match target {
        Target::Vpc(name) => name.as_str() == firewall.vpc.name,
        Target::Subnet(name) => name.as_str() == port.nic.subnet.name,
        Target::Instance(name) => name.as_str() == port.instance,
        Target::Ip(ip) => addresses(nic).any(|own| own == *ip),
        Target::IpNet(net) => addresses(nic).any(|own| net.contains(own)),
    }
}

fn host(net: impl ToString) -> Value {
    json!({ "type": "ip", "value": net.to_string() })
}

fn subnet_hosts(subnet: &VpcSubnet) -> Vec<Value> {
    vec![host(subnet.ipv4_block), host(subnet.ipv6_block)]
}

/// What a sled is told of one end of a packet; nothing if the name is nobody's.
fn hosts_of(filter: &Host, firewall: &Firewall, named: &NamedHosts) -> Vec<Value> {
    match filter {
        Host::Vpc(name) => {
            let own = (name.as_str() == firewall.vpc.name).then_some(firewall.vpc.vni);
            let vni = own.or_else(|| named.vpcs.get(name.as_str()).copied());
            vni.map(|vni| json!({ "type": "vpc", "value": vni })).into_iter().collect()
        }
        Host::Subnet(name) => {
            named.subnets.get(name.as_str()).map(subnet_hosts).unwrap_or_default()
        }
        Host::Instance(name) => named
            .instances
            .iter()
            .filter(|(instance, _)| instance == name.as_str())
            .flat_map(|(_, nic)| addresses(nic))
            .map(|ip| host(IpNetwork::from(ip)))
            .collect(),
        Host::Ip(ip) => vec![host(IpNetwork::from(*ip))],
        Host::IpNet(net) => vec![host(net)],
    }
}

/// The other ends that a rule is about; null if it is about any. None if it names some and there
/// are none of them, so that no packet matches.
fn resolve_hosts(rule: &FirewallRule, firewall: &Firewall, named: &NamedHosts) -> Option<Value> {
    let filters = rule.filters.hosts.as_deref().unwrap_or_default();
    if filters.is_empty() {
        return Some(Value::Null);
    }
    let mut hosts = Vec::new();
    for host in filters.iter().flat_map(|filter| hosts_of(filter, firewall, named)) {
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    (!hosts.is_empty()).then(|| Value::from(hosts))
}

/// A rule as a sled has it; none if it is for none of these ports, or for no packet.
fn resolve_rule(
    rule: &FirewallRule,
    firewall: &Firewall,
    named: &NamedHosts,
    ports: &[Port<'_>],
) -> Option<Value> {
    let is_target =
        |port: &&Port<'_>| rule.targets.iter().any(|target| is_for(target, firewall, port));
    let targets: Vec<Value> =
        ports.iter().filter(is_target).map(|port| nic_spec(port.nic)).collect();
    if targets.is_empty() {
        return None;
    }
    let hosts = resolve_hosts(rule, firewall, named)?;
    Some(json!({
        "action": rule.action,
        "direction": rule.direction,
        "status": rule.status,
        "priority": rule.priority,
        "targets": targets,
        "filter_hosts": hosts,
        "filter_ports": rule.filters.ports,
        "filter_protocols": rule.filters.protocols,
    }))
}

fn resolve(firewall: &Firewall, named: &NamedHosts, ports: &[Port<'_>]) -> Vec<Value> {
    firewall.rules.iter().filter_map(|rule| resolve_rule(rule, firewall, named, ports)).collect()
}

/// The rules for the interfaces of an instance, as a sled has them.
pub async fn rules_for_instance(
    datastore: &Datastore,
    instance: &str,
    nics: &[NicWithNetwork],
) -> Result<Vec<Value>, Error> {
    let Some(first) = nics.first() else { return Ok(Vec::new()) };
    let firewall = datastore.firewall_fetch(first.vpc.id).await?;
    let named = datastore.named_hosts(&firewall.vpc, host_names(&firewall)).await?;
    let ports: Vec<_> = nics.iter().map(|nic| Port { nic, instance }).collect();
    Ok(resolve(&firewall, &named, &ports))
}

/// A VPC's interfaces of instances that have a VMM, by sled.
async fn guarded(
    datastore: &Datastore,
    vpc_id: Uuid,
) -> Result<BTreeMap<Uuid, Vec<GuardedNic>>, Error> {
    const PAGE: i64 = 1000;
    let mut by_sled: BTreeMap<Uuid, Vec<GuardedNic>> = BTreeMap::new();
    let mut after = None;
    loop {
        let page = datastore.guarded_nics(vpc_id, after, PAGE).await?;
        after = page.last().map(|guarded| guarded.nic.nic.id);
        let full = page.len() as i64 == PAGE;
        for guarded in page {
            by_sled.entry(guarded.sled_id).or_default().push(guarded);
        }
        if !full {
            return Ok(by_sled);
        }
    }
}

impl Dataplane {
    /// Tells every sled that has ports of this VPC its rules. Whoever is late with older ones
    /// reads again, and corrects itself.
    pub async fn push_firewall(
        &self,
        datastore: &Datastore,
        vpc_id: Uuid,
    ) -> Result<FirewallReport, Error> {
        let mut firewall = datastore.firewall_fetch(vpc_id).await?;
        loop {
            let report = self.push_firewall_once(datastore, &firewall).await?;
            let now = datastore.firewall_fetch(vpc_id).await?;
            if now.generation == firewall.generation {
                return Ok(report);
            }
            firewall = now;
        }
    }

    async fn push_firewall_once(
        &self,
        datastore: &Datastore,
        firewall: &Firewall,
    ) -> Result<FirewallReport, Error> {
        let named = datastore.named_hosts(&firewall.vpc, host_names(firewall)).await?;
        let by_sled = guarded(datastore, firewall.vpc.id).await?;
        let pushes = by_sled.iter().map(|(sled_id, guarded)| {
            let ports: Vec<_> =
                guarded.iter().map(|on| Port { nic: &on.nic, instance: &on.instance }).collect();
            let body = json!({
                "vni": firewall.vpc.vni,
                "rules": resolve(firewall, &named, &ports),
            });
            self.push_firewall_to(*sled_id, firewall.vpc.id, body)
        });
        let mut report = FirewallReport { vpcs: 1, ..Default::default() };
        for result in join_all(pushes).await {
            match result {
                Ok(()) => report.pushed += 1,
                Err(_) => report.failed += 1,
            }
        }
        Ok(report)
    }

    async fn push_firewall_to(
        &self,
        sled_id: Uuid,
        vpc_id: Uuid,
        body: Value,
    ) -> Result<(), SledError> {
        let agent = self
            .sleds
            .agent(sled_id)
            .await
            .map_err(|error| SledError::Failed(error.to_string()))?;
        agent.put_firewall(vpc_id, body).await
    }

    /// Tells all sleds the rules of all VPCs that they have ports of.
    pub async fn reconcile_firewalls(
        &self,
        datastore: &Datastore,
    ) -> Result<FirewallReport, Error> {
        const PAGE: i64 = 100;
        let mut report = FirewallReport::default();
        let mut after = None;
        loop {
            let page = datastore.vpcs_in_use(after, PAGE).await?;
            after = page.last().copied();
            for vpc_id in &page {
                match self.push_firewall(datastore, *vpc_id).await {
                    Ok(pushed) => report.add(pushed),
                    // It has been deleted meanwhile.
                    Err(Error::NotFound { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            if (page.len() as i64) < PAGE {
                return Ok(report);
            }
        }
    }
}
