//! Switches and sleds: the packets' way, and what happens when a part of it is missing.

use nexus_dev::layout::NatMode;
use nexus_dev::part::Part;
use nexus_tests::TestRack;
use nexus_tests::make::auto;
use nexus_tests::wait::within;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

async fn rack() -> TestRack {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    rack
}

async fn served(rack: &TestRack) -> (Value, Value) {
    let web = rack.running_instance("demo", "web").await;
    let fip = rack.floating_ip("demo", "f").await;
    rack.attach(&fip, &web).await;
    rack.delivered_to(&fip, &web).await;
    (web, fip)
}

#[tokio::test]
async fn packets_reach_the_machine_that_has_the_address() {
    let rack = rack().await;
    let (web, fip) = served(&rack).await;
    let vmm = rack.vmm_of(&web).await.expect("it runs");
    let nic = rack.all("/v1/network-interfaces?instance=web&project=demo").await.remove(0);
    for answer in rack.inbound(nexus_tests::sim::ip_of(&fip), 443).await {
        assert_eq!(answer["delivered"], true);
        assert_eq!(answer["vmm_id"], vmm.id.as_str());
        assert_eq!(answer["sled_id"], json!(rack.ready().sled_agents[vmm.sled].id));
        assert_eq!(answer["nic_ip"], nic["ip_stack"]["value"]["v4"]["ip"]);
    }
    let nobody = rack.inbound("10.0.77.77".parse().expect("an address"), 443).await;
    for answer in nobody {
        assert_eq!(answer, json!({"delivered": false, "reason": "no-nat-entry"}));
    }
}

/// With one switch down everything goes on through the other; it converges when it is back.
#[tokio::test]
async fn a_switch_that_is_down_holds_nobody_up() {
    let rack = rack().await;
    rack.switch(0).down().await;
    let web = rack.running_instance("demo", "web").await;
    let fip = rack.floating_ip("demo", "f").await;
    rack.attach(&fip, &web).await;
    let answer = rack.switch(1).inbound(nexus_tests::sim::ip_of(&fip), 22).await;
    assert_eq!(answer["delivered"], true);
    rack.switch(0).clear_faults().await;
    rack.delivered_to(&fip, &web).await;
    rack.switch(1).fault(json!({"operation": "*", "fault": "hang", "times": 0})).await;
    rack.detach(&fip).await;
    rack.stop_instance(&web).await;
    rack.start_instance(&web).await;
    rack.switch(1).clear_faults().await;
    rack.settled().await;
}

#[tokio::test]
async fn with_every_switch_down_an_attach_is_kept_for_later() {
    let rack = rack().await;
    let web = rack.running_instance("demo", "web").await;
    let fip = rack.floating_ip("demo", "f").await;
    for switch in rack.switches() {
        switch.fault(json!({"operation": "*", "fault": "error", "times": 0})).await;
    }
    rack.attach(&fip, &web).await;
    for switch in rack.switches() {
        switch.clear_faults().await;
    }
    rack.delivered_to(&fip, &web).await;
    rack.settled().await;
}

/// A switch that was started again has an empty table.
#[tokio::test]
async fn a_switch_that_lost_its_table_gets_it_back() {
    let rack = rack().await;
    let (web, fip) = served(&rack).await;
    let v6 = rack.floating_ip_with("demo", "g", json!({"address_allocator": auto("v6")})).await;
    rack.attach(&v6, &web).await;
    rack.kill(Part::Dpd(0));
    rack.restart(Part::Dpd(0)).await;
    rack.delivered_to(&fip, &web).await;
    rack.delivered_to(&v6, &web).await;
    rack.settled().await;
}

/// What nobody intends goes; what is not ours stays.
#[tokio::test]
async fn a_rogue_entry_goes_and_a_foreign_one_stays() {
    let rack = rack().await;
    let (web, fip) = served(&rack).await;
    let dpd = nexus_tests::Client::new(&rack.ready().switches[0].url).at_version("13.0.0");
    let target = |vni: u32| {
        json!({
            "internal_ip": "fd00:1122:3344:101::1",
            "inner_mac": {"a": [0xa8, 0x40, 0x25, 0xf0, 0, 9]},
            "vni": vni,
        })
    };
    dpd.put("/nat/ipv4/10.0.99.99/0/65535", target(2000)).await.expect(204);
    dpd.put("/nat/ipv4/198.51.100.1/0/65535", target(99)).await.expect(204);
    let rogue = "10.0.99.99".parse().expect("an address");
    within(Duration::from_secs(60), "the rogue entry is removed", async || {
        let answer = rack.switch(0).inbound(rogue, 22).await;
        if answer["reason"] == "no-nat-entry" { Ok(()) } else { Err(answer) }
    })
    .await;
    dpd.get("/nat/ipv4/198.51.100.1/0").await.expect(200);
    rack.delivered_to(&fip, &web).await;
    dpd.delete("/nat/ipv4/198.51.100.1/0").await.expect(204);
    rack.settled().await;
}

/// Refusing once is no reason to give up; a sled that has lost the machine is.
#[tokio::test]
async fn a_sled_that_refuses_undoes_the_attach() {
    let rack = rack().await;
    let web = rack.running_instance("demo", "web").await;
    let fip = rack.floating_ip("demo", "f").await;
    let vmm = rack.vmm_of(&web).await.expect("it runs");
    let refuse = json!({"operation": "vmm_put_external_ip", "fault": "error", "status": 400,
        "times": 0});
    rack.sled(vmm.sled).fault(refuse).await;
    let path = "/v1/floating-ips/f/attach?project=demo";
    let reply = rack.post(path, nexus_tests::make::attach_body(&web)).await;
    reply.one_of(&[400, 503]);
    rack.sled(vmm.sled).clear_faults().await;
    within(Duration::from_secs(60), "the floating IP is free", async || {
        let now = rack.floating_ip_now(&fip).await;
        if now["instance_id"].is_null() { Ok(()) } else { Err(now) }
    })
    .await;
    rack.settled().await;
    rack.attach(&fip, &web).await;
    assert!(rack.delivers_now(&fip, &web).await);
    rack.settled().await;
}

/// The same rack, whose switches read the changeset feed.
#[tokio::test]
async fn switches_that_pull() {
    let rack = TestRack::with(|options| options.request.nat = Some(NatMode::Pull)).await;
    rack.project("demo").await;
    let (web, fip) = served(&rack).await;
    rack.kill(Part::Dpd(1));
    rack.detach(&fip).await;
    let other = rack.running_instance("demo", "other").await;
    rack.attach(&fip, &other).await;
    rack.restart(Part::Dpd(1)).await;
    rack.delivered_to(&fip, &other).await;
    rack.stop_instance(&web).await;
    rack.settled().await;
}

/// Released and given to another tenant at once, while a switch lags behind: the old owner gets
/// nothing of the new one's.
#[tokio::test]
async fn an_address_that_changes_hands() {
    let rack = rack().await;
    rack.project("other").await;
    let (old, fip) = served(&rack).await;
    let new = rack.running_instance("other", "web").await;
    rack.switch(0).fault(json!({"operation": "*", "fault": "error", "times": 0})).await;
    rack.detach(&fip).await;
    rack.delete("/v1/floating-ips/f?project=demo").await.expect(204);
    let explicit = json!({"address_allocator": {"type": "explicit", "ip": fip["ip"]}});
    let again = rack.floating_ip_with("other", "f", explicit).await;
    rack.attach(&again, &new).await;
    let ip = nexus_tests::sim::ip_of(&again);
    let lagging = rack.switch(0).inbound(ip, 22).await;
    let old_vmm = rack.vmm_of(&old).await.expect("it runs");
    assert_ne!(lagging["vmm_id"], old_vmm.id.as_str(), "its port no longer accepts the address");
    rack.switch(0).clear_faults().await;
    rack.delivered_to(&again, &new).await;
    rack.settled().await;
}

/// Whatever changes, packets in and out follow it at once.
#[tokio::test]
async fn packets_follow_every_change() {
    let rack = rack().await;
    let ephemeral = json!({"type": "ephemeral",
        "pool_selector": {"type": "auto", "ip_version": "v4"}});
    let web = rack.instance_with("demo", "web", json!({"external_ips": [ephemeral]})).await;
    let other = rack.running_instance("demo", "other").await;
    rack.state_reached(&web, "running").await;
    let ephemeral = rack.external_ips(&web).await.remove(0);
    let fip = rack.floating_ip("demo", "f").await;
    let leaves_as = async |instance: &Value, kind: &str, ip: &Value| {
        let out = rack.outbound(instance).await;
        assert_eq!((&out["kind"], &out["source_ip"]), (&json!(kind), ip));
    };
    assert!(rack.delivers_now(&ephemeral, &web).await);
    leaves_as(&web, "ephemeral", &ephemeral["ip"]).await;
    rack.attach(&fip, &web).await;
    assert!(rack.delivers_now(&fip, &web).await && rack.delivers_now(&ephemeral, &web).await);
    leaves_as(&web, "floating", &fip["ip"]).await;

    rack.instance_do("reboot", &web).await;
    rack.state_reached(&web, "running").await;
    assert!(rack.delivers_now(&fip, &web).await && rack.delivers_now(&ephemeral, &web).await);

    rack.stop_instance(&web).await;
    rack.not_delivered(&fip).await;
    rack.not_delivered(&ephemeral).await;
    rack.start_instance(&web).await;
    assert!(rack.delivers_now(&fip, &web).await && rack.delivers_now(&ephemeral, &web).await);
    leaves_as(&web, "floating", &fip["ip"]).await;

    rack.detach(&fip).await;
    leaves_as(&web, "ephemeral", &ephemeral["ip"]).await;
    rack.attach(&fip, &other).await;
    assert!(rack.delivers_now(&fip, &other).await && rack.delivers_now(&ephemeral, &web).await);
    leaves_as(&other, "floating", &fip["ip"]).await;

    let path = nexus_tests::make::instance_path(&other);
    rack.stop_instance(&other).await;
    rack.delete(&path).await.expect(204);
    rack.not_delivered(&fip).await;
    rack.settled().await;
}

/// Each machine that shares an address has a quarter of its ports, and gets what is sent there.
#[tokio::test]
async fn source_nat_is_a_block_of_ports() {
    let rack = rack().await;
    let (a, b) =
        (rack.running_instance("demo", "a").await, rack.running_instance("demo", "b").await);
    for (instance, first, last) in [(&a, 0, 16_383), (&b, 16_384, 32_767)] {
        let snat = rack.external_ips_and_snat(instance).await.remove(0);
        assert_eq!(
            (&snat["kind"], &snat["ip"], &snat["first_port"], &snat["last_port"]),
            (&json!("snat"), &json!("10.0.0.0"), &json!(first), &json!(last))
        );
        let out = rack.outbound(instance).await;
        assert_eq!((&out["kind"], &out["source_ip"]), (&json!("snat"), &snat["ip"]));
        let source_port = out["source_port"].as_u64().expect("a port");
        assert!((first..=last).contains(&source_port), "{source_port}");
        // The answer finds its way back.
        let vmm = rack.vmm_of(instance).await.expect("it runs");
        let port = u16::try_from(source_port).expect("a port");
        for answer in rack.inbound(nexus_tests::sim::ip_of(&snat), port).await {
            assert_eq!(answer["vmm_id"], vmm.id.as_str(), "{answer}");
        }
    }
    for answer in rack.inbound("10.0.0.0".parse().expect("an address"), 50_000).await {
        assert_eq!(answer["reason"], "no-nat-entry", "nobody's block");
    }
    rack.settled().await;
}

/// A machine that moves to another sled while it runs keeps its addresses, and its traffic.
#[tokio::test]
async fn traffic_follows_a_migration() {
    let rack = rack().await;
    let (web, fip) = served(&rack).await;
    let v6 = rack.floating_ip_with("demo", "g", json!({"address_allocator": auto("v6")})).await;
    rack.attach(&v6, &web).await;
    let path = format!("/instances/{}/migrate", web["id"].as_str().expect("an id"));
    for _ in 0..2 {
        let before = rack.vmm_of(&web).await.expect("it runs");
        let to = &rack.ready().sled_agents[1 - before.sled];
        rack.operator().post(&path, json!({"dst_sled_id": to.id})).await.expect(200);
        rack.state_reached(&web, "running").await;
        within(Duration::from_secs(60), "the machine has moved", async || {
            match rack.vmm_of(&web).await {
                Some(now) if now.sled != before.sled && now.id != before.id => Ok(()),
                other => Err(other),
            }
        })
        .await;
        rack.delivered_to(&fip, &web).await;
        rack.delivered_to(&v6, &web).await;
        assert_eq!(rack.outbound(&web).await["source_ip"], fip["ip"]);
        rack.settled().await;
    }
    let nowhere = json!({"dst_sled_id": uuid::Uuid::new_v4()});
    rack.operator().post(&path, nowhere).await.one_of(&[400, 404]);
    rack.delivered_to(&fip, &web).await;
    rack.detach(&fip).await;
    rack.settled().await;
}

/// A migration that fails on its way leaves the machine where it was, with all it had.
#[tokio::test]
async fn a_migration_that_fails_changes_nothing() {
    let rack = rack().await;
    let (web, fip) = served(&rack).await;
    let before = rack.vmm_of(&web).await.expect("it runs");
    let to = 1 - before.sled;
    let refuse = json!({"operation": "vmm_register", "fault": "error", "status": 500, "times": 0});
    rack.sled(to).fault(refuse).await;
    let path = format!("/instances/{}/migrate", web["id"].as_str().expect("an id"));
    let body = json!({"dst_sled_id": rack.ready().sled_agents[to].id});
    let reply = rack.operator().post(&path, body).await;
    assert!(reply.status >= 400, "{:#}", reply.body);
    rack.state_reached(&web, "running").await;
    assert_eq!(rack.vmm_of(&web).await, Some(before));
    assert!(rack.delivers_now(&fip, &web).await);
    rack.sled(to).clear_faults().await;
    rack.settled().await;
}

/// A switch that takes calls and never answers costs a bounded time, not the operation.
#[tokio::test]
async fn a_switch_that_hangs_blocks_nobody() {
    let rack = rack().await;
    let web = rack.running_instance("demo", "web").await;
    let fip = rack.floating_ip("demo", "f").await;
    for fault in ["hang", "error"] {
        rack.switch(0).fault(json!({"operation": "*", "fault": fault, "times": 0})).await;
        let since = Instant::now();
        rack.attach(&fip, &web).await;
        assert!(since.elapsed() < Duration::from_secs(10), "{fault}: {:?}", since.elapsed());
        let through = rack.switch(1).inbound(nexus_tests::sim::ip_of(&fip), 22).await;
        assert_eq!(through["delivered"], true, "{fault}: the other switch was told");
        rack.switch(0).clear_faults().await;
        within(CONVERGENCE, "the switch has caught up", async || {
            let answer = rack.switch(0).inbound(nexus_tests::sim::ip_of(&fip), 22).await;
            if answer["delivered"] == true { Ok(()) } else { Err(answer) }
        })
        .await;
        rack.detach(&fip).await;
    }
    rack.settled().await;
}

/// Every entry that is due comes back, of each kind and version.
#[tokio::test]
async fn a_switch_that_comes_back_empty_is_soon_complete() {
    let rack = rack().await;
    let (web, _) = served(&rack).await;
    let v6 = rack.floating_ip_with("demo", "g", json!({"address_allocator": auto("v6")})).await;
    rack.attach(&v6, &web).await;
    let path = format!("{}/external-ips/ephemeral", nexus_tests::make::instance_path(&web));
    rack.post(&path, json!({"pool_selector": {"type": "auto", "ip_version": "v4"}}))
        .await
        .expect(202);
    rack.settled().await;
    let table = async |index: usize| {
        let mut entries = rack.switch(index).state().await["nat"].clone();
        if let Some(entries) = entries.as_array_mut() {
            entries.sort_by_key(Value::to_string);
        }
        entries
    };
    let before = table(0).await;
    assert_eq!(before.as_array().map(Vec::len), Some(4), "{before:#}");
    for part in [0, 1] {
        rack.kill(Part::Dpd(part));
        rack.restart(Part::Dpd(part)).await;
        within(CONVERGENCE, "the table is complete", async || {
            let now = table(part).await;
            if now == before { Ok(()) } else { Err(now) }
        })
        .await;
    }
}

/// What the rules promise for a switch after a fault, and again as much for a busy machine.
const CONVERGENCE: Duration = Duration::from_secs(10);

/// A push that is held up on its way arrives after the address has gone elsewhere. It is of no
/// more effect than if it had been lost.
#[tokio::test]
async fn an_old_push_does_not_win() {
    let rack = rack().await;
    let (a, b) =
        (rack.running_instance("demo", "a").await, rack.running_instance("demo", "b").await);
    let fip = rack.floating_ip("demo", "f").await;
    for operation in ["nat_ipv4_create", "nat_ipv4_delete"] {
        // Longer than Nexus waits for a switch.
        let late = json!({"operation": operation, "fault": "delay", "delay_ms": 4_000});
        rack.switch(0).fault(late).await;
        rack.attach(&fip, &a).await;
        rack.detach(&fip).await;
        rack.attach(&fip, &b).await;
        within(Duration::from_secs(30), "the late call has arrived", async || {
            let calls = rack.switch(0).calls().await;
            let late = |call: &&Value| call["operation"] == operation && call["fault"] == "delay";
            if calls.iter().any(|call| late(&call)) { Ok(()) } else { Err(calls.len()) }
        })
        .await;
        rack.delivered_to(&fip, &b).await;
        rack.settled().await;
        rack.detach(&fip).await;
    }
    rack.settled().await;
}

/// An address is not gone while a port still accepts it; who refuses to take it off is asked again.
#[tokio::test]
async fn a_refused_removal_is_not_forgotten() {
    let rack = rack().await;
    let (web, fip) = served(&rack).await;
    let vmm = rack.vmm_of(&web).await.expect("it runs");
    let refuse = json!({"operation": "vmm_delete_external_ip", "fault": "error", "status": 503,
        "times": 3});
    rack.sled(vmm.sled).fault(refuse).await;
    let path = format!("/v1/floating-ips/{}/detach", fip["id"].as_str().expect("an id"));
    within(Duration::from_secs(60), "the floating IP is detached", async || {
        let reply = rack.call(&path).await;
        if reply.one_of(&[202, 503]) == 202 { Ok(()) } else { Err(reply.body) }
    })
    .await;
    assert_eq!(rack.outbound(&web).await["kind"], "snat", "its port no longer has the address");
    assert!(!rack.delivers_now(&fip, &web).await);
    rack.settled().await;
}

/// A sled that is gone is the end of what ran there, and of nothing else.
#[tokio::test]
async fn a_dead_sled_concerns_only_its_own() {
    let rack = rack().await;
    let placed = async |name: &str, sled: usize| {
        let refuse = json!({"operation": "vmm_register", "fault": "error", "times": 0});
        rack.sled(1 - sled).fault(refuse).await;
        let instance = rack.stopped_instance("demo", name).await;
        rack.start_instance(&instance).await;
        rack.sled(1 - sled).clear_faults().await;
        assert_eq!(rack.vmm_of(&instance).await.map(|vmm| vmm.sled), Some(sled));
        instance
    };
    let (lost, safe) = (placed("lost", 0).await, placed("safe", 1).await);
    let (f, g) = (rack.floating_ip("demo", "f").await, rack.floating_ip("demo", "g").await);
    rack.kill(Part::SledAgent(0));
    let since = Instant::now();
    rack.attach(&g, &safe).await;
    for answer in rack.inbound(nexus_tests::sim::ip_of(&g), 22).await {
        assert_eq!(answer["delivered"], true, "{answer}");
    }
    let body = nexus_tests::make::attach_body(&lost);
    rack.post("/v1/floating-ips/f/attach?project=demo", body).await.one_of(&[400, 503]);
    assert!(since.elapsed() < Duration::from_secs(45), "bounded, not {:?}", since.elapsed());

    // It comes back, with nothing on it. Only now is it sure that its port has not the address.
    rack.restart(Part::SledAgent(0)).await;
    rack.state_reached(&lost, "failed").await;
    within(Duration::from_secs(30), "the floating IP is free", async || {
        let now = rack.floating_ip_now(&f).await;
        if now["instance_id"].is_null() { Ok(()) } else { Err(now) }
    })
    .await;
    rack.start_instance(&lost).await;
    rack.attach(&f, &lost).await;
    assert!(rack.delivers_now(&f, &lost).await);
    rack.settled().await;
}
