//! A sled: its VMMs and what they do when they are asked to.

use super::effect::{Effect, Step, StepKind};
use super::port::{Port, PortError};
use super::refusal::Refusal;
use super::routes::Routes;
use super::vmm::{Side, Vmm, new_migration};
use crate::types::{
    ExternalIpGatewayMap, Generation, InstanceEnsureBody, InstanceExternalIpBody, SledVmmState,
    VirtualNetworkInterfaceHost, VmmRuntimeState, VmmState, VmmStateRequested,
    VpcFirewallRulesEnsureBody,
};
use chrono::{DateTime, Utc};
use nexus_common::{IpVersion, Vni};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;
use uuid::Uuid;

/// A sled. It has no VMMs when it starts.
#[derive(Debug, Default)]
pub struct Sled {
    pub(super) vmms: BTreeMap<Uuid, Vmm>,
    pub(super) pace: Pace,
    /// The last migrations that took an instance away from here. The VMM itself is forgotten by
    /// the time its taker may ask again.
    pub(super) moved_away: VecDeque<Uuid>,
    routes: Routes,
    v2p: BTreeMap<(Vni, IpAddr), VirtualNetworkInterfaceHost>,
    firewalls: BTreeMap<Uuid, VpcFirewallRulesEnsureBody>,
    gateways: ExternalIpGatewayMap,
    effects: Vec<Effect>,
}

/// How long changes of VMMs take, in milliseconds. What is left out is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pace {
    /// To boot, and to boot again.
    #[serde(default)]
    pub boot_ms: u64,
    /// To stop.
    #[serde(default)]
    pub stop_ms: u64,
    /// To take over an instance.
    #[serde(default)]
    pub migrate_ms: u64,
}

impl From<PortError> for Refusal {
    fn from(error: PortError) -> Self {
        Refusal::NoPlaceForIp(match error {
            PortError::NoPrimary => "there is no primary network interface".to_string(),
            PortError::NoPrivateIp(version) => {
                format!("the primary network interface has no private IP{version} address")
            }
        })
    }
}

/// VMMs.
impl Sled {
    /// Makes a VMM. One that is there already is left as it is.
    pub fn register(
        &mut self,
        id: Uuid,
        body: &InstanceEnsureBody,
        now: DateTime<Utc>,
    ) -> Result<SledVmmState, Refusal> {
        if let Some(vmm) = self.vmms.get(&id) {
            if vmm.instance_id != body.instance_id {
                return Err(Refusal::OtherInstance(vmm.instance_id));
            }
            return Ok(vmm.state.clone());
        }
        let VmmRuntimeState { generation, time_updated, .. } = body.vmm_runtime;
        let is_target = body.migration_id.is_some();
        let state = if is_target { VmmState::Migrating } else { VmmState::Starting };
        let state = SledVmmState {
            vmm_state: VmmRuntimeState { state, generation, time_updated },
            migration_in: body.migration_id.map(|id| new_migration(id, now)),
            migration_out: None,
        };
        let vmm = Vmm {
            instance_id: body.instance_id,
            propolis_addr: body.propolis_addr,
            state: state.clone(),
            ports: Port::all(&body.local_config)?,
            firewall_rules: body.local_config.firewall_rules.clone(),
            booting: false,
            plan: 0,
            heard: 0,
        };
        self.vmms.insert(id, vmm);
        self.update_routes();
        Ok(state)
    }

    /// Removes a VMM at once. The answer is its last state, and so Nexus is told nothing else.
    pub fn unregister(&mut self, id: Uuid, now: DateTime<Utc>) -> Option<SledVmmState> {
        let mut vmm = self.vmms.remove(&id)?;
        if !vmm.has_ended() {
            vmm.reach(VmmState::Destroyed, now);
        }
        self.update_routes();
        self.effects.push(Effect::Unreport { vmm: id });
        Some(vmm.state)
    }

    /// The state of a VMM.
    pub fn state(&self, id: Uuid) -> Result<SledVmmState, Refusal> {
        Ok(self.vmm(id)?.state.clone())
    }

    /// Has a VMM do something. The answer is its state, where that is known at once.
    pub fn request(
        &mut self,
        id: Uuid,
        wanted: VmmStateRequested,
        now: DateTime<Utc>,
    ) -> Result<Option<SledVmmState>, Refusal> {
        match wanted {
            // Whether the VMM is there and can do it is not waited for.
            VmmStateRequested::Running => {
                self.boot(id);
                Ok(None)
            }
            VmmStateRequested::MigrationTarget(params) => {
                self.take_over(id, params.src_propolis_addr, now);
                Ok(None)
            }
            VmmStateRequested::Stopped => self.stop(id, now).map(Some),
            VmmStateRequested::Reboot => self.reboot(id, now).map(Some),
        }
    }

    /// A VMM fails, as if Propolis had crashed.
    pub fn crash(&mut self, id: Uuid, now: DateTime<Utc>) -> Result<(), Refusal> {
        self.living(id)?.reach(VmmState::Failed, now);
        self.changed(id);
        Ok(())
    }

    /// The time has come for a step.
    pub fn step(&mut self, step: Step, now: DateTime<Utc>) {
        let Step { vmm: id, plan, kind } = step;
        let Some(vmm) = self.vmms.get_mut(&id).filter(|vmm| vmm.plan == plan) else { return };
        let state = match kind {
            StepKind::Booted => VmmState::Running,
            StepKind::Stopped => VmmState::Destroyed,
            StepKind::TargetLost { heard } => return self.target_lost(id, heard, now),
        };
        // A plan that ended otherwise leaves its step behind.
        if !vmm.has_ended() {
            vmm.reach(state, now);
            self.changed(id);
        }
    }

    /// Nexus has been told a state of a VMM. If it was the last, the VMM is forgotten.
    pub fn reported(&mut self, id: Uuid, generation: Generation) {
        let was_last = |vmm: &&Vmm| vmm.has_ended() && vmm.state.vmm_state.generation == generation;
        if self.vmms.get(&id).filter(was_last).is_some() {
            self.vmms.remove(&id);
        }
    }

    /// Sets how long changes take that begin from now on.
    pub fn set_pace(&mut self, pace: Pace) {
        self.pace = pace;
    }

    /// What is to be done outside of the model since this was last asked.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// All VMMs with their ids.
    pub fn vmms(&self) -> impl Iterator<Item = (Uuid, &Vmm)> {
        self.vmms.iter().map(|(id, vmm)| (*id, vmm))
    }

    fn boot(&mut self, id: Uuid) {
        let Ok(vmm) = self.living(id) else { return };
        if vmm.phase() == VmmState::Starting && !vmm.booting {
            vmm.booting = true;
            let boot = Duration::from_millis(self.pace.boot_ms);
            self.plan(id, boot, StepKind::Booted);
        }
    }

    fn stop(&mut self, id: Uuid, now: DateTime<Utc>) -> Result<SledVmmState, Refusal> {
        let vmm = self.living(id)?;
        let has_guest = match vmm.phase() {
            VmmState::Starting => vmm.booting,
            VmmState::Migrating => vmm.migration(Side::Out).is_some(),
            _ => true,
        };
        if !has_guest {
            // There is nothing that could be shut down.
            vmm.reach(VmmState::Destroyed, now);
            self.changed(id);
        } else if vmm.phase() != VmmState::Stopping {
            vmm.fail_migrations(now);
            vmm.reach(VmmState::Stopping, now);
            self.changed(id);
            let stop = Duration::from_millis(self.pace.stop_ms);
            self.plan(id, stop, StepKind::Stopped);
        }
        self.state(id)
    }

    fn reboot(&mut self, id: Uuid, now: DateTime<Utc>) -> Result<SledVmmState, Refusal> {
        let vmm = self.living(id)?;
        match vmm.phase() {
            VmmState::Running => {
                vmm.reach(VmmState::Rebooting, now);
                self.changed(id);
                let boot = Duration::from_millis(self.pace.boot_ms);
                self.plan(id, boot, StepKind::Booted);
            }
            VmmState::Rebooting => {}
            state => return Err(Refusal::State(state)),
        }
        self.state(id)
    }

    pub(super) fn vmm(&self, id: Uuid) -> Result<&Vmm, Refusal> {
        self.vmms.get(&id).ok_or(Refusal::NoSuchVmm(id))
    }

    /// A VMM that has not ended.
    pub(super) fn living(&mut self, id: Uuid) -> Result<&mut Vmm, Refusal> {
        let vmm = self.vmms.get_mut(&id).ok_or(Refusal::NoSuchVmm(id))?;
        if vmm.has_ended() { Err(Refusal::Terminating) } else { Ok(vmm) }
    }

    /// Makes a step what comes next for a VMM, in place of what was to come.
    pub(super) fn plan(&mut self, id: Uuid, after: Duration, kind: StepKind) {
        if let Some(vmm) = self.vmms.get_mut(&id) {
            vmm.plan += 1;
            let step = Step { vmm: id, plan: vmm.plan, kind };
            self.effects.push(Effect::Later { after, step });
        }
    }

    pub(super) fn add_effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// The state of a VMM has changed: Nexus is told.
    pub(super) fn changed(&mut self, id: Uuid) {
        let Some(vmm) = self.vmms.get(&id) else { return };
        self.effects.push(Effect::Report { vmm: id, state: vmm.state.clone() });
        if vmm.has_ended() {
            self.update_routes();
        }
    }

    fn update_routes(&mut self) {
        let ports = self.vmms.values().flat_map(|vmm| &vmm.ports);
        self.routes.retain(ports.flat_map(Port::routers));
    }
}

/// External addresses.
impl Sled {
    /// Gives an external address to a VMM.
    pub fn put_external_ip(&mut self, id: Uuid, ip: InstanceExternalIpBody) -> Result<(), Refusal> {
        let (InstanceExternalIpBody::Ephemeral(address)
        | InstanceExternalIpBody::Floating(address)) = ip;
        let port = Port::primary(&mut self.living(id)?.ports)?;
        port.check(IpVersion::of(address))?;
        port.external_ips.add(ip).map_err(|other| Refusal::OtherEphemeral(other.0))
    }

    /// Takes an external address from a VMM.
    pub fn delete_external_ip(
        &mut self,
        id: Uuid,
        ip: InstanceExternalIpBody,
    ) -> Result<(), Refusal> {
        Port::primary(&mut self.living(id)?.ports)?.external_ips.remove(ip);
        Ok(())
    }
}

/// What a sled is told of the networks.
impl Sled {
    /// Says where a virtual address is, whatever was said before.
    pub fn set_v2p(&mut self, host: VirtualNetworkInterfaceHost) {
        self.v2p.insert((host.vni, host.virtual_ip), host);
    }

    /// Forgets where a virtual address is.
    pub fn delete_v2p(&mut self, host: &VirtualNetworkInterfaceHost) {
        self.v2p.remove(&(host.vni, host.virtual_ip));
    }

    /// Where virtual addresses are.
    pub fn list_v2p(&self) -> Vec<VirtualNetworkInterfaceHost> {
        self.v2p.values().copied().collect()
    }

    /// The routes of the VPCs of this sled.
    pub fn routes(&mut self) -> &mut Routes {
        &mut self.routes
    }

    /// Sets which internet gateways external addresses may be used with. The ports here let their
    /// packets out in any case.
    pub fn set_gateways(&mut self, gateways: ExternalIpGatewayMap) {
        self.gateways = gateways;
    }

    /// Which internet gateways external addresses may be used with.
    pub fn gateways(&self) -> &ExternalIpGatewayMap {
        &self.gateways
    }

    /// Sets the firewall rules of a VPC. The ports here let everything through in any case.
    pub fn set_firewall(&mut self, vpc: Uuid, rules: VpcFirewallRulesEnsureBody) {
        self.firewalls.insert(vpc, rules);
    }

    /// The firewall rules of VPCs.
    pub fn firewalls(&self) -> &BTreeMap<Uuid, VpcFirewallRulesEnsureBody> {
        &self.firewalls
    }
}
