//! Tests of the state machine.

use super::*;
use crate::types::{
    Generation, InstanceEnsureBody, InstanceExternalIpBody, InstanceMigrationTargetParams,
    MigrationState, SledVmmState, VmmState, VmmStateRequested,
};
use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use sim_kit::packet::{DropReason, Packet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use uuid::Uuid;

const VMM: Uuid = Uuid::from_u128(1);
const INSTANCE: Uuid = Uuid::from_u128(2);
const MIGRATION: Uuid = Uuid::from_u128(3);
const NOW: DateTime<Utc> = DateTime::UNIX_EPOCH;
const SOURCE: &str = "[fd00:1122:3344:101::a]:12400";
const FLOATING: &str = "10.0.0.7";

fn ip(s: &str) -> IpAddr {
    s.parse().expect("an address")
}

fn source() -> SocketAddr {
    SOURCE.parse().expect("an address")
}

fn nic(primary: bool, mac: &str, ip_config: Value) -> Value {
    json!({
        "id": Uuid::from_u128(10), "kind": {"type": "instance", "id": INSTANCE}, "name": "net0",
        "ip_config": ip_config, "mac": mac, "vni": 1024, "primary": primary, "slot": 0
    })
}

fn v4(ip: &str) -> Value {
    let value = json!({"ip": ip, "subnet": "172.30.0.0/22", "transit_ips": []});
    json!({"type": "v4", "value": value})
}

const MAC: &str = "A8:40:25:F0:00:01";

/// A VMM with a primary and a second interface, IPv4 only, and source NAT.
fn body(migration_id: Option<Uuid>) -> InstanceEnsureBody {
    let nics =
        [nic(true, MAC, v4("172.30.0.5")), nic(false, "A8:40:25:F0:00:02", v4("172.30.4.5"))];
    let snat = json!({"ip": "10.0.0.1", "first_port": 0, "last_port": 16383});
    serde_json::from_value(json!({
        "vmm_spec": {
            "board": {
                "cpus": 2, "memory_mb": 1024,
                "chipset": {"type": "i440_fx", "value": {"enable_pcie": false}}
            },
            "components": {}
        },
        "local_config": {
            "hostname": "web", "nics": nics,
            "external_ips": {
                "v4": {"source_nat": snat, "ephemeral_ip": null, "floating_ips": []}, "v6": null
            },
            "attached_subnets": [], "multicast_groups": [], "firewall_rules": [],
            "dhcp_config": {"dns_servers": [], "host_domain": null, "search_domains": []},
            "delegated_zvols": [], "primary_nic_mtu": null
        },
        "vmm_runtime": {"state": "starting", "gen": 1, "time_updated": NOW},
        "instance_id": INSTANCE, "migration_id": migration_id, "propolis_addr": SOURCE,
        "metadata": {"silo_id": INSTANCE, "project_id": INSTANCE}
    }))
    .expect("a body")
}

/// What is due later, and the states that Nexus is told.
#[derive(Default)]
struct Outside {
    steps: Vec<(Duration, Step)>,
    told: Vec<SledVmmState>,
    jobs: Vec<TakeOver>,
}

impl Outside {
    fn collect(&mut self, sled: &mut Sled) {
        for effect in sled.take_effects() {
            match effect {
                Effect::Report { state, .. } => self.told.push(state),
                Effect::Later { after, step } => self.steps.push((after, step)),
                Effect::TakeOver(job) => self.jobs.push(job),
                Effect::Unreport { .. } => self.told.clear(),
            }
        }
    }

    /// Takes all steps, in order, and those that come of them.
    fn pass_time(&mut self, sled: &mut Sled) {
        self.collect(sled);
        while !self.steps.is_empty() {
            let (_, step) = self.steps.remove(0);
            sled.step(step, NOW);
            self.collect(sled);
        }
    }

    fn states(&self) -> Vec<VmmState> {
        self.told.iter().map(|state| state.vmm_state.state).collect()
    }
}

fn running() -> (Sled, Outside) {
    let (mut sled, mut outside) = (Sled::default(), Outside::default());
    sled.register(VMM, &body(None), NOW).expect("a VMM");
    sled.request(VMM, VmmStateRequested::Running, NOW).expect("it boots");
    outside.pass_time(&mut sled);
    outside.told.clear();
    (sled, outside)
}

fn phase(sled: &Sled) -> VmmState {
    sled.state(VMM).expect("a VMM").vmm_state.state
}

fn ports(sled: &Sled) -> usize {
    sled.vmms().map(|(_, vmm)| vmm.ports.len()).sum()
}

#[test]
fn a_vmm_boots_when_it_is_asked_to_and_not_before() {
    let (mut sled, mut outside) = (Sled::default(), Outside::default());
    let made = sled.register(VMM, &body(None), NOW).expect("a VMM");
    outside.pass_time(&mut sled);
    assert_eq!(phase(&sled), VmmState::Starting);
    assert_eq!(ports(&sled), 2, "there are ports before the guest runs");
    assert_eq!(sled.register(VMM, &body(None), NOW), Ok(made), "again is no change");

    for _ in 0..2 {
        assert_eq!(sled.request(VMM, VmmStateRequested::Running, NOW), Ok(None));
    }
    outside.pass_time(&mut sled);
    assert_eq!(outside.states(), [VmmState::Running], "once");
    assert_eq!(outside.told[0].vmm_state.generation.to_u64(), 2);
    let again = sled.register(VMM, &body(None), NOW).expect("a VMM");
    assert_eq!(again.vmm_state.state, VmmState::Running);
    let mut other = body(None);
    other.instance_id = VMM;
    assert_eq!(sled.register(VMM, &other, NOW), Err(Refusal::OtherInstance(INSTANCE)));
}

#[test]
fn every_change_has_a_generation_and_is_told_in_order() {
    let (mut sled, mut outside) = running();
    sled.request(VMM, VmmStateRequested::Reboot, NOW).expect("it reboots");
    outside.pass_time(&mut sled);
    let answer = sled.request(VMM, VmmStateRequested::Stopped, NOW).expect("it stops");
    assert_eq!(answer.expect("a state").vmm_state.state, VmmState::Stopping);
    assert_eq!(ports(&sled), 2, "the guest is still shutting down");
    outside.pass_time(&mut sled);
    let wanted = [VmmState::Rebooting, VmmState::Running, VmmState::Stopping, VmmState::Destroyed];
    assert_eq!(outside.states(), wanted);
    let generations: Vec<_> =
        outside.told.iter().map(|state| state.vmm_state.generation.to_u64()).collect();
    assert_eq!(generations, [3, 4, 5, 6]);
    assert_eq!(ports(&sled), 0);
}

#[test]
fn a_pace_is_for_what_begins_after_it_was_set() {
    let (mut sled, mut outside) = running();
    sled.set_pace(Pace { stop_ms: 500, ..Pace::default() });
    sled.request(VMM, VmmStateRequested::Reboot, NOW).expect("it reboots");
    outside.collect(&mut sled);
    sled.set_pace(Pace { boot_ms: 700, stop_ms: 600, migrate_ms: 0 });
    assert_eq!(outside.steps[0].0, Duration::ZERO);
    sled.request(VMM, VmmStateRequested::Stopped, NOW).expect("it stops");
    outside.collect(&mut sled);
    assert_eq!(outside.steps[1].0, Duration::from_millis(600));
    // The boot that was under way comes too late.
    outside.pass_time(&mut sled);
    assert_eq!(phase(&sled), VmmState::Destroyed);
    assert!(outside.told.iter().all(|state| state.vmm_state.state != VmmState::Running));
}

#[test]
fn a_vmm_that_has_ended_is_there_until_nexus_knows() {
    let (mut sled, mut outside) = running();
    sled.crash(VMM, NOW).expect("a VMM");
    outside.pass_time(&mut sled);
    assert_eq!(outside.states(), [VmmState::Failed]);
    assert_eq!(phase(&sled), VmmState::Failed);
    assert_eq!(ports(&sled), 0);
    let floating = InstanceExternalIpBody::Floating(ip(FLOATING));
    let gone = Err(Refusal::Terminating);
    assert_eq!(sled.put_external_ip(VMM, floating), gone);
    assert_eq!(sled.delete_external_ip(VMM, floating), gone);
    assert_eq!(sled.crash(VMM, NOW), gone);
    assert_eq!(sled.request(VMM, VmmStateRequested::Stopped, NOW), Err(Refusal::Terminating));
    assert_eq!(sled.request(VMM, VmmStateRequested::Running, NOW), Ok(None));

    sled.reported(VMM, Generation::try_from(2).expect("a generation"));
    assert_eq!(phase(&sled), VmmState::Failed, "that was an older state");
    sled.reported(VMM, outside.told[0].vmm_state.generation);
    assert_eq!(sled.state(VMM), Err(Refusal::NoSuchVmm(VMM)));
}

#[test]
fn a_vmm_that_is_not_there() {
    let mut sled = Sled::default();
    let none = Err(Refusal::NoSuchVmm(VMM));
    assert_eq!(sled.unregister(VMM, NOW), None);
    assert_eq!(sled.request(VMM, VmmStateRequested::Stopped, NOW), none);
    assert_eq!(sled.request(VMM, VmmStateRequested::Reboot, NOW), none);
    assert_eq!(sled.request(VMM, VmmStateRequested::Running, NOW), Ok(None), "not waited for");
    let params = InstanceMigrationTargetParams { src_propolis_addr: source() };
    assert_eq!(sled.request(VMM, VmmStateRequested::MigrationTarget(params), NOW), Ok(None));
    let floating = InstanceExternalIpBody::Floating(ip(FLOATING));
    assert_eq!(sled.put_external_ip(VMM, floating), Err(Refusal::NoSuchVmm(VMM)));
    assert!(sled.take_effects().is_empty());
}

#[test]
fn unregistering_ends_a_vmm_rudely_and_tells_the_caller_only() {
    let (mut sled, mut outside) = running();
    sled.set_pace(Pace { stop_ms: 500, ..Pace::default() });
    sled.request(VMM, VmmStateRequested::Stopped, NOW).expect("it stops");
    let last = sled.unregister(VMM, NOW).expect("a state");
    assert_eq!(last.vmm_state.state, VmmState::Destroyed);
    outside.pass_time(&mut sled);
    assert!(outside.told.is_empty());
    assert_eq!(sled.vmms().count(), 0);
    assert_eq!(sled.unregister(VMM, NOW), None);
}

#[test]
fn a_vmm_that_never_ran_stops_at_once() {
    let mut sled = Sled::default();
    sled.register(VMM, &body(None), NOW).expect("a VMM");
    let state = sled.request(VMM, VmmStateRequested::Stopped, NOW).expect("it stops");
    assert_eq!(state.expect("a state").vmm_state.state, VmmState::Destroyed);
    assert_eq!(sled.request(VMM, VmmStateRequested::Reboot, NOW), Err(Refusal::Terminating));
}

#[test]
fn only_a_running_vmm_reboots() {
    let (mut sled, _) = running();
    sled.request(VMM, VmmStateRequested::Stopped, NOW).expect("it stops");
    assert_eq!(
        sled.request(VMM, VmmStateRequested::Reboot, NOW),
        Err(Refusal::State(VmmState::Stopping))
    );
}

#[test]
fn external_addresses_belong_to_the_primary_port() {
    let (mut sled, _) = running();
    let floating = InstanceExternalIpBody::Floating(ip(FLOATING));
    for _ in 0..2 {
        assert_eq!(sled.put_external_ip(VMM, floating), Ok(()));
    }
    let packet = |mac: &str, to: &str, port| Packet {
        vni: 1024.try_into().expect("a VNI"),
        mac: mac.parse().expect("a MAC address"),
        ip: ip(to),
        port,
    };
    let arrival = sled.deliver(&packet(MAC, FLOATING, 22)).expect("it arrives");
    assert_eq!(arrival, Arrival { vmm: VMM, nic_ip: Some(ip("172.30.0.5")) });
    let refused = Err(DropReason::PortRefusesIp);
    assert_eq!(sled.deliver(&packet("A8:40:25:F0:00:02", FLOATING, 22)), refused);
    assert_eq!(sled.deliver(&packet(MAC, "10.0.0.8", 22)), refused);
    assert_eq!(sled.deliver(&packet(MAC, "10.0.0.1", 20_000)), refused, "another's ports");
    sled.deliver(&packet(MAC, "10.0.0.1", 10_000)).expect("source NAT");
    assert_eq!(sled.deliver(&packet("A8:40:25:F0:00:03", FLOATING, 22)), Err(DropReason::NoPort));
    for _ in 0..2 {
        assert_eq!(sled.delete_external_ip(VMM, floating), Ok(()));
    }
    assert_eq!(sled.deliver(&packet(MAC, FLOATING, 22)), refused);
}

#[test]
fn external_addresses_need_a_private_one_to_translate_to() {
    let (mut sled, _) = running();
    for address in [
        InstanceExternalIpBody::Floating(ip("2001:db8::1")),
        InstanceExternalIpBody::Ephemeral(ip("2001:db8::1")),
    ] {
        let refusal = sled.put_external_ip(VMM, address).expect_err("IPv4 only");
        assert!(matches!(refusal, Refusal::NoPlaceForIp(_)), "{refusal:?}");
    }
    let mut without = body(None);
    without.local_config.nics.clear();
    let refusal = sled.register(Uuid::from_u128(9), &without, NOW).expect_err("no interface");
    assert!(matches!(refusal, Refusal::NoPlaceForIp(_)), "{refusal:?}");
}

#[test]
fn packets_leave_while_the_guest_runs() {
    let mut sled = Sled::default();
    let dst = ip("203.0.113.9");
    assert_eq!(sled.outbound(VMM, dst, 40_000), Err(NoWayOut::NoVmm));
    sled.register(VMM, &body(None), NOW).expect("a VMM");
    assert_eq!(sled.outbound(VMM, dst, 40_000), Err(NoWayOut::VmmNotRunning));
    let (mut sled, _) = running();
    assert_eq!(sled.outbound(VMM, dst, 40_000).expect("a source").kind, SourceKind::Snat);
    let none = sled.outbound(VMM, ip("2001:db8::9"), 40_000);
    assert_eq!(none, Err(NoWayOut::NoExternalIp));
    sled.put_external_ip(VMM, InstanceExternalIpBody::Floating(ip(FLOATING))).expect("room");
    assert_eq!(sled.outbound(VMM, dst, 40_000).expect("a source").kind, SourceKind::Floating);
    sled.request(VMM, VmmStateRequested::Stopped, NOW).expect("it stops");
    assert_eq!(sled.outbound(VMM, dst, 40_000), Err(NoWayOut::VmmNotRunning));
}

#[test]
fn a_sled_has_the_routers_of_its_ports() {
    let (mut sled, mut outside) = running();
    // Both interfaces are in one VPC, each in a subnet: the same one here.
    assert_eq!(sled.routes().list().len(), 2);
    sled.request(VMM, VmmStateRequested::Stopped, NOW).expect("it stops");
    outside.pass_time(&mut sled);
    assert!(sled.routes().list().is_empty());
}

/// A target that has begun to take over the instance, and its job.
fn target() -> (Sled, Outside, TakeOver) {
    let (mut sled, mut outside) = (Sled::default(), Outside::default());
    let made = sled.register(VMM, &body(Some(MIGRATION)), NOW).expect("a VMM");
    assert_eq!(made.vmm_state.state, VmmState::Migrating);
    assert_eq!(made.migration_in.expect("a migration").state, MigrationState::Pending);
    sled.set_pace(Pace { migrate_ms: 40, ..Pace::default() });
    let params = InstanceMigrationTargetParams { src_propolis_addr: source() };
    for _ in 0..2 {
        let wanted = VmmStateRequested::MigrationTarget(params);
        assert_eq!(sled.request(VMM, wanted, NOW), Ok(None));
    }
    outside.collect(&mut sled);
    assert_eq!(outside.jobs.len(), 1, "it begins once");
    let job = outside.jobs.remove(0);
    assert_eq!((job.source, job.after), (source(), Duration::from_millis(40)));
    (sled, outside, job)
}

fn migration_in(state: &SledVmmState) -> (MigrationState, u64) {
    let migration = state.migration_in.as_ref().expect("a migration");
    (migration.state, migration.generation.to_u64())
}

fn migration_out(state: &SledVmmState) -> (MigrationState, u64) {
    let migration = state.migration_out.as_ref().expect("a migration");
    (migration.state, migration.generation.to_u64())
}

#[test]
fn a_target_runs_once_it_has_the_instance() {
    let (mut sled, mut outside, job) = target();
    assert!(sled.outbound(VMM, ip("203.0.113.9"), 1).is_err(), "the guest is not here yet");
    sled.taken_over(&job, true, NOW);
    sled.taken_over(&job, false, NOW);
    outside.collect(&mut sled);
    let wanted = [(MigrationState::InProgress, 2), (MigrationState::Completed, 3)];
    assert_eq!(outside.told.iter().map(migration_in).collect::<Vec<_>>(), wanted);
    assert_eq!(phase(&sled), VmmState::Running);
}

#[test]
fn a_target_that_does_not_get_the_instance_fails() {
    let (mut sled, mut outside, job) = target();
    sled.taken_over(&job, false, NOW);
    outside.collect(&mut sled);
    assert_eq!(migration_in(outside.told.last().expect("a state")), (MigrationState::Failed, 3));
    assert_eq!(phase(&sled), VmmState::Failed);
    assert_eq!(ports(&sled), 0);
}

#[test]
fn a_target_that_has_ended_takes_nothing_over() {
    for end in [
        |sled: &mut Sled| sled.crash(VMM, NOW).expect("a VMM"),
        |sled: &mut Sled| drop(sled.request(VMM, VmmStateRequested::Stopped, NOW)),
        |sled: &mut Sled| {
            sled.unregister(VMM, NOW);
        },
    ] {
        let (mut sled, _, job) = target();
        assert!(sled.is_taking_over(&job));
        end(&mut sled);
        assert!(!sled.is_taking_over(&job));
        sled.taken_over(&job, true, NOW);
        assert!(sled.vmms().all(|(_, vmm)| vmm.has_ended()));
    }
}

#[test]
fn a_source_hands_over_and_is_gone() {
    let (mut sled, mut outside) = running();
    let prepare = |sled: &mut Sled| sled.migrate_out(INSTANCE, source(), MIGRATION, NOW);
    assert_eq!(prepare(&mut sled), Ok(()));
    assert_eq!(prepare(&mut sled), Ok(()), "the target lets it be known that it is there");
    assert_eq!(phase(&sled), VmmState::Migrating);
    sled.outbound(VMM, ip("203.0.113.9"), 1).expect("the guest still runs here");
    assert_eq!(sled.hand_over(MIGRATION, NOW), Ok(()));
    outside.collect(&mut sled);
    let told: Vec<_> = outside.told.iter().map(migration_out).collect();
    assert_eq!(told, [(MigrationState::InProgress, 2), (MigrationState::Completed, 3)]);
    assert_eq!(outside.states(), [VmmState::Migrating, VmmState::Destroyed]);
    assert_eq!(ports(&sled), 0);

    // The answer may have been lost, and the VMM may be forgotten.
    sled.reported(VMM, outside.told[1].vmm_state.generation);
    assert_eq!(sled.vmms().count(), 0);
    assert_eq!(sled.hand_over(MIGRATION, NOW), Ok(()));
    assert_eq!(prepare(&mut sled), Err(Refusal::NoSuchMigration(MIGRATION)));
}

#[test]
fn a_source_runs_on_if_the_target_is_not_heard_of() {
    let (mut sled, mut outside) = running();
    let prepare = |sled: &mut Sled| sled.migrate_out(INSTANCE, source(), MIGRATION, NOW);
    prepare(&mut sled).expect("it is there");
    outside.collect(&mut sled);
    prepare(&mut sled).expect("it is there");
    let (after, first) = outside.steps.remove(0);
    assert_eq!(after, TARGET_BOUND);
    sled.step(first, NOW);
    assert_eq!(phase(&sled), VmmState::Migrating, "it has been heard of since");
    outside.pass_time(&mut sled);
    assert_eq!(phase(&sled), VmmState::Running);
    assert_eq!(migration_out(outside.told.last().expect("a state")).0, MigrationState::Failed);
    let refused = Err(Refusal::NoSuchMigration(MIGRATION));
    assert_eq!(sled.hand_over(MIGRATION, NOW), refused, "too late");
    assert_eq!(prepare(&mut sled), refused, "it is over");
    let another = Uuid::from_u128(4);
    assert_eq!(sled.migrate_out(INSTANCE, source(), another, NOW), Ok(()));
}

#[test]
fn a_source_that_stops_or_fails_hands_nothing_over() {
    for end in [
        |sled: &mut Sled| sled.crash(VMM, NOW).expect("a VMM"),
        |sled: &mut Sled| drop(sled.request(VMM, VmmStateRequested::Stopped, NOW)),
        |sled: &mut Sled| sled.keep(MIGRATION, NOW),
    ] {
        let (mut sled, _) = running();
        sled.migrate_out(INSTANCE, source(), MIGRATION, NOW).expect("it is there");
        end(&mut sled);
        let refused = Err(Refusal::NoSuchMigration(MIGRATION));
        assert_eq!(sled.hand_over(MIGRATION, NOW), refused);
        assert_eq!(sled.migrate_out(INSTANCE, source(), MIGRATION, NOW), refused);
        let state = sled.state(VMM).expect("a VMM");
        assert_eq!(migration_out(&state), (MigrationState::Failed, 3));
    }
}

#[test]
fn only_the_instance_that_is_meant_leaves() {
    let (mut sled, _) = running();
    let elsewhere = "[fd00:1122:3344:101::b]:12400".parse().expect("an address");
    let refused = Err(Refusal::NoSuchMigration(MIGRATION));
    assert_eq!(sled.migrate_out(INSTANCE, elsewhere, MIGRATION, NOW), refused);
    assert_eq!(sled.migrate_out(VMM, source(), MIGRATION, NOW), refused);
    assert_eq!(phase(&sled), VmmState::Running);
}
