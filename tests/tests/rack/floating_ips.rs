//! Floating IPs: the seven operations.

use nexus_tests::TestRack;
use nexus_tests::make::{attach_body, auto, floating_ip_body, instance_path, with};
use serde_json::{Value, json};

const FIPS: &str = "/v1/floating-ips?project=demo";

fn allocator(allocator: Value) -> Value {
    json!({"address_allocator": allocator})
}

fn explicit(ip: &str) -> Value {
    allocator(json!({"type": "explicit", "ip": ip}))
}

fn from_pool(pool: &str) -> Value {
    allocator(json!({"type": "auto", "pool_selector": {"type": "explicit", "pool": pool}}))
}

async fn rack() -> TestRack {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    rack
}

#[tokio::test]
async fn a_floating_ip_lives() {
    let rack = rack().await;
    let fip = rack.floating_ip("demo", "front").await;
    let pool = rack.get("/v1/ip-pools/default").await.expect(200);
    let project = rack.get("/v1/projects/demo").await.expect(200);
    let keys: Vec<_> = fip.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "description",
            "id",
            "instance_id",
            "ip",
            "ip_pool_id",
            "name",
            "project_id",
            "time_created",
            "time_modified"
        ]
    );
    assert_eq!(fip["ip"], "10.0.0.0", "the lowest free address of the pool");
    assert_eq!(fip["ip_pool_id"], pool["id"]);
    assert_eq!(fip["project_id"], project["id"]);
    assert!(fip["instance_id"].is_null());

    assert_eq!(rack.get("/v1/floating-ips/front?project=demo").await.expect(200), fip);
    assert_eq!(rack.floating_ip_now(&fip).await, fip);
    assert_eq!(json!(rack.all(FIPS).await), json!([fip]));

    let change = json!({"name": "back", "description": "another"});
    let path = "/v1/floating-ips/front?project=demo";
    let updated = rack.put(path, change.clone()).await.expect(200);
    assert_eq!(with(fip.clone(), change)["ip"], updated["ip"]);
    assert_eq!((&updated["name"], &updated["description"]), (&json!("back"), &json!("another")));
    assert_eq!(updated["id"], fip["id"]);

    let path = "/v1/floating-ips/back?project=demo";
    rack.delete(path).await.expect(204);
    rack.delete(path).await.refused(404, "not found: floating-ip with name \"back\"");
    assert_eq!(rack.addresses_in_use("default").await, 0);
    // The address can be used again at once.
    assert_eq!(rack.floating_ip("demo", "next").await["ip"], "10.0.0.0");
}

#[tokio::test]
async fn every_allocator_form_works() {
    let rack = rack().await;
    rack.pool("p", "10.1.0.0", "10.1.0.9").await;
    let made = async |name: &str, changes: Value| {
        rack.floating_ip_with("demo", name, changes).await["ip"].clone()
    };
    assert_eq!(made("a", explicit("10.1.0.5")).await, "10.1.0.5");
    assert_eq!(made("b", from_pool("p")).await, "10.1.0.0");
    assert_eq!(made("c", allocator(auto("v4"))).await, "10.0.0.0");
    assert_eq!(made("d", allocator(auto("v6"))).await, "2001:db8::");
    assert_eq!(made("e", explicit("2001:DB8:0::1")).await, "2001:db8::1", "in canonical form");
    // Two defaults, and nothing said about which.
    for (name, changes) in [
        ("f", json!({})),
        ("g", allocator(json!({"type": "auto"}))),
        ("h", allocator(json!({"type": "auto", "pool_selector": {"type": "auto"}}))),
    ] {
        let body = with(floating_ip_body(name), changes);
        rack.post(FIPS, body).await.refused(
            400,
            "Multiple default unicast IP pools exist with different IP versions. Please specify \
             ip_version (v4 or v6) or provide an explicit pool.",
        );
    }
    rack.delete("/v1/system/ip-pools/default-v6/silos/default-silo").await.expect(400);
}

#[tokio::test]
async fn one_default_pool_needs_no_words() {
    let rack = rack().await;
    rack.delete("/v1/system/ip-pools/default-v6/silos/default-silo").await.expect(204);
    let fip = rack.floating_ip_with("demo", "f", json!({})).await;
    assert_eq!(fip["ip"], "10.0.0.0");
    let body = with(floating_ip_body("g"), allocator(auto("v6")));
    rack.post(FIPS, body)
        .await
        .refused(404, "not found: default unicast IPv6 pool for current silo");
}

#[tokio::test]
async fn addresses_that_cannot_be_had() {
    let rack = rack().await;
    rack.floating_ip_with("demo", "taken", explicit("10.0.0.9")).await;
    rack.floating_ip_with("demo", "taken-v6", explicit("2001:db8::9")).await;
    let create = async |changes: Value| rack.post(FIPS, with(floating_ip_body("f"), changes)).await;
    let unavailable = "Requested external IP address not available";
    create(explicit("10.0.0.9")).await.refused(400, unavailable);
    create(explicit("2001:DB8::0009")).await.refused(400, unavailable);
    create(explicit("192.0.2.1"))
        .await
        .refused(400, "IP address 192.0.2.1 is not in any configured pool");
    create(explicit("::ffff:10.0.0.5")).await.refused_about(400, "::ffff:");
    create(explicit("fe80::1%eth0")).await.refused_about(400, "unable to parse JSON body");
    create(explicit("10.0.0")).await.refused_about(400, "unable to parse JSON body");
    create(from_pool("nowhere")).await.refused(404, "not found: ip-pool with name \"nowhere\"");
    assert_eq!(rack.addresses_in_use("default").await, 1, "what was refused took nothing");
}

#[tokio::test]
async fn a_misspelled_selector_is_not_ignored() {
    let rack = rack().await;
    for (changes, field) in [
        (allocator(json!({"type": "auto", "pool_selecter": {"type": "auto"}})), "pool_selecter"),
        (allocator(json!({"type": "explicit", "ip": "10.0.0.1", "extra": 1})), "extra"),
        (allocator(json!({"type": "autom"})), "autom"),
        (allocator(json!({})), "type"),
        (allocator(json!(7)), "address_allocator"),
        (
            allocator(json!({"type": "auto", "pool_selector": {"type": "auto", "version": "v4"}})),
            "version",
        ),
    ] {
        let body = with(floating_ip_body("f"), changes);
        rack.post(FIPS, body).await.refused_about(400, field);
    }
    rack.floating_ip("demo", "f").await;
}

#[tokio::test]
async fn a_full_pool_says_so() {
    let rack = rack().await;
    rack.pool("tiny", "10.1.0.0", "10.1.0.1").await;
    for name in ["a", "b"] {
        rack.floating_ip_with("demo", name, from_pool("tiny")).await;
    }
    let reply = rack.post(FIPS, with(floating_ip_body("c"), from_pool("tiny"))).await;
    assert_eq!(reply.error_code(), Some("InsufficientCapacity"));
    reply.refused(507, "Insufficient capacity: No external IP addresses available");
    rack.delete("/v1/floating-ips/a?project=demo").await.expect(204);
    let fip = rack.floating_ip_with("demo", "c", from_pool("tiny")).await;
    assert_eq!(fip["ip"], "10.1.0.0");
}

#[tokio::test]
async fn the_lowest_free_address_is_next() {
    let rack = rack().await;
    rack.pool("p", "10.1.0.0", "10.1.0.9").await;
    let next =
        async |name: &str| rack.floating_ip_with("demo", name, from_pool("p")).await["ip"].clone();
    rack.floating_ip_with("demo", "x", explicit("10.1.0.1")).await;
    assert_eq!(next("a").await, "10.1.0.0");
    assert_eq!(next("b").await, "10.1.0.2");
    assert_eq!(next("c").await, "10.1.0.3");
    rack.delete("/v1/floating-ips/x?project=demo").await.expect(204);
    rack.delete("/v1/floating-ips/a?project=demo").await.expect(204);
    assert_eq!(next("d").await, "10.1.0.0");
    assert_eq!(next("e").await, "10.1.0.1");
    assert_eq!(next("f").await, "10.1.0.4");
    // A range below is used first.
    let lower = json!({"first": "10.0.255.0", "last": "10.0.255.0"});
    rack.post("/v1/system/ip-pools/p/ranges/add", lower).await.refused_about(400, "overlaps");
    let lower = json!({"first": "9.255.255.255", "last": "9.255.255.255"});
    rack.post("/v1/system/ip-pools/p/ranges/add", lower).await.expect(201);
    assert_eq!(next("g").await, "9.255.255.255");
}

#[tokio::test]
async fn names_are_taken_once_in_a_project() {
    let rack = rack().await;
    rack.project("other").await;
    rack.floating_ip("demo", "f").await;
    let reply = rack.post(FIPS, with(floating_ip_body("f"), allocator(auto("v4")))).await;
    assert_eq!(reply.error_code(), Some("ObjectAlreadyExists"));
    reply.refused(400, "already exists: floating-ip \"f\"");
    assert_eq!(rack.addresses_in_use("default").await, 1, "the loser's address is free");
    rack.floating_ip("other", "f").await;
    rack.floating_ip("demo", "g").await;
    rack.put("/v1/floating-ips/g?project=demo", json!({"name": "f"}))
        .await
        .refused(400, "already exists: floating-ip \"f\"");
}

#[tokio::test]
async fn an_id_needs_no_project_and_a_name_does() {
    let rack = rack().await;
    let fip = rack.floating_ip("demo", "f").await;
    let id = fip["id"].as_str().expect("an id");
    let with_project = "when providing Floating IP as an ID project should not be specified";
    let without = "Floating IP should either be UUID or project should be specified";
    let by_id = format!("/v1/floating-ips/{id}?project=demo");
    let by_name = "/v1/floating-ips/f";
    for (path, message) in [(by_id.as_str(), with_project), (by_name, without)] {
        let (base, query) = path.split_once('?').unwrap_or((path, ""));
        rack.get(path).await.refused(400, message);
        rack.put(path, json!({"description": "x"})).await.refused(400, message);
        rack.delete(path).await.refused(400, message);
        rack.call(&format!("{base}/detach?{query}")).await.refused(400, message);
        let body = json!({"kind": "instance", "parent": "web"});
        rack.post(&format!("{base}/attach?{query}"), body).await.refused(400, message);
    }
    assert_eq!(rack.floating_ip_now(&fip).await, fip, "nothing was changed");
    rack.get("/v1/floating-ips/f?project=nowhere")
        .await
        .refused(404, "not found: project with name \"nowhere\"");
    rack.get("/v1/floating-ips").await.refused_about(400, "missing field `project`");
}

#[tokio::test]
async fn an_attached_floating_ip_stays() {
    let rack = rack().await;
    let fip = rack.floating_ip("demo", "f").await;
    let (first, second) =
        (rack.stopped_instance("demo", "a").await, rack.stopped_instance("demo", "b").await);
    let attached = rack.attach(&fip, &first).await;
    assert_eq!(attached["instance_id"], first["id"]);
    rack.delete("/v1/floating-ips/f?project=demo")
        .await
        .refused(400, "Floating IP cannot be deleted while attached to an instance");
    rack.post("/v1/floating-ips/f/attach?project=demo", attach_body(&second)).await.refused(
        400,
        "floating IP cannot be attached to one instance while still attached to another",
    );
    assert_eq!(rack.floating_ip_now(&fip).await["instance_id"], first["id"]);
    let detached = rack.detach(&fip).await;
    assert!(detached["instance_id"].is_null(), "what is true afterwards");
    rack.attach(&fip, &second).await;
    assert_eq!(rack.external_ips(&second).await[0]["id"], fip["id"]);
    assert!(rack.external_ips(&first).await.is_empty());
    // Deleting the instance gives it back.
    rack.delete(&instance_path(&second)).await.expect(204);
    assert!(rack.floating_ip_now(&fip).await["instance_id"].is_null());
    rack.delete("/v1/floating-ips/f?project=demo").await.expect(204);
}

#[tokio::test]
async fn asking_again_for_what_is_so_changes_nothing() {
    let rack = rack().await;
    let fip = rack.floating_ip("demo", "f").await;
    assert_eq!(rack.detach(&fip).await, fip);
    let web = rack.running_instance("demo", "web").await;
    let first = rack.attach(&fip, &web).await;
    let puts = rack.switch(0).calls_of("nat_ipv4_create").await;
    let second = rack.attach(&fip, &web).await;
    assert_eq!(first["instance_id"], second["instance_id"]);
    assert_eq!(rack.switch(0).calls_of("nat_ipv4_create").await, puts, "no NAT is written again");
    rack.settled().await;
}

#[tokio::test]
async fn projects_do_not_mix() {
    let rack = rack().await;
    rack.project("other").await;
    let fip = rack.floating_ip("demo", "f").await;
    let web = rack.stopped_instance("other", "web").await;
    let path = "/v1/floating-ips/f/attach?project=demo";
    rack.post(path, attach_body(&web))
        .await
        .refused(400, "floating IP must be in the same project as the instance");
    // By name it is looked for where the floating IP is.
    rack.post(path, json!({"kind": "instance", "parent": "web"}))
        .await
        .refused(404, "not found: instance with name \"web\"");
    rack.post(path, json!({"kind": "project", "parent": "web"}))
        .await
        .refused_about(400, "project");
    assert!(rack.floating_ip_now(&fip).await["instance_id"].is_null());
}

#[tokio::test]
async fn descriptions_have_a_bound() {
    let rack = rack().await;
    let too_long = json!({"description": "x".repeat(513)});
    let body = with(floating_ip_body("f"), with(allocator(auto("v4")), too_long.clone()));
    rack.post(FIPS, body).await.refused_about(400, "description");
    assert_eq!(rack.addresses_in_use("default").await, 0, "what was refused took nothing");
    rack.floating_ip("demo", "f").await;
    let path = "/v1/floating-ips/f?project=demo";
    rack.put(path, too_long).await.refused_about(400, "description");
    // Characters, not bytes.
    let longest = json!({"description": "é".repeat(512)});
    let updated = rack.put(path, longest.clone()).await.expect(200);
    assert_eq!(updated["description"], longest["description"]);
}
