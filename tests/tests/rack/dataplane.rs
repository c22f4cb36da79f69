//! Switches and sleds: the packets' way, and what happens when a part of it is missing.

use nexus_dev::layout::NatMode;
use nexus_dev::part::Part;
use nexus_tests::TestRack;
use nexus_tests::make::auto;
use nexus_tests::wait::within;
use serde_json::{Value, json};
use std::time::Duration;

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
    assert!(matches!(reply.status, 400 | 503), "{}: {:#}", reply.status, reply.body);
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
