//! IP pools, as operators make them and as tenants see them.

use nexus_tests::TestRack;
use nexus_tests::make::floating_ip_body;
use serde_json::{Value, json};

const POOLS: &str = "/v1/system/ip-pools";

fn range(first: &str, last: &str) -> Value {
    json!({"first": first, "last": last})
}

fn link(is_default: bool) -> Value {
    json!({"silo": "default-silo", "is_default": is_default})
}

#[tokio::test]
async fn a_new_rack_has_two_pools() {
    let rack = TestRack::start().await;
    let pools = rack.all("/v1/ip-pools").await;
    let shown: Vec<_> = pools
        .iter()
        .map(|pool| json!([pool["name"], pool["is_default"], pool["ip_version"]]))
        .collect();
    assert_eq!(shown, [json!(["default", true, "v4"]), json!(["default-v6", true, "v6"])]);
    let view = rack.get(&format!("{POOLS}/default/utilization")).await.expect(200);
    assert_eq!(view, json!({"capacity": 65536.0, "remaining": 65536.0}));
    let view = rack.get(&format!("{POOLS}/default-v6/utilization")).await.expect(200);
    assert_eq!(view["capacity"].as_f64(), Some(2f64.powi(64)));
    let ranges = rack.all(&format!("{POOLS}/default/ranges")).await;
    assert_eq!(ranges[0]["range"], range("10.0.0.0", "10.0.255.255"));
    assert_eq!(ranges.len(), 1);
}

#[tokio::test]
async fn a_pool_lives() {
    let rack = TestRack::start().await;
    let body = json!({"name": "p", "description": "a pool"});
    let pool = rack.post(POOLS, body).await.expect(201);
    assert_eq!((&pool["ip_version"], &pool["pool_type"]), (&json!("v4"), &json!("unicast")));
    assert_eq!(pool["assignment"], "silos");
    assert_eq!(rack.get(&format!("{POOLS}/p")).await.expect(200), pool);
    let updated = rack.put(&format!("{POOLS}/p"), json!({"name": "q"})).await.expect(200);
    assert_eq!((&updated["id"], &updated["name"]), (&pool["id"], &json!("q")));
    let taken = rack.put(&format!("{POOLS}/q"), json!({"name": "default"})).await;
    taken.refused(400, "already exists: ip-pool \"default\"");
    let again = rack.post(POOLS, json!({"name": "q", "description": ""})).await;
    again.refused(400, "already exists: ip-pool \"q\"");
    rack.delete(&format!("{POOLS}/q")).await.expect(204);
    rack.get(&format!("{POOLS}/q")).await.refused(404, "not found: ip-pool with name \"q\"");
}

#[tokio::test]
async fn ranges_are_of_one_family_and_no_other_pools() {
    let rack = TestRack::start().await;
    let pool = rack.pool("p", "10.1.0.0", "10.1.0.255").await;
    let add = format!("{POOLS}/p/ranges/add");
    let id = pool["id"].as_str().expect("an id");
    rack.post(&add, range("fd00::1", "fd00::2"))
        .await
        .refused(400, &format!("Cannot add IPv6 address range to IPv4 pool with ID \"{id}\""));
    rack.post(&add, range("10.1.1.9", "10.1.1.1")).await.refused_about(400, "IpRange");
    rack.post(&add, range("10.1.1.1", "fd00::1")).await.refused_about(400, "IpRange");
    rack.post(&add, range("224.0.0.1", "224.0.0.9"))
        .await
        .refused(400, "Cannot add multicast address range to unicast IP pool");
    rack.post(&add, range("10.1.0.255", "10.1.1.0")).await.refused(
        400,
        "The provided IP range 10.1.0.255-10.1.1.0 overlaps with an existing IP pool range or \
         subnet pool member",
    );
    // Nor may it overlap another pool's.
    rack.post(&add, range("10.0.255.255", "10.0.255.255")).await.refused_about(400, "overlaps");
    let added = rack.post(&add, range("10.1.1.0", "10.1.1.0")).await.expect(201);
    assert_eq!(added["range"], range("10.1.1.0", "10.1.1.0"));
    assert_eq!(added["ip_pool_id"], pool["id"]);
    let view = rack.get(&format!("{POOLS}/p/utilization")).await.expect(200);
    assert_eq!(view, json!({"capacity": 257.0, "remaining": 257.0}));
}

/// An address that no instance can use on a network must not be handed out.
#[tokio::test]
async fn a_range_holds_what_instances_can_have() {
    let rack = TestRack::start().await;
    rack.pool("four", "10.1.0.0", "10.1.0.9").await;
    rack.pool("six", "fd00:1::", "fd00:1::9").await;
    for (pool, first, last, kind) in [
        ("four", "0.0.0.0", "0.0.0.1", "unspecified"),
        ("four", "127.0.0.1", "127.0.0.1", "loopback"),
        // In the middle of it.
        ("four", "126.0.0.0", "128.0.0.0", "loopback"),
        ("four", "169.254.7.0", "169.254.7.9", "link-local"),
        ("four", "223.255.255.0", "240.0.0.1", "multicast"),
        ("six", "::", "::", "unspecified"),
        ("six", "::1", "::9", "loopback"),
        ("six", "::ffff:10.0.0.1", "::ffff:10.0.0.9", "IPv4-mapped IPv6"),
        ("six", "fe80::1", "fe80::9", "link-local"),
        ("six", "febf::", "fec0::", "link-local"),
    ] {
        let reply = rack.post(&format!("{POOLS}/{pool}/ranges/add"), range(first, last)).await;
        reply.refused_about(400, &format!("it has {kind} addresses"));
    }
    assert_eq!(rack.all(&format!("{POOLS}/four/ranges")).await.len(), 1);
    let next_to = [("four", "169.253.0.0", "169.253.255.255"), ("six", "fec0::", "fec0::9")];
    for (pool, first, last) in next_to {
        let path = format!("{POOLS}/{pool}/ranges/add");
        rack.post(&path, range(first, last)).await.expect(201);
    }
}

#[tokio::test]
async fn a_range_in_use_stays() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    rack.pool("p", "10.1.0.0", "10.1.0.9").await;
    let explicit = json!({"address_allocator": {"type": "explicit", "ip": "10.1.0.7"}});
    rack.floating_ip_with("demo", "f", explicit).await;
    let remove = format!("{POOLS}/p/ranges/remove");
    rack.post(&remove, range("10.1.0.0", "10.1.0.8"))
        .await
        .refused(400, "The provided range 10.1.0.0-10.1.0.8 does not exist");
    let reply = rack.post(&remove, range("10.1.0.0", "10.1.0.9")).await;
    assert!(reply.body["message"].as_str().is_some_and(|m| m.contains("10.1.0.7")), "which?");
    reply.refused_about(
        400,
        "IP pool ranges cannot be deleted while external IP addresses are allocated from them",
    );
    rack.delete(&format!("{POOLS}/p"))
        .await
        .refused(400, "IP Pool cannot be deleted while it contains IP ranges");
    rack.delete(&format!("{POOLS}/p/silos/default-silo"))
        .await
        .refused(400, "IP addresses from this pool are in use in the linked silo");
    assert_eq!(rack.addresses_in_use("p").await, 1);
    let selector = json!({"type": "explicit", "pool": "p"});
    for name in ["a", "b", "c", "d"] {
        let allocator = json!({"address_allocator": {"type": "auto", "pool_selector": selector}});
        rack.floating_ip_with("demo", name, allocator).await;
    }
    rack.post(&remove, range("10.1.0.0", "10.1.0.9")).await.refused(
        400,
        "IP pool ranges cannot be deleted while external IP addresses are allocated from them: 5 \
         in use (10.1.0.0, 10.1.0.1, 10.1.0.2, …)",
    );
    for name in ["a", "b", "c", "d", "f"] {
        rack.delete(&format!("/v1/floating-ips/{name}?project=demo")).await.expect(204);
    }
    assert_eq!(rack.addresses_in_use("p").await, 0);
    rack.post(&remove, range("10.1.0.0", "10.1.0.9")).await.expect(204);
    rack.delete(&format!("{POOLS}/p/silos/default-silo")).await.expect(204);
    // Unlinking what is not linked is what was asked for.
    rack.delete(&format!("{POOLS}/p/silos/default-silo")).await.expect(204);
    rack.delete(&format!("{POOLS}/p")).await.expect(204);
}

#[tokio::test]
async fn a_silo_sees_what_is_linked_to_it() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let body = json!({"name": "hidden", "description": ""});
    let pool = rack.post(POOLS, body).await.expect(201);
    let add = format!("{POOLS}/hidden/ranges/add");
    rack.post(&add, range("10.1.0.0", "10.1.0.9")).await.expect(201);
    let id = pool["id"].as_str().expect("an id");

    // In the same words as a pool that does not exist.
    for (name, how) in [("hidden", "name"), (id, "id")] {
        let not_found = format!("not found: ip-pool with {how} \"{name}\"");
        rack.get(&format!("/v1/ip-pools/{name}")).await.refused(404, &not_found);
        let selector = json!({"type": "explicit", "pool": name});
        let mut body = floating_ip_body("f");
        body["address_allocator"] = json!({"type": "auto", "pool_selector": selector});
        rack.post("/v1/floating-ips?project=demo", body).await.refused(404, &not_found);
    }
    let mut body = floating_ip_body("f");
    body["address_allocator"] = json!({"type": "explicit", "ip": "10.1.0.3"});
    rack.post("/v1/floating-ips?project=demo", body.clone())
        .await
        .refused(400, "IP address 10.1.0.3 is not in any configured pool");

    let linked = rack.post(&format!("{POOLS}/hidden/silos"), link(false)).await.expect(201);
    assert_eq!((&linked["ip_pool_id"], &linked["is_default"]), (&pool["id"], &json!(false)));
    let seen = rack.get("/v1/ip-pools/hidden").await.expect(200);
    assert_eq!((&seen["id"], &seen["is_default"]), (&pool["id"], &json!(false)));
    rack.post("/v1/floating-ips?project=demo", body).await.expect(201);
}

#[tokio::test]
async fn a_silo_has_one_default_of_each_version() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    rack.pool("other", "10.1.0.0", "10.1.0.9").await;
    let silo = rack.get("/v1/system/silos/default-silo").await.expect(200);
    let pool = rack.get(&format!("{POOLS}/other")).await.expect(200);
    let text = |view: &Value| view["id"].as_str().expect("an id").to_string();
    rack.post(&format!("{POOLS}/other/silos"), link(false)).await.refused(
        400,
        &format!(
            "already exists: ip-pool-resource \"ip_pool_id: {}, resource_id: {}, resource_type: \
             Silo\"",
            text(&pool),
            text(&silo)
        ),
    );
    // The old default is demoted in the same step.
    let path = format!("{POOLS}/other/silos/default-silo");
    let updated = rack.put(&path, json!({"is_default": true})).await.expect(200);
    assert_eq!(updated["is_default"], true);
    let defaults: Vec<_> = rack
        .all("/v1/ip-pools")
        .await
        .into_iter()
        .filter(|pool| pool["is_default"] == true)
        .map(|pool| pool["name"].clone())
        .collect();
    assert_eq!(defaults, ["default-v6", "other"]);
    assert_eq!(rack.floating_ip("demo", "f").await["ip"], "10.1.0.0");
    rack.put(&format!("{POOLS}/default/silos/nowhere"), json!({"is_default": true}))
        .await
        .refused(404, "not found: silo with name \"nowhere\"");
}

#[tokio::test]
async fn the_version_that_was_asked_for_is_made() {
    let rack = TestRack::start().await;
    for (name, asked, made) in
        [("a", json!("v6"), "v6"), ("b", json!("v4"), "v4"), ("c", Value::Null, "v4")]
    {
        let mut body = json!({"name": name, "description": ""});
        if !asked.is_null() {
            body["ip_version"] = asked;
        }
        assert_eq!(rack.post(POOLS, body).await.expect(201)["ip_version"], made);
    }
    rack.post(&format!("{POOLS}/a/ranges/add"), range("10.1.0.0", "10.1.0.1"))
        .await
        .refused_about(400, "Cannot add IPv4 address range to IPv6 pool");
}

/// A listing shows each item once, however many links and ranges it has.
#[tokio::test]
async fn joins_do_not_multiply() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    rack.pool("p", "10.1.0.0", "10.1.0.9").await;
    for third in 1..4 {
        let address = format!("10.1.{third}.0");
        rack.post(&format!("{POOLS}/p/ranges/add"), range(&address, &address)).await.expect(201);
    }
    for n in 0..5 {
        let selector = json!({"type": "explicit", "pool": "p"});
        let allocator = json!({"address_allocator": {"type": "auto", "pool_selector": selector}});
        rack.floating_ip_with("demo", &format!("f{n}"), allocator).await;
    }
    for path in ["/v1/ip-pools", POOLS, "/v1/system/ip-pools?limit=1", "/v1/ip-pools?limit=1"] {
        let mut names: Vec<_> =
            rack.all(path).await.into_iter().map(|p| p["name"].clone()).collect();
        names.sort_by_key(Value::to_string);
        assert_eq!(names, ["default", "default-v6", "p"], "{path}");
    }
    assert_eq!(rack.all(&format!("{POOLS}/p/ranges?limit=1")).await.len(), 4);
}

/// Addresses of every kind count, a shared one once, and those of stopped instances too.
#[tokio::test]
async fn utilization_counts_addresses() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    rack.pool("p", "10.1.0.0", "10.1.0.9").await;
    rack.put(&format!("{POOLS}/p/silos/default-silo"), json!({"is_default": true}))
        .await
        .expect(200);
    let in_use = async || {
        let view = rack.get(&format!("{POOLS}/p/utilization")).await.expect(200);
        assert_eq!(view["capacity"], 10.0);
        assert_eq!(view["remaining"], 10.0 - rack.addresses_in_use("p").await as f64);
        rack.addresses_in_use("p").await
    };
    rack.floating_ip("demo", "f").await;
    assert_eq!(in_use().await, 1);
    let web = rack.stopped_instance("demo", "web").await;
    assert_eq!(in_use().await, 2, "an address for source NAT");
    rack.stopped_instance("demo", "other").await;
    assert_eq!(in_use().await, 2, "that two share");
    let ephemeral = format!("{}/external-ips/ephemeral", nexus_tests::make::instance_path(&web));
    let v4 = json!({"pool_selector": {"type": "auto", "ip_version": "v4"}});
    rack.post(&ephemeral, v4).await.expect(202);
    assert_eq!(in_use().await, 3);
    rack.delete(&ephemeral).await.expect(204);
    assert_eq!(in_use().await, 2);
    rack.floating_ip_with(
        "demo",
        "g",
        json!({"address_allocator": {"type": "auto",
        "pool_selector": {"type": "auto", "ip_version": "v6"}}}),
    )
    .await;
    let view = rack.get(&format!("{POOLS}/default-v6/utilization")).await.expect(200);
    assert_eq!(view["capacity"].as_f64(), Some(2f64.powi(64)));
}
