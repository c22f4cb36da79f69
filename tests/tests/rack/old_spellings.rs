//! A session of a client that is years old: no `api-version` header, and bodies as they were
//! spelled then. Everything it asks for must mean what it meant.

use nexus_tests::{Client, TestRack};
use serde_json::{Value, json};

const FIPS: &str = "/v1/floating-ips?project=murphy";

async fn old_client(rack: &TestRack) -> Client {
    let client = rack.without_version();
    let body = json!({"name": "murphy", "description": "an old client's project"});
    client.post("/v1/projects", body).await.expect(201);
    client
}

/// As a user of the first releases would have typed it: a disk, an address of a further pool, and
/// an instance that is created with both and with an ephemeral address.
#[tokio::test]
async fn the_first_session() {
    let rack = TestRack::start().await;
    rack.pool("lab", "192.168.20.40", "192.168.20.60").await;
    let client = old_client(&rack).await;

    let body = json!({
        "name": "bookworm-boot", "description": "a disk", "size": 1_u64 << 30,
        "disk_source": {"type": "blank", "block_size": 512},
    });
    let disk = client.post("/v1/disks?project=murphy", body).await.expect(201);
    let body = json!({"name": "floater", "description": "a floater", "address": "192.168.20.47"});
    let floater = client.post(FIPS, body).await.expect(201);
    assert_eq!(floater["ip"], "192.168.20.47");
    let body = json!({
        "name": "myinst",
        "description": "my inst",
        "hostname": "myinst",
        "memory": 1_073_741_824,
        "ncpus": 2,
        "disks": [{"type": "attach", "name": "bookworm-boot"}],
        "external_ips": [
            {"type": "ephemeral"},
            {"type": "floating", "floating_ip_name": "floater"},
        ],
    });
    let instance = client.post("/v1/instances?project=murphy", body).await.expect(201);
    rack.state_reached(&instance, "running").await;

    let path = "/v1/disks/bookworm-boot?project=murphy";
    let attached = json!({"state": "attached", "instance": instance["id"]});
    let now = client.get(path).await.expect(200);
    assert_eq!((&now["id"], &now["state"]), (&disk["id"], &attached));
    let addresses = rack.external_ips(&instance).await;
    let of_kind = |kind: &str| addresses.iter().find(|ip| ip["kind"] == kind).expect(kind);
    assert_eq!(addresses.len(), 2);
    assert_eq!(of_kind("floating")["id"], floater["id"]);
    let default = rack.get("/v1/ip-pools/default").await.expect(200);
    assert_eq!(of_kind("ephemeral")["ip_pool_id"], default["id"], "of the default pool");
    for address in &addresses {
        assert!(rack.delivers_now(address, &instance).await, "{address}");
    }
    let out = rack.outbound(&instance).await;
    assert_eq!((&out["source_ip"], &out["kind"]), (&json!("192.168.20.47"), &json!("floating")));
    rack.settled().await;
}

#[tokio::test]
async fn a_later_session() {
    let rack = TestRack::start().await;
    rack.pool("pool-b", "10.1.0.0", "10.1.0.9").await;
    let client = old_client(&rack).await;

    let body = json!({"name": "floater", "description": "a classy address", "ip": "10.1.0.7"});
    let floater = client.post(FIPS, body).await.expect(201);
    assert_eq!(floater["ip"], "10.1.0.7");
    let body = json!({
        "name": "web", "description": "", "hostname": "web", "ncpus": 1, "memory": 1_u64 << 30,
        "network_interfaces": {"type": "default"},
        "external_ips": [{"type": "ephemeral", "pool_name": "pool-b"}],
        "disks": [{
            "type": "create", "name": "root", "description": "", "size": 1_u64 << 30,
            "disk_source": {"type": "blank", "block_size": 512},
        }],
    });
    let web = client.post("/v1/instances?project=murphy", body).await.expect(201);
    rack.state_reached(&web, "running").await;

    let attach = json!({"kind": "instance", "parent": "web"});
    let path = "/v1/floating-ips/floater/attach?project=murphy";
    let attached = client.post(path, attach).await.expect(202);
    assert_eq!(attached["instance_id"], web["id"]);
    rack.delivered_to(&floater, &web).await;
    let addresses = client.get("/v1/instances/web/external-ips?project=murphy").await.expect(200);
    let mut kinds: Vec<_> = addresses["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|ip| ip["kind"].as_str().expect("a kind").to_string())
        .collect();
    kinds.sort();
    kinds.retain(|kind| kind != "snat");
    assert_eq!(kinds, ["ephemeral", "floating"]);

    let path = "/v1/instances/web/external-ips/ephemeral?project=murphy";
    client.delete(path).await.expect(204);
    let again = client.post(path, json!({"pool": "pool-b"})).await.expect(202);
    assert_eq!(again["ip"], "10.1.0.0");

    client.call("/v1/floating-ips/floater/detach?project=murphy").await.expect(202);
    rack.not_delivered(&floater).await;
    client.delete("/v1/floating-ips/floater?project=murphy").await.expect(204);
    rack.settled().await;
}

#[tokio::test]
async fn every_spelling_of_an_address() {
    let rack = TestRack::start().await;
    rack.pool("pool-b", "10.1.0.0", "10.1.0.9").await;
    let client = old_client(&rack).await;
    for (n, (spelling, ip)) in [
        (json!({"address": "10.1.0.9"}), "10.1.0.9"),
        (json!({"ip": "10.1.0.8"}), "10.1.0.8"),
        (json!({"pool": "pool-b"}), "10.1.0.0"),
        (json!({"ip": "10.1.0.7", "pool": "pool-b"}), "10.1.0.7"),
        // A client that cannot say which version gets the one it knows.
        (json!({}), "10.0.0.0"),
        (json!({"ip": null, "pool": null}), "10.0.0.1"),
        (json!({"ip_version": "v6"}), "2001:db8::"),
        (json!({"ip_version": "v4"}), "10.0.0.2"),
        (json!({"address_selector": {"type": "explicit", "ip": "10.1.0.6"}}), "10.1.0.6"),
        (json!({"address_allocator": {"type": "explicit", "ip": "10.1.0.5"}}), "10.1.0.5"),
    ]
    .into_iter()
    .enumerate()
    {
        let body = json!({"name": format!("f{n}"), "description": ""});
        let body = nexus_tests::make::with(body, spelling.clone());
        let made = client.post(FIPS, body).await.expect(201);
        assert_eq!(made["ip"], ip, "{spelling}");
    }
}

#[tokio::test]
async fn contradictions_are_refused() {
    let rack = TestRack::start().await;
    let client = old_client(&rack).await;
    for (spelling, message) in [
        (
            json!({"ip": "10.0.0.1", "ip_version": "v4"}),
            "cannot specify both `ip` and `ip_version`; the IP version is determined by the \
             explicit IP address",
        ),
        (
            json!({"pool": "default", "ip_version": "v4"}),
            "cannot specify both `pool` and `ip_version`; `ip_version` is only used when \
             allocating from the default pool",
        ),
        (
            json!({"address": "10.0.0.1", "ip": "10.0.0.2"}),
            "cannot specify both `address` and `ip`",
        ),
        (
            json!({"ip": "10.0.0.1", "address_allocator": {"type": "auto"}}),
            "cannot specify both `ip` and `address_allocator`",
        ),
    ] {
        let body = json!({"name": "f", "description": ""});
        let body = nexus_tests::make::with(body, spelling);
        client.post(FIPS, body).await.refused_about(400, message);
    }
    for (external_ip, message) in [
        (
            json!({"type": "ephemeral", "pool": "default", "ip_version": "v4"}),
            "cannot specify both `pool` and `ip_version`",
        ),
        (
            json!({"type": "floating", "floating_ip_name": "f", "floating_ip": "g"}),
            "cannot specify both `floating_ip_name` and `floating_ip`",
        ),
    ] {
        let mut body = nexus_tests::make::instance_body("web");
        body["external_ips"] = json!([external_ip]);
        client.post("/v1/instances?project=murphy", body).await.refused_about(400, message);
    }
    // The pool that is named must be the address's own.
    rack.pool("pool-b", "10.1.0.0", "10.1.0.9").await;
    let body = json!({"name": "f", "description": "", "ip": "10.0.0.1", "pool": "pool-b"});
    client.post(FIPS, body).await.refused_about(400, "pool-b");
    assert_eq!(rack.all(FIPS).await, Vec::<Value>::new());
}
