//! Firewall rules of VPCs, and what the names in them stand for.

use super::Datastore;
use super::error::TxResult;
use super::network::NicWithNetwork;
use super::vpc::live_vpc;
use db_model::schema::{instance, network_interface, vmm, vpc, vpc_firewall, vpc_subnet};
use db_model::{FirewallRule, NetworkInterface, Vpc, VpcFirewall, VpcSubnet};
use diesel::prelude::*;
use nexus_common::firewall::{
    L4PortRange, VpcFirewallRuleAction, VpcFirewallRuleDirection, VpcFirewallRuleFilter,
    VpcFirewallRuleHostFilter, VpcFirewallRuleProtocol, VpcFirewallRuleStatus,
    VpcFirewallRuleTarget,
};
use nexus_common::{Error, Name};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// The port of SSH.
const SSH: L4PortRange = L4PortRange { first: 22, last: 22 };
/// The priority of the rules of a new VPC: behind whatever its owner adds.
const LAST_PRIORITY: u16 = 65534;

/// A VPC and its rules.
#[derive(Clone, Debug)]
pub struct Firewall {
    pub vpc: Vpc,
    /// Zero as long as they were never set.
    pub generation: i64,
    pub rules: Vec<FirewallRule>,
}

/// An interface of an instance that has a VMM.
#[derive(Clone, Debug)]
pub struct GuardedNic {
    pub nic: NicWithNetwork,
    pub instance: String,
    pub sled_id: Uuid,
}

/// The names of a VPC's rules that stand for hosts, or the hosts that they stand for.
#[derive(Clone, Debug, Default)]
pub struct Hosts<V, S, I> {
    pub vpcs: V,
    pub subnets: S,
    pub instances: I,
}

/// Names whose hosts are wanted.
pub type HostNames = Hosts<BTreeSet<Name>, BTreeSet<Name>, BTreeSet<Name>>;
/// VNIs of VPCs, subnets, and interfaces of instances, by name.
pub type NamedHosts =
    Hosts<BTreeMap<String, i32>, BTreeMap<String, VpcSubnet>, Vec<(String, NetworkInterface)>>;

fn default_rule(vpc: &Vpc, name: &str, description: &str) -> Result<FirewallRule, Error> {
    let of_vpc: Name = vpc.name.parse().map_err(Error::internal)?;
    Ok(FirewallRule {
        // The same as long as nobody sets the rules.
        id: Uuid::new_v5(&vpc.id, name.as_bytes()),
        name: name.to_string(),
        description: description.to_string(),
        status: VpcFirewallRuleStatus::Enabled,
        direction: VpcFirewallRuleDirection::Inbound,
        action: VpcFirewallRuleAction::Allow,
        priority: LAST_PRIORITY,
        targets: vec![VpcFirewallRuleTarget::Vpc(of_vpc)],
        filters: VpcFirewallRuleFilter::default(),
        time_created: vpc.time_created,
        time_modified: vpc.time_created,
    })
}

/// The rules of a VPC that were never set.
fn default_rules(vpc: &Vpc) -> Result<Vec<FirewallRule>, Error> {
    let mut internal = default_rule(
        vpc,
        "allow-internal-inbound",
        "allow inbound traffic to all instances within the VPC if originated within the VPC",
    )?;
    let of_vpc: Name = vpc.name.parse().map_err(Error::internal)?;
    internal.filters.hosts = Some(vec![VpcFirewallRuleHostFilter::Vpc(of_vpc)]);
    let mut ssh =
        default_rule(vpc, "allow-ssh", "allow inbound TCP connections on port 22 from anywhere")?;
    ssh.filters.ports = Some(vec![SSH]);
    ssh.filters.protocols = Some(vec![VpcFirewallRuleProtocol::Tcp]);
    let mut icmp = default_rule(vpc, "allow-icmp", "allow inbound ICMP traffic from anywhere")?;
    icmp.filters.protocols = Some(vec![VpcFirewallRuleProtocol::Icmp(None)]);
    Ok(vec![icmp, internal, ssh])
}

fn firewall(vpc: Vpc, row: Option<VpcFirewall>) -> Result<Firewall, Error> {
    Ok(match row {
        None => Firewall { generation: 0, rules: default_rules(&vpc)?, vpc },
        Some(row) => Firewall {
            generation: row.generation,
            rules: serde_json::from_value(row.rules).map_err(Error::internal)?,
            vpc,
        },
    })
}

fn load(conn: &mut PgConnection, vpc_id: Uuid) -> TxResult<Firewall> {
    let found: Option<VpcFirewall> = vpc_firewall::table
        .filter(vpc_firewall::vpc_id.eq(vpc_id))
        .select(VpcFirewall::as_select())
        .first(conn)
        .optional()?;
    Ok(firewall(live_vpc(conn, vpc_id)?, found)?)
}

/// Rules under the ids of those that have their names already.
fn keep_ids(old: &[FirewallRule], mut new: Vec<FirewallRule>) -> Vec<FirewallRule> {
    let by_name: BTreeMap<_, _> = old.iter().map(|rule| (&rule.name, rule)).collect();
    for rule in &mut new {
        if let Some(before) = by_name.get(&rule.name) {
            (rule.id, rule.time_created) = (before.id, before.time_created);
        }
    }
    new.sort_by(|a, b| a.name.cmp(&b.name));
    new
}

impl Datastore {
    /// A VPC's rules, by name.
    pub async fn firewall_fetch(&self, vpc_id: Uuid) -> Result<Firewall, Error> {
        self.transaction("vpc firewall", move |conn| load(conn, vpc_id)).await
    }

    /// Sets a VPC's rules. One that has the name of an earlier one is that one, changed.
    pub async fn firewall_set(
        &self,
        vpc_id: Uuid,
        rules: Vec<FirewallRule>,
    ) -> Result<Firewall, Error> {
        self.transaction("set vpc firewall", move |conn| {
            let old = load(conn, vpc_id)?;
            let rules = keep_ids(&old.rules, rules.clone());
            let row = VpcFirewall {
                vpc_id,
                generation: old.generation + 1,
                rules: serde_json::to_value(&rules).map_err(Error::internal)?,
            };
            let changed = (
                vpc_firewall::generation.eq(row.generation),
                vpc_firewall::rules.eq(row.rules.clone()),
            );
            diesel::insert_into(vpc_firewall::table)
                .values(&row)
                .on_conflict(vpc_firewall::vpc_id)
                .do_update()
                .set(changed)
                .execute(conn)?;
            Ok(Firewall { vpc: old.vpc, generation: row.generation, rules })
        })
        .await
    }

    /// A page, by id, of a VPC's interfaces of instances that have an active VMM.
    pub async fn guarded_nics(
        &self,
        vpc_id: Uuid,
        after: Option<Uuid>,
        limit: i64,
    ) -> Result<Vec<GuardedNic>, Error> {
        self.statement("guarded interfaces", move |conn| {
            let mut query = network_interface::table
                .inner_join(instance::table.on(instance::id.eq(network_interface::instance_id)))
                .inner_join(vmm::table.on(instance::active_vmm_id.eq(vmm::id.nullable())))
                .inner_join(vpc::table.on(vpc::id.eq(network_interface::vpc_id)))
                .inner_join(vpc_subnet::table.on(vpc_subnet::id.eq(network_interface::subnet_id)))
                .filter(network_interface::vpc_id.eq(vpc_id))
                .filter(network_interface::time_deleted.is_null())
                .filter(instance::time_deleted.is_null())
                .select((
                    NetworkInterface::as_select(),
                    Vpc::as_select(),
                    VpcSubnet::as_select(),
                    instance::name,
                    vmm::sled_id,
                ))
                .into_boxed();
            if let Some(after) = after {
                query = query.filter(network_interface::id.gt(after));
            }
            let rows = query.order(network_interface::id).limit(limit).load::<(
                NetworkInterface,
                Vpc,
                VpcSubnet,
                String,
                Uuid,
            )>(conn)?;
            let guarded = |(nic, vpc, subnet, instance, sled_id)| GuardedNic {
                nic: NicWithNetwork { nic, vpc, subnet },
                instance,
                sled_id,
            };
            Ok(rows.into_iter().map(guarded).collect())
        })
        .await
    }

    /// A page of the ids of VPCs in which there are interfaces.
    pub async fn vpcs_in_use(&self, after: Option<Uuid>, limit: i64) -> Result<Vec<Uuid>, Error> {
        self.statement("vpcs in use", move |conn| {
            let mut query = network_interface::table
                .filter(network_interface::time_deleted.is_null())
                .select(network_interface::vpc_id)
                .distinct()
                .into_boxed();
            if let Some(after) = after {
                query = query.filter(network_interface::vpc_id.gt(after));
            }
            Ok(query.order(network_interface::vpc_id).limit(limit).load(conn)?)
        })
        .await
    }

    /// What names stand for in the rules of this VPC. Those that nothing has are left out.
    pub async fn named_hosts(&self, of: &Vpc, names: HostNames) -> Result<NamedHosts, Error> {
        let strings = |names: BTreeSet<Name>| names.into_iter().map(String::from).collect();
        let (vpcs, subnets, instances): (Vec<String>, Vec<String>, Vec<String>) =
            (strings(names.vpcs), strings(names.subnets), strings(names.instances));
        if vpcs.is_empty() && subnets.is_empty() && instances.is_empty() {
            return Ok(NamedHosts::default());
        }
        let (project_id, vpc_id) = (of.project_id, of.id);
        self.transaction("named hosts", move |conn| {
            let vpcs = vpc::table
                .filter(vpc::project_id.eq(project_id))
                .filter(vpc::name.eq_any(&vpcs))
                .filter(vpc::time_deleted.is_null())
                .select((vpc::name, vpc::vni))
                .load(conn)?;
            let subnets: Vec<VpcSubnet> = vpc_subnet::table
                .filter(vpc_subnet::vpc_id.eq(vpc_id))
                .filter(vpc_subnet::name.eq_any(&subnets))
                .filter(vpc_subnet::time_deleted.is_null())
                .select(VpcSubnet::as_select())
                .load(conn)?;
            let instances = instance::table
                .inner_join(
                    network_interface::table.on(network_interface::instance_id.eq(instance::id)),
                )
                .filter(instance::project_id.eq(project_id))
                .filter(instance::name.eq_any(&instances))
                .filter(instance::time_deleted.is_null())
                .filter(network_interface::vpc_id.eq(vpc_id))
                .filter(network_interface::time_deleted.is_null())
                .select((instance::name, NetworkInterface::as_select()))
                .load(conn)?;
            Ok(Hosts {
                vpcs: vpcs.into_iter().collect(),
                subnets: subnets.into_iter().map(|row| (row.name.clone(), row)).collect(),
                instances,
            })
        })
        .await
    }
}
