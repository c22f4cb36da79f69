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

fn nic(name: &str, ip_config: Value) -> Value {
    json!({
        "name": name,
        "description": "an interface",
        "vpc_name": "default",
        "subnet_name": "default",
        "ip_config": ip_config,
    })
}

fn nics(list: Value) -> Value {
    json!({"network_interfaces": {"type": "create", "params": list}, "start": false})
}

#[tokio::test]
async fn interfaces_are_made_as_listed() {
    let rack = rack().await;
    let explicit =
        json!({"type": "v4", "value": {"ip": {"type": "explicit", "value": "172.30.0.99"}}});
    let web = rack.instance_with("demo", "web", nics(json!([nic("eth0", explicit.clone())]))).await;
    let made = rack.all("/v1/network-interfaces?instance=web&project=demo").await;
    assert_eq!(made.len(), 1);
    assert_eq!((&made[0]["name"], &made[0]["primary"]), (&json!("eth0"), &json!(true)));
    assert_eq!(
        made[0]["ip_stack"],
        json!({"type": "v4", "value": {"ip": "172.30.0.99", "transit_ips": []}})
    );
    rack.start_instance(&web).await;
    let fip = rack.floating_ip("demo", "f").await;
    rack.attach(&fip, &web).await;
    for answer in rack.inbound(nexus_tests::sim::ip_of(&fip), 22).await {
        assert_eq!(answer["nic_ip"], "172.30.0.99");
    }

    let create =
        async |changes: Value| rack.post(INSTANCES, with(instance_body("other"), changes)).await;
    let auto = json!({"type": "v4", "value": {"ip": {"type": "auto"}}});
    let named = |name: &str| nic(name, auto.clone());
    create(nics(json!([nic("eth0", explicit)])))
        .await
        .refused(400, "The IP address '172.30.0.99' is not available");
    create(nics(json!([named("eth0"), named("eth1")])))
        .await
        .refused(400, "Each interface must be in a distinct VPC Subnet");
    let one_vpc = "All interfaces must be in the same VPC";
    create(nics(json!([]))).await.refused(400, one_vpc);
    let elsewhere = with(named("eth1"), json!({"vpc_name": "other"}));
    create(nics(json!([named("eth0"), elsewhere.clone()]))).await.refused(400, one_vpc);
    create(nics(json!([elsewhere]))).await.refused(404, "not found: vpc with name \"other\"");
    let nowhere = with(named("eth0"), json!({"subnet_name": "other"}));
    create(nics(json!([nowhere]))).await.refused(404, "not found: vpc-subnet with name \"other\"");
    create(nics(json!(vec![named("eth0"); 9])))
        .await
        .refused(400, "An instance may not have more than 8 network interfaces");
    assert_eq!(rack.all(INSTANCES).await.len(), 1, "none of them was made");
    rack.settled().await;
}

/// At most one ephemeral address of each version, which must be clear from the request.
#[tokio::test]
async fn two_ephemeral_addresses_are_of_two_versions() {
    let rack = rack().await;
    rack.pool("p", "10.1.0.0", "10.1.0.9").await;
    rack.pool("q", "10.2.0.0", "10.2.0.9").await;
    let auto = |version: &str| json!({"type": "ephemeral", "pool_selector": {"type": "auto", "ip_version": version}});
    let of = |pool: &str| json!({"type": "ephemeral", "pool_selector": {"type": "explicit", "pool": pool}});
    let same = "cannot request two ephemeral IPs of the same version (v4)";
    for (pair, message) in [
        ([auto("v4"), auto("v4")], same.to_string()),
        ([of("p"), of("p")], "cannot request two ephemeral IPs from the same pool".to_string()),
        ([of("p"), of("q")], format!("{same}: both pools are v4")),
        (
            [of("p"), auto("v4")],
            format!("{same}: explicit pool and auto selection both specify v4"),
        ),
    ] {
        let body = with(instance_body("web"), json!({"external_ips": pair}));
        rack.post(INSTANCES, body).await.refused(400, &message);
    }
    let pair = json!({"external_ips": [of("p"), auto("v6")]});
    let web = rack.instance_with("demo", "web", pair).await;
    rack.state_reached(&web, "running").await;
    let addresses = rack.external_ips(&web).await;
    assert_eq!(addresses.len(), 2);
    for address in &addresses {
        assert_eq!(address["kind"], "ephemeral");
        assert!(rack.delivers_now(address, &web).await, "{address}");
    }
    rack.settled().await;
}

/// While a machine is on its way from one state to another, requests that depend on where it is
/// are refused in words that say so, and its addresses stay as they were.
#[tokio::test]
async fn states_in_between_are_said() {
    let rack = rack().await;
    let fip = rack.floating_ip("demo", "f").await;
    let attach = "/v1/floating-ips/f/attach?project=demo";
    let leaving = rack.running_instance("demo", "leaving").await;
    for sled in rack.sleds() {
        // Longer than anything that follows; nobody waits for it.
        sled.pace(600_000, 600_000, 0).await;
    }
    let coming = rack.stopped_instance("demo", "coming").await;
    rack.instance_do("start", &coming).await;
    assert_eq!(rack.instance_now(&coming).await["run_state"], "starting");
    rack.instance_do("start", &coming).await;
    rack.post(attach, nexus_tests::make::attach_body(&coming))
        .await
        .refused(503, "the instance is starting; it is safe to retry");

    rack.instance_do("stop", &leaving).await;
    assert_eq!(rack.instance_now(&leaving).await["run_state"], "stopping");
    rack.instance_do("stop", &leaving).await;
    rack.call(&format!("{}/start", instance_path(&leaving)))
        .await
        .refused(409, "instance must finish stopping before it can be started");
    rack.post(attach, nexus_tests::make::attach_body(&leaving))
        .await
        .refused(503, "the instance is stopping; it is safe to retry");
    for instance in [&coming, &leaving] {
        rack.delete(&instance_path(instance)).await.refused(
            400,
            "cannot delete instance: instance is running or has not yet fully stopped",
        );
    }
    assert!(rack.floating_ip_now(&fip).await["instance_id"].is_null());
}

/// A machine that no sled takes is as startable afterwards as before, and keeps its addresses.
#[tokio::test]
async fn a_start_that_no_sled_takes() {
    let rack = rack().await;
    let web = rack.stopped_instance("demo", "web").await;
    let fip = rack.floating_ip("demo", "f").await;
    rack.attach(&fip, &web).await;
    for (operation, status) in [
        ("vmm_register", 400),
        ("vmm_register", 500),
        ("vmm_put_state", 500),
        ("vmm_register", 503),
    ] {
        for sled in rack.sleds() {
            let refuse = json!({"operation": operation, "fault": "error", "status": status,
                "times": 0});
            sled.fault(refuse).await;
        }
        let reply = rack.call(&format!("{}/start", instance_path(&web))).await;
        assert!(reply.status >= 400, "{operation} {status}: {:#}", reply.body);
        for sled in rack.sleds() {
            sled.clear_faults().await;
        }
        nexus_tests::eventually("it is at rest", async || {
            let now = rack.instance_now(&web).await["run_state"].clone();
            if now == "stopped" || now == "failed" { Ok(()) } else { Err(now) }
        })
        .await;
        assert_eq!(rack.floating_ip_now(&fip).await["instance_id"], web["id"]);
        rack.not_delivered(&fip).await;
        rack.settled().await;
    }
    rack.start_instance(&web).await;
    assert!(rack.delivers_now(&fip, &web).await);
    rack.settled().await;
}

/// Where there are only IPv4 addresses nobody has to know that there could be others.
#[tokio::test]
async fn a_silo_of_ipv4_alone() {
    let rack = rack().await;
    rack.delete("/v1/system/ip-pools/default-v6/silos/default-silo").await.expect(204);
    for (name, client) in [("new", rack.nexus(0)), ("old", rack.without_version())] {
        let mut body = instance_body(name);
        body["external_ips"] = json!([{"type": "ephemeral"}]);
        let web = client.post(INSTANCES, body).await.expect(201);
        rack.state_reached(&web, "running").await;
        let address = rack.external_ips(&web).await.remove(0);
        assert!(rack.delivers_now(&address, &web).await, "{name}: {address}");
    }
    rack.settled().await;
}
