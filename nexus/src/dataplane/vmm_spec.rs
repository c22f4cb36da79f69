//! What a sled is told of a VMM when it is registered.

use crate::db::network::NicWithNetwork;
use db_model::{ExternalIp, Instance, IpKind, IpVersion, NetworkInterface, Vmm};
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use uuid::Uuid;

/// The port on which a VMM's Propolis listens, for live migration.
const PROPOLIS_PORT: u16 = 12400;

/// Where a sled's Propolis listens.
pub fn propolis_address(sled_address: IpAddr) -> SocketAddr {
    match sled_address {
        IpAddr::V6(ip) => SocketAddrV6::new(ip, PROPOLIS_PORT, 0, 0).into(),
        IpAddr::V4(ip) => SocketAddrV6::new(ip.to_ipv6_mapped(), PROPOLIS_PORT, 0, 0).into(),
    }
}

/// The `InstanceEnsureBody` of a VMM.
pub fn ensure_body(
    instance: &Instance,
    vmm: &Vmm,
    propolis: SocketAddr,
    migration_id: Option<Uuid>,
    nics: &[NicWithNetwork],
    ips: &[ExternalIp],
    firewall_rules: Vec<Value>,
) -> Value {
    json!({
        "instance_id": instance.id,
        "migration_id": migration_id,
        "propolis_addr": propolis.to_string(),
        "metadata": { "silo_id": instance.silo_id, "project_id": instance.project_id },
        "vmm_runtime": {
            "state": "starting",
            "gen": vmm.generation,
            "time_updated": vmm.time_state_updated,
        },
        "vmm_spec": {
            "board": {
                "chipset": { "type": "i440_fx", "value": { "enable_pcie": false } },
                "cpus": instance.ncpus,
                "memory_mb": instance.memory >> 20,
            },
            "components": {},
        },
        "local_config": {
            "hostname": instance.hostname,
            "nics": nics.iter().map(nic).collect::<Vec<_>>(),
            "external_ips": {
                "v4": family(ips, IpVersion::V4),
                "v6": family(ips, IpVersion::V6),
            },
            "attached_subnets": [],
            "multicast_groups": [],
            "firewall_rules": firewall_rules,
            "delegated_zvols": [],
            "dhcp_config": { "dns_servers": [], "search_domains": [] },
        },
    })
}

/// The external addresses of one version; null if there are none.
fn family(ips: &[ExternalIp], version: IpVersion) -> Value {
    let mine: Vec<&ExternalIp> = ips.iter().filter(|ip| ip.ip_version == version).collect();
    if mine.is_empty() {
        return Value::Null;
    }
    let first = |kind| mine.iter().find(|ip| ip.kind == kind);
    let mut floating: Vec<IpAddr> =
        mine.iter().filter(|ip| ip.kind == IpKind::Floating).map(|ip| ip.ip.0).collect();
    floating.sort();
    json!({
        "source_nat": first(IpKind::Snat).map(|ip| json!({
            "ip": ip.ip.0,
            "first_port": ip.first_port,
            "last_port": ip.last_port,
        })),
        "ephemeral_ip": first(IpKind::Ephemeral).map(|ip| ip.ip.0),
        "floating_ips": floating,
    })
}

/// An interface as a sled has it.
pub(super) fn nic(with: &NicWithNetwork) -> Value {
    let NicWithNetwork { nic, vpc, subnet } = with;
    json!({
        "id": nic.id,
        "kind": { "type": "instance", "id": nic.instance_id },
        "name": nic.name,
        "mac": nic.mac.0,
        "vni": vpc.vni,
        "primary": nic.is_primary,
        "slot": nic.slot,
        "ip_config": ip_config(nic, subnet),
    })
}

fn ip_config(nic: &NetworkInterface, subnet: &db_model::VpcSubnet) -> Value {
    let v4 = nic.ipv4.map(
        |ip| json!({ "ip": ip.0, "subnet": subnet.ipv4_block, "transit_ips": nic.transit_ips_v4 }),
    );
    let v6 = nic.ipv6.map(
        |ip| json!({ "ip": ip.0, "subnet": subnet.ipv6_block, "transit_ips": nic.transit_ips_v6 }),
    );
    match (v4, v6) {
        (Some(v4), Some(v6)) => json!({ "type": "dual_stack", "value": { "v4": v4, "v6": v6 } }),
        (Some(v4), None) => json!({ "type": "v4", "value": v4 }),
        (None, v6) => json!({ "type": "v6", "value": v6 }),
    }
}

/// The underlay address of a sled as IPv6, which it is unless the row was tampered with.
pub fn underlay_of(ip: IpAddr) -> Ipv6Addr {
    match ip {
        IpAddr::V6(ip) => ip,
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
    }
}
