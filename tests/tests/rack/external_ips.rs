//! External addresses of instances: attaching and detaching them while the instance runs or not.

use futures::future::join_all;
use nexus_tests::TestRack;
use nexus_tests::make::{attach_body, auto, instance_path};
use serde_json::{Value, json};
use std::net::IpAddr;

async fn rack() -> TestRack {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    rack
}

fn ephemeral_path(instance: &Value) -> String {
    format!("{}/external-ips/ephemeral", instance_path(instance))
}

fn from_default(ip_version: &str) -> Value {
    json!({"pool_selector": {"type": "auto", "ip_version": ip_version}})
}

fn from_pool(pool: &str) -> Value {
    json!({"pool_selector": {"type": "explicit", "pool": pool}})
}

/// The API answers when the work is done: packets flow at once, through every switch.
#[tokio::test]
async fn after_the_answer_packets_flow() {
    let rack = rack().await;
    let web = rack.running_instance("demo", "web").await;
    let fip = rack.floating_ip("demo", "f").await;
    for _ in 0..5 {
        rack.attach(&fip, &web).await;
        assert!(rack.delivers_now(&fip, &web).await);
        let out = rack.outbound(&web).await;
        assert_eq!((&out["kind"], &out["source_ip"]), (&json!("floating"), &fip["ip"]));
        rack.detach(&fip).await;
        assert!(!rack.delivers_now(&fip, &web).await);
        assert_eq!(rack.outbound(&web).await["kind"], "snat");
    }
    rack.settled().await;
}

#[tokio::test]
async fn what_a_stopped_instance_has_comes_up_with_it() {
    let rack = rack().await;
    let web = rack.stopped_instance("demo", "web").await;
    let (one, two) = (rack.floating_ip("demo", "a").await, rack.floating_ip("demo", "b").await);
    rack.attach(&one, &web).await;
    rack.attach(&two, &web).await;
    rack.not_delivered(&one).await;
    rack.start_instance(&web).await;
    rack.delivered_to(&one, &web).await;
    rack.delivered_to(&two, &web).await;
    rack.stop_instance(&web).await;
    rack.detach(&one).await;
    rack.start_instance(&web).await;
    rack.delivered_to(&two, &web).await;
    rack.not_delivered(&one).await;
    rack.settled().await;
}

/// Floating before ephemeral before source NAT.
#[tokio::test]
async fn the_source_address_is_chosen_in_order() {
    let rack = rack().await;
    let web = rack.running_instance("demo", "web").await;
    let out = async || {
        let out = rack.outbound(&web).await;
        (out["kind"].as_str().unwrap_or("none").to_string(), out["source_ip"].clone())
    };
    assert_eq!(out().await.0, "snat");
    let ephemeral = rack.post(&ephemeral_path(&web), from_default("v4")).await.expect(202);
    assert_eq!(out().await, ("ephemeral".to_string(), ephemeral["ip"].clone()));
    let fip = rack.floating_ip("demo", "f").await;
    rack.attach(&fip, &web).await;
    assert_eq!(out().await, ("floating".to_string(), fip["ip"].clone()));
    rack.detach(&fip).await;
    assert_eq!(out().await, ("ephemeral".to_string(), ephemeral["ip"].clone()));
    rack.delete(&ephemeral_path(&web)).await.expect(204);
    assert_eq!(out().await.0, "snat");
    rack.settled().await;
}

#[tokio::test]
async fn an_ephemeral_address_is_one_of_each_version() {
    let rack = rack().await;
    rack.pool("other", "10.1.0.0", "10.1.0.9").await;
    let web = rack.running_instance("demo", "web").await;
    let path = ephemeral_path(&web);
    rack.delete(&path).await.refused(400, "instance does not have an ephemeral IP attached");
    let v4 = rack.post(&path, from_default("v4")).await.expect(202);
    assert_eq!(v4["kind"], "ephemeral");
    let pool = rack.get("/v1/ip-pools/default").await.expect(200);
    assert_eq!(v4["ip_pool_id"], pool["id"]);
    let used = rack.addresses_in_use("default").await;
    // What is there already is the answer, whatever pool is named.
    assert_eq!(rack.post(&path, from_default("v4")).await.expect(202), v4);
    assert_eq!(rack.post(&path, from_pool("other")).await.expect(202), v4);
    assert_eq!(rack.addresses_in_use("default").await, used);
    assert_eq!(rack.addresses_in_use("other").await, 0);

    let v6 = rack.post(&path, from_default("v6")).await.expect(202);
    assert!(v6["ip"].as_str().is_some_and(|ip| ip.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv6())));
    rack.delivered_to(&v4, &web).await;
    rack.delivered_to(&v6, &web).await;
    rack.delete(&path).await.refused(
        400,
        "instance has two ephemeral IPs; specify ip_version to select which to detach",
    );
    rack.delete(&format!("{path}?ip_version=v6")).await.expect(204);
    rack.not_delivered(&v6).await;
    rack.delete(&path).await.expect(204);
    rack.not_delivered(&v4).await;
    assert_eq!(rack.addresses_in_use("default-v6").await, 0);
    rack.settled().await;
}

/// An ephemeral attach that is repeated finds what is there, even where the pool has no more.
#[tokio::test]
async fn an_exhausted_pool_does_not_matter_to_who_has_an_address() {
    let rack = rack().await;
    rack.pool("tiny", "10.1.0.0", "10.1.0.0").await;
    let web = rack.stopped_instance("demo", "web").await;
    let other = rack.stopped_instance("demo", "other").await;
    let first = rack.post(&ephemeral_path(&web), from_pool("tiny")).await.expect(202);
    let again = rack.post(&ephemeral_path(&web), from_pool("tiny")).await.expect(202);
    assert_eq!(first, again);
    rack.post(&ephemeral_path(&other), from_pool("tiny"))
        .await
        .refused(507, "Insufficient capacity: No external IP addresses available");
    assert!(rack.external_ips(&other).await.is_empty());
    rack.delete(&ephemeral_path(&web)).await.expect(204);
    rack.post(&ephemeral_path(&other), from_pool("tiny")).await.expect(202);
}

#[tokio::test]
async fn the_private_network_must_speak_the_version() {
    let rack = rack().await;
    let only_v4 = json!({"network_interfaces": {"type": "default_ipv4"}, "start": false});
    let web = rack.instance_with("demo", "web", only_v4).await;
    let id = web["id"].as_str().expect("an id");
    let v6 = json!({"address_allocator": auto("v6")});
    rack.floating_ip_with("demo", "f", v6).await;
    rack.post("/v1/floating-ips/f/attach?project=demo", attach_body(&web)).await.refused(
        400,
        &format!(
            "The floating external IP is an IPv6 address, but the instance with ID {id} does not \
             have a primary network interface with a VPC-private IPv6 address. Add a VPC-private \
             IPv6 address to the interface, or attach a different IP address"
        ),
    );
    let without = json!({"network_interfaces": {"type": "none"}, "start": false});
    let bare = rack.instance_with("demo", "bare", without).await;
    assert!(rack.external_ips_and_snat(&bare).await.is_empty(), "no network, no source NAT");
    rack.floating_ip("demo", "g").await;
    rack.post("/v1/floating-ips/g/attach?project=demo", attach_body(&bare))
        .await
        .refused_about(400, "does not have a primary network interface");
}

/// 32 floating and ephemeral addresses; source NAT does not count.
#[tokio::test]
async fn thirty_two_are_the_most() {
    let rack = rack().await;
    let web = rack.stopped_instance("demo", "web").await;
    let mut fips = Vec::new();
    for n in 0..34 {
        fips.push(rack.floating_ip("demo", &format!("f{n}")).await);
    }
    for fip in &fips[..30] {
        rack.attach(fip, &web).await;
    }
    let attach = async |fip: &Value| {
        let id = fip["id"].as_str().expect("an id");
        rack.post(&format!("/v1/floating-ips/{id}/attach"), attach_body(&web)).await
    };
    let late = join_all(fips[30..].iter().map(attach)).await;
    let won = late.iter().filter(|reply| reply.status == 202).count();
    assert!(won <= 2, "{won} of four got in");
    for reply in late {
        match reply.status {
            202 | 503 => {}
            _ => reply.refused(400, TOO_MANY),
        }
    }
    for fip in &fips[30..] {
        let reply = attach(fip).await;
        assert!(matches!(reply.status, 202 | 400), "{:#}", reply.body);
    }
    assert_eq!(rack.external_ips(&web).await.len(), 32);
    assert_eq!(rack.external_ips_and_snat(&web).await.len(), 33);
    rack.post(&ephemeral_path(&web), from_default("v4")).await.refused(400, TOO_MANY);
    rack.start_instance(&web).await;
    rack.settled().await;
    // An ephemeral address is one of the 32; having it already is no reason to refuse.
    let floating = rack.external_ips(&web).await;
    rack.detach(&floating[0]).await;
    let ephemeral = rack.post(&ephemeral_path(&web), from_default("v4")).await.expect(202);
    assert_eq!(rack.post(&ephemeral_path(&web), from_default("v4")).await.expect(202), ephemeral);
    attach(&floating[0]).await.refused(400, TOO_MANY);
    assert!(rack.floating_ip_now(&floating[0]).await["instance_id"].is_null());
    rack.post(&ephemeral_path(&web), from_default("v6")).await.refused(400, TOO_MANY);
    assert_eq!(rack.addresses_in_use("default-v6").await, 0, "what was refused took nothing");
    rack.settled().await;
}

const TOO_MANY: &str = "an instance may not have more than 32 external IP addresses";

/// The private addresses differ; the outside must see the right one at any time.
#[tokio::test]
async fn both_stacks_of_one_machine() {
    let rack = rack().await;
    let web = rack.running_instance("demo", "web").await;
    let v4 = rack.floating_ip("demo", "a").await;
    let v6 = rack.floating_ip_with("demo", "b", json!({"address_allocator": auto("v6")})).await;
    rack.attach(&v4, &web).await;
    rack.attach(&v6, &web).await;
    assert!(rack.delivers_now(&v4, &web).await);
    assert!(rack.delivers_now(&v6, &web).await);
    rack.detach(&v4).await;
    assert!(rack.delivers_now(&v6, &web).await);
    rack.settled().await;
}

/// Detach and attach elsewhere, without pause: at no time do two machines hold the address.
#[tokio::test]
async fn an_address_goes_back_and_forth() {
    let rack = rack().await;
    let (a, b) =
        (rack.running_instance("demo", "a").await, rack.running_instance("demo", "b").await);
    let fip = rack.floating_ip("demo", "f").await;
    for round in 0..10 {
        let owner = if round % 2 == 0 { &a } else { &b };
        rack.attach(&fip, owner).await;
        assert!(rack.delivers_now(&fip, owner).await, "round {round}");
        rack.detach(&fip).await;
    }
    rack.attach(&fip, &b).await;
    rack.delivered_to(&fip, &b).await;
    rack.settled().await;
}

/// What a view says of an instance's state is enough to act on: whoever acts at once is served.
#[tokio::test]
async fn a_state_that_is_reported_is_acted_on_at_once() {
    let rack = rack().await;
    for sled in rack.sleds() {
        sled.pace(20, 20, 0).await;
    }
    let web = rack.stopped_instance("demo", "web").await;
    let fip = rack.floating_ip("demo", "f").await;
    for _ in 0..10 {
        rack.attach(&fip, &web).await;
        rack.instance_do("start", &web).await;
        rack.state_reached(&web, "running").await;
        rack.instance_do("stop", &web).await;
        rack.state_reached(&web, "stopped").await;
        rack.detach(&fip).await;
    }
    rack.settled().await;
}

/// A machine that reboots takes and gives addresses; one that has failed does not, and says why.
#[tokio::test]
async fn states_in_which_addresses_come_and_go() {
    let rack = rack().await;
    let web = rack.running_instance("demo", "web").await;
    let (f, g) = (rack.floating_ip("demo", "f").await, rack.floating_ip("demo", "g").await);
    rack.attach(&g, &web).await;
    let vmm = rack.vmm_of(&web).await.expect("it runs");
    // Longer than anything that follows; nobody waits for it.
    rack.sled(vmm.sled).pace(600_000, 600_000, 0).await;
    rack.instance_do("reboot", &web).await;
    assert_eq!(rack.instance_now(&web).await["run_state"], "rebooting");
    rack.attach(&f, &web).await;
    rack.detach(&g).await;

    rack.sled(vmm.sled).crash(&vmm.id).await;
    rack.state_reached(&web, "failed").await;
    let act = async |fip: &Value, action: &str| {
        let id = fip["id"].as_str().expect("an id");
        let path = format!("/v1/floating-ips/{id}/{action}");
        rack.post(&path, attach_body(&web)).await
    };
    act(&g, "attach").await.refused(400, "cannot attach floating IP to instance in failed state");
    act(&f, "detach").await.refused(400, "cannot detach floating IP from instance in failed state");
    rack.post(&ephemeral_path(&web), from_default("v4"))
        .await
        .refused(400, "cannot attach ephemeral IP to instance in failed state");
    assert_eq!(rack.floating_ip_now(&f).await["instance_id"], web["id"]);
    rack.settled().await;
}
