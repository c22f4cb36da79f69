//! The control port: what only a simulator has.

use crate::agent::Agent;
use crate::model::{ExternalIps, NoWayOut, Pace, Port, Sled, Source, Vmm};
use crate::peer::{MigrationRequest, Wanted};
use crate::server::refusal;
use crate::types::{
    ExternalIpGatewayMap, Generation, ResolvedVpcFirewallRule, VirtualNetworkInterfaceHost,
    VmmState, VpcFirewallRulesEnsureBody,
};
use chrono::Utc;
use dropshot::{
    ApiDescription, HttpError, HttpResponseOk, HttpResponseUpdatedNoContent, Path, RequestContext,
    TypedBody, endpoint,
};
use nexus_common::{IpVersion, MacAddr, Vni};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_kit::packet::{Delivery, Packet};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use uuid::Uuid;

type Rqctx = RequestContext<Arc<Agent>>;

/// Everything that a sled holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct State {
    /// The VMMs. One that has ended is among them until Nexus knows that it has.
    pub vmms: Vec<VmmView>,
    /// The ports of all VMMs.
    pub ports: Vec<PortView>,
    /// Where virtual addresses are.
    pub v2p: Vec<VirtualNetworkInterfaceHost>,
    /// The firewall rules of VPCs, as the sled was told of them.
    pub firewalls: BTreeMap<Uuid, VpcFirewallRulesEnsureBody>,
    /// The internet gateways of external addresses, as the sled was told of them.
    pub eip_gateways: ExternalIpGatewayMap,
}

/// A VMM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VmmView {
    /// Its id.
    pub id: Uuid,
    /// The instance that runs in it.
    pub instance_id: Uuid,
    /// What it is doing.
    pub state: VmmState,
    /// The generation of its state.
    pub generation: Generation,
    /// The firewall rules that it came with.
    pub firewall_rules: Vec<ResolvedVpcFirewallRule>,
}

/// A port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PortView {
    /// The VMM that it belongs to.
    pub vmm_id: Uuid,
    /// The network interface that it belongs to.
    pub nic_id: Uuid,
    /// The private address: the IPv4 one, if there are two.
    pub ip: IpAddr,
    /// All private addresses.
    pub ips: Vec<IpAddr>,
    /// The MAC address.
    pub mac: MacAddr,
    /// The virtual network.
    pub vni: Vni,
    /// Whether it is the port of the primary network interface.
    pub primary: bool,
    /// The external addresses.
    pub external_ips: ExternalIps,
}

/// A VMM.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
struct VmmSelector {
    /// The VMM's id.
    vmm_id: Uuid,
}

/// A packet that a guest sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outbound {
    /// The guest's VMM.
    pub vmm_id: Uuid,
    /// Where it sends it.
    pub dst: IpAddr,
    /// The guest's port that it sends it from.
    pub port: u16,
}

/// What becomes of a packet that a guest sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Departure {
    /// It leaves.
    Sent(Source),
    /// It does not.
    Dropped {
        /// That it does not: `true`.
        dropped: bool,
        /// Why it does not.
        reason: NoWayOut,
    },
}

/// What the control port serves.
pub fn api() -> anyhow::Result<ApiDescription<Arc<Agent>>> {
    let mut api = ApiDescription::new();
    api.register(sim_state)?;
    api.register(sim_crash)?;
    api.register(sim_pace)?;
    api.register(sim_outbound)?;
    api.register(sim_deliver)?;
    api.register(sim_migration)?;
    sim_kit::control::register(&mut api)?;
    Ok(api)
}

/// Fetch everything that the sled holds
#[endpoint { method = GET, path = "/sim/state" }]
async fn sim_state(rqctx: Rqctx) -> Result<HttpResponseOk<State>, HttpError> {
    Ok(HttpResponseOk(rqctx.context().with(|sled| view(sled))))
}

/// Have a VMM fail, as if its Propolis had crashed
#[endpoint { method = POST, path = "/sim/vmms/{vmm_id}/crash" }]
async fn sim_crash(
    rqctx: Rqctx,
    path: Path<VmmSelector>,
) -> Result<HttpResponseUpdatedNoContent, HttpError> {
    let id = path.into_inner().vmm_id;
    rqctx.context().with(|sled| sled.crash(id, Utc::now())).map_err(refusal)?;
    Ok(HttpResponseUpdatedNoContent())
}

/// Set how long changes of VMMs take that begin from now on
#[endpoint { method = PUT, path = "/sim/pace" }]
async fn sim_pace(
    rqctx: Rqctx,
    body: TypedBody<Pace>,
) -> Result<HttpResponseUpdatedNoContent, HttpError> {
    let pace = body.into_inner();
    rqctx.context().with(|sled| sled.set_pace(pace));
    Ok(HttpResponseUpdatedNoContent())
}

/// See from where a packet leaves that a guest sends
#[endpoint { method = POST, path = "/sim/outbound" }]
async fn sim_outbound(
    rqctx: Rqctx,
    body: TypedBody<Outbound>,
) -> Result<HttpResponseOk<Departure>, HttpError> {
    let Outbound { vmm_id, dst, port } = body.into_inner();
    let departure = match rqctx.context().with(|sled| sled.outbound(vmm_id, dst, port)) {
        Ok(source) => Departure::Sent(source),
        Err(reason) => Departure::Dropped { dropped: true, reason },
    };
    Ok(HttpResponseOk(departure))
}

/// See what becomes of a packet that a switch sends here
#[endpoint { method = POST, path = "/sim/deliver" }]
async fn sim_deliver(
    rqctx: Rqctx,
    body: TypedBody<Packet>,
) -> Result<HttpResponseOk<Delivery>, HttpError> {
    let packet = body.into_inner();
    let agent = rqctx.context();
    let delivery = match agent.with(|sled| sled.deliver(&packet)) {
        Ok(arrival) => Delivery::to(agent.config.id, arrival.vmm, arrival.nic_ip),
        Err(reason) => Delivery::dropped(reason),
    };
    Ok(HttpResponseOk(delivery))
}

/// Let another sled take over an instance
#[endpoint { method = POST, path = "/sim/migrations" }]
async fn sim_migration(
    rqctx: Rqctx,
    body: TypedBody<MigrationRequest>,
) -> Result<HttpResponseUpdatedNoContent, HttpError> {
    let MigrationRequest { migration_id, instance_id, propolis_addr, wanted } = body.into_inner();
    let now = Utc::now();
    let result = rqctx.context().with(|sled| match wanted {
        Wanted::Prepare => sled.migrate_out(instance_id, propolis_addr, migration_id, now),
        Wanted::HandOver => sled.hand_over(migration_id, now),
        Wanted::Keep => {
            sled.keep(migration_id, now);
            Ok(())
        }
    });
    result.map_err(refusal)?;
    Ok(HttpResponseUpdatedNoContent())
}

fn view(sled: &Sled) -> State {
    let ports = |(id, vmm): (Uuid, &Vmm)| -> Vec<_> {
        vmm.ports.iter().filter_map(|port| port_view(id, port)).collect()
    };
    let vmm = |(id, vmm): (Uuid, &Vmm)| VmmView {
        id,
        instance_id: vmm.instance_id,
        state: vmm.phase(),
        generation: vmm.state.vmm_state.generation,
        firewall_rules: vmm.firewall_rules.clone(),
    };
    State {
        vmms: sled.vmms().map(vmm).collect(),
        ports: sled.vmms().flat_map(ports).collect(),
        v2p: sled.list_v2p(),
        firewalls: sled.firewalls().clone(),
        eip_gateways: sled.gateways().clone(),
    }
}

fn port_view(vmm_id: Uuid, port: &Port) -> Option<PortView> {
    let address = |version| port.nic.ip_config.address(version);
    let ips: Vec<_> = [IpVersion::V4, IpVersion::V6].into_iter().filter_map(address).collect();
    Some(PortView {
        vmm_id,
        nic_id: port.nic.id,
        // An interface has one address at least.
        ip: *ips.first()?,
        ips,
        mac: port.nic.mac,
        vni: port.nic.vni,
        primary: port.nic.primary,
        external_ips: port.external_ips.clone(),
    })
}
