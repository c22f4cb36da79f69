//! Instances: their states, and what is checked before one is made.

use nexus_tests::TestRack;
use nexus_tests::make::{instance_body, instance_path, with};
use serde_json::{Value, json};

const INSTANCES: &str = "/v1/instances?project=demo";
const GIB: u64 = 1 << 30;

async fn rack() -> TestRack {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    rack
}

#[tokio::test]
async fn an_instance_lives() {
    let rack = rack().await;
    let web = rack.stopped_instance("demo", "web").await;
    assert_eq!(web["run_state"], "stopped");
    assert_eq!((&web["ncpus"], &web["memory"]), (&json!(1), &json!(GIB)));
    assert_eq!(web["hostname"], "web");
    assert_eq!(rack.all(INSTANCES).await[0]["id"], web["id"]);

    rack.start_instance(&web).await;
    assert!(rack.vmm_of(&web).await.is_some());
    rack.instance_do("start", &web).await;
    rack.instance_do("reboot", &web).await;
    rack.state_reached(&web, "running").await;
    rack.delete(&instance_path(&web))
        .await
        .refused(400, "cannot delete instance: instance is running or has not yet fully stopped");
    rack.settled().await;

    rack.stop_instance(&web).await;
    rack.instance_do("stop", &web).await;
    rack.call(&format!("{}/reboot", instance_path(&web)))
        .await
        .refused(400, "cannot reboot an instance in state stopped with no VMM");
    assert!(rack.vmm_of(&web).await.is_none());
    rack.settled().await;

    rack.delete(&instance_path(&web)).await.expect(204);
    rack.get("/v1/instances/web?project=demo")
        .await
        .refused(404, "not found: instance with name \"web\"");
    assert_eq!(rack.addresses_in_use("default").await, 0, "source NAT's address is free again");
}

#[tokio::test]
async fn what_is_asked_is_checked() {
    let rack = rack().await;
    let create =
        async |changes: Value| rack.post(INSTANCES, with(instance_body("web"), changes)).await;
    let size = |text: &str| format!("unsupported value for \"size\": {text}");
    for (changes, message) in [
        (json!({"ncpus": 255}), "cannot have more than 254 vCPUs per instance".to_string()),
        (json!({"memory": GIB - 1}), size("memory must be at least 1 GiB")),
        (json!({"memory": GIB + 1}), size("memory must be divisible by 1 GiB")),
        (json!({"memory": 1537 * GIB}), size("memory must be less than or equal to 1536 GiB")),
        (
            json!({"external_ips": vec![json!({"type": "floating", "floating_ip": "f"}); 33]}),
            "An instance may not have more than 32 external IP addresses".to_string(),
        ),
        (
            json!({"external_ips": vec![json!({"type": "ephemeral"}); 3]}),
            "An instance may not have more than 2 ephemeral IP addresses".to_string(),
        ),
        (
            json!({"external_ips": vec![json!({"type": "ephemeral"}); 2]}),
            "when requesting two ephemeral IPs, IP version or explicit pool name must be \
             specified on each"
                .to_string(),
        ),
    ] {
        create(changes).await.refused(400, &message);
    }
    create(json!({"hostname": "a_b"})).await.refused_about(400, "RFC 1035");
    create(json!({"ncpus": -1})).await.refused_about(400, "ncpus");
    assert!(rack.all(INSTANCES).await.is_empty());
    assert_eq!(rack.addresses_in_use("default").await, 0);
    let web = rack.stopped_instance("demo", "web").await;
    create(json!({})).await.refused(400, "already exists: instance \"web\"");
    rack.get(&format!("{}?project=demo", instance_path(&web)))
        .await
        .refused(400, "when providing instance as an ID project should not be specified");
    rack.get("/v1/instances/web")
        .await
        .refused(400, "instance should either be UUID or project should be specified");
}

/// A create that fails leaves nothing: no record, no address, and the name can be used again.
#[tokio::test]
async fn a_create_that_fails_leaves_nothing() {
    let rack = rack().await;
    rack.pool("tiny", "10.1.0.0", "10.1.0.0").await;
    let selector = json!({"type": "explicit", "pool": "tiny"});
    let from_tiny = json!({"address_allocator": {"type": "auto", "pool_selector": selector}});
    rack.floating_ip_with("demo", "full", from_tiny).await;
    let other = rack.stopped_instance("demo", "other").await;
    let taken = rack.floating_ip("demo", "taken").await;
    rack.attach(&taken, &other).await;
    let free = rack.floating_ip("demo", "free").await;
    let used = rack.addresses_in_use("default").await;

    let free_and =
        |more: Value| json!({"external_ips": [{"type": "floating", "floating_ip": "free"}, more]});
    let create =
        async |changes: Value| rack.post(INSTANCES, with(instance_body("web"), changes)).await;
    create(free_and(json!({"type": "floating", "floating_ip": "taken"}))).await.refused(
        400,
        "floating IP cannot be attached to one instance while still attached to another",
    );
    create(free_and(json!({"type": "floating", "floating_ip": "nowhere"})))
        .await
        .refused(404, "not found: floating-ip with name \"nowhere\"");
    create(free_and(json!({"type": "ephemeral", "pool_selector": selector})))
        .await
        .refused(507, "Insufficient capacity: No external IP addresses available");
    assert!(rack.floating_ip_now(&free).await["instance_id"].is_null());
    assert_eq!(rack.addresses_in_use("default").await, used);
    rack.get("/v1/instances/web?project=demo").await.expect(404);

    let web = rack
        .instance_with(
            "demo",
            "web",
            free_and(json!({"type": "ephemeral",
        "pool_selector": {"type": "auto", "ip_version": "v4"}})),
        )
        .await;
    assert_eq!(rack.floating_ip_now(&free).await["instance_id"], web["id"]);
    rack.state_reached(&web, "running").await;
    rack.settled().await;
}

/// Source NAT needs an address too; that must be said, as nobody has asked for one.
#[tokio::test]
async fn source_nat_needs_an_address() {
    let rack = rack().await;
    rack.pool("tiny", "10.1.0.0", "10.1.0.0").await;
    let path = "/v1/system/ip-pools/tiny/silos/default-silo";
    rack.put(path, json!({"is_default": true})).await.expect(200);
    // Four instances share an address, a block of ports each.
    for name in ["a", "b", "c", "d"] {
        rack.stopped_instance("demo", name).await;
    }
    assert_eq!(rack.addresses_in_use("tiny").await, 1);
    let mut body = instance_body("e");
    body["start"] = json!(false);
    let reply = rack.post(INSTANCES, body.clone()).await;
    reply.refused(
        507,
        "Insufficient capacity: No external IP addresses available: source NAT needs an address \
         from pool 'tiny'",
    );
    rack.delete("/v1/instances/b?project=demo").await.expect(204);
    let e = rack.post(INSTANCES, body).await.expect(201);
    let snat = rack.external_ips_and_snat(&e).await;
    assert_eq!(
        (&snat[0]["kind"], &snat[0]["first_port"], &snat[0]["last_port"]),
        (&json!("snat"), &json!(16384), &json!(32767))
    );
}

#[tokio::test]
async fn a_crashed_machine_is_failed_and_can_be_started() {
    let rack = rack().await;
    let web = rack.running_instance("demo", "web").await;
    let fip = rack.floating_ip("demo", "f").await;
    rack.attach(&fip, &web).await;
    rack.delivered_to(&fip, &web).await;
    let vmm = rack.vmm_of(&web).await.expect("it runs");
    rack.sled(vmm.sled).crash(&vmm.id).await;
    rack.state_reached(&web, "failed").await;
    rack.not_delivered(&fip).await;
    assert_eq!(rack.floating_ip_now(&fip).await["instance_id"], web["id"], "it keeps its address");
    rack.start_instance(&web).await;
    rack.delivered_to(&fip, &web).await;
    rack.settled().await;
}

#[tokio::test]
async fn stopping_and_starting_keeps_addresses() {
    let rack = rack().await;
    let ephemeral = json!({"type": "ephemeral",
        "pool_selector": {"type": "auto", "ip_version": "v4"}});
    let web = rack.instance_with("demo", "web", json!({"external_ips": [ephemeral]})).await;
    rack.state_reached(&web, "running").await;
    let fip = rack.floating_ip("demo", "f").await;
    rack.attach(&fip, &web).await;
    let before = rack.external_ips_and_snat(&web).await;
    let used = rack.addresses_in_use("default").await;
    for _ in 0..3 {
        rack.stop_instance(&web).await;
        rack.not_delivered(&fip).await;
        assert_eq!(rack.external_ips_and_snat(&web).await.len(), before.len());
        assert_eq!(rack.addresses_in_use("default").await, used);
        rack.settled().await;
        rack.start_instance(&web).await;
        rack.delivered_to(&fip, &web).await;
    }
    let mut after = rack.external_ips_and_snat(&web).await;
    let mut before = before;
    for list in [&mut before, &mut after] {
        list.sort_by_key(|ip| ip["kind"].to_string());
    }
    assert_eq!(before, after);
    rack.settled().await;
}

#[tokio::test]
async fn an_instance_moves_when_its_sled_takes_no_more() {
    let rack = rack().await;
    let web = rack.running_instance("demo", "web").await;
    let fip = rack.floating_ip("demo", "f").await;
    rack.attach(&fip, &web).await;
    let first = rack.vmm_of(&web).await.expect("it runs").sled;
    rack.stop_instance(&web).await;
    let refuse = json!({"operation": "vmm_register", "fault": "error", "times": 0});
    rack.sled(first).fault(refuse).await;
    rack.start_instance(&web).await;
    assert_ne!(rack.vmm_of(&web).await.expect("it runs").sled, first);
    rack.delivered_to(&fip, &web).await;
    rack.sled(first).clear_faults().await;
    rack.settled().await;
}
