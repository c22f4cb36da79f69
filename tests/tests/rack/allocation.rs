//! Which address is given, and what shares one.

use nexus_tests::make::{instance_path, with};
use nexus_tests::sim::ip_of;
use nexus_tests::{Client, Reply, TestRack};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::IpAddr;

async fn make_default(rack: &TestRack, pool: &str) {
    let path = format!("/v1/system/ip-pools/{pool}/silos/default-silo");
    rack.put(&path, json!({"is_default": true})).await.expect(200);
}

async fn rack() -> TestRack {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    rack
}

/// Makes a stopped instance with these external addresses.
async fn instance(client: &Client, name: &str, external_ips: Value) -> Reply {
    let body = with(
        nexus_tests::make::instance_body(name),
        json!({"start": false, "external_ips": external_ips}),
    );
    client.post("/v1/instances?project=demo", body).await
}

/// An address and the ports of it that an instance or a floating IP has.
type Holding = (IpAddr, u64, u64);

async fn holdings(rack: &TestRack) -> Vec<Holding> {
    let mut held = Vec::new();
    for instance in rack.all("/v1/instances?project=demo").await {
        for ip in rack.external_ips_and_snat(&instance).await {
            let ports = |field: &str, all: u64| ip[field].as_u64().unwrap_or(all);
            held.push((ip_of(&ip), ports("first_port", 0), ports("last_port", 65535)));
        }
    }
    for fip in rack.all("/v1/floating-ips?project=demo").await {
        if fip["instance_id"].is_null() {
            held.push((ip_of(&fip), 0, 65535));
        }
    }
    held
}

fn assert_apart(held: &[Holding]) {
    for (n, (ip, first, last)) in held.iter().enumerate() {
        for (other, other_first, other_last) in &held[..n] {
            assert!(
                ip != other || last < other_first || other_last < first,
                "{ip} {first}-{last} and {other_first}-{other_last}"
            );
        }
    }
}

/// Source NAT and whole addresses come and go in a pool of three, and are never mixed up.
#[tokio::test]
async fn blocks_of_ports_and_whole_addresses_keep_apart() {
    let rack = rack().await;
    rack.pool("tiny", "10.1.0.0", "10.1.0.2").await;
    make_default(&rack, "tiny").await;
    // A fixed sequence of what looks like chance.
    let mut chance: u32 = 7;
    let mut next = |below: u32| {
        chance = chance.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        (chance >> 16) % below
    };
    let mut refused = 0;
    for n in 0..60 {
        let reply = match next(4) {
            0 => instance(&rack, &format!("i{n}"), json!([])).await,
            1 => {
                let own = json!([{"type": "ephemeral", "pool_selector": {"type": "auto", "ip_version": "v4"}}]);
                instance(&rack, &format!("i{n}"), own).await
            }
            2 => {
                let allocator =
                    json!({"type": "auto", "pool_selector": {"type": "auto", "ip_version": "v4"}});
                let body = json!({"name": format!("f{n}"), "description": "", "address_allocator": allocator});
                rack.post("/v1/floating-ips?project=demo", body).await
            }
            _ => {
                let mut paths: Vec<_> = rack
                    .all("/v1/instances?project=demo")
                    .await
                    .iter()
                    .map(instance_path)
                    .collect();
                let fips = rack.all("/v1/floating-ips?project=demo").await;
                paths.extend(
                    fips.iter().map(|fip| {
                        format!("/v1/floating-ips/{}", fip["id"].as_str().expect("an id"))
                    }),
                );
                if !paths.is_empty() {
                    rack.delete(&paths[next(paths.len() as u32) as usize]).await.expect(204);
                }
                continue;
            }
        };
        if reply.one_of(&[201, 507]) == 507 {
            refused += 1;
        }
        let held = holdings(&rack).await;
        assert_apart(&held);
        let addresses: BTreeSet<_> = held.iter().map(|(ip, ..)| *ip).collect();
        assert_eq!(rack.addresses_in_use("tiny").await, addresses.len() as u64);
        assert!(held.iter().all(|(_, first, last)| {
            (*first, *last) == (0, 65535) || (first % 16384, last - first) == (0, 16383)
        }));
    }
    assert!(refused > 0, "the pool was never full");
    rack.settled().await;
}

/// An instance that brings an address of another pool does without source NAT when the default
/// pool is exhausted, and gets it at its next start when it can be had.
#[tokio::test]
async fn an_address_of_another_pool_will_do() {
    let rack = rack().await;
    rack.pool("tiny", "10.1.0.0", "10.1.0.0").await;
    rack.pool("other", "10.2.0.0", "10.2.0.9").await;
    make_default(&rack, "tiny").await;
    let last = rack
        .floating_ip_with(
            "demo",
            "last",
            json!({"address_allocator": {"type": "explicit", "ip": "10.1.0.0"}}),
        )
        .await;
    instance(&rack, "bare", json!([])).await.refused(
        507,
        "Insufficient capacity: No external IP addresses available: source NAT needs an address \
         from pool 'tiny'",
    );
    let of_other =
        json!([{"type": "ephemeral", "pool_selector": {"type": "explicit", "pool": "other"}}]);
    let web = instance(&rack, "web", of_other).await.expect(201);
    let has = rack.external_ips_and_snat(&web).await;
    assert_eq!((has.len(), &has[0]["ip"]), (1, &json!("10.2.0.0")));
    // It tells which pool its address is of.
    let pool = rack.get("/v1/ip-pools/other").await.expect(200);
    assert_eq!(has[0]["ip_pool_id"], pool["id"]);
    rack.start_instance(&web).await;
    rack.stop_instance(&web).await;
    let path = format!("/v1/floating-ips/{}", last["id"].as_str().expect("an id"));
    rack.delete(&path).await.expect(204);
    rack.start_instance(&web).await;
    let has = rack.external_ips_and_snat(&web).await;
    assert!(has.iter().any(|ip| ip["kind"] == "snat" && ip["ip"] == "10.1.0.0"), "{has:?}");
    rack.settled().await;
}

/// What was had from a pool stays, when another one becomes the default.
#[tokio::test]
async fn another_default_pool_changes_nothing_that_is() {
    let rack = rack().await;
    let web = rack.running_instance("demo", "web").await;
    let ephemeral = format!("{}/external-ips/ephemeral", instance_path(&web));
    let v4 = json!({"pool_selector": {"type": "auto", "ip_version": "v4"}});
    let ip = rack.post(&ephemeral, v4.clone()).await.expect(202);
    rack.pool("second", "10.2.0.0", "10.2.0.9").await;
    make_default(&rack, "second").await;
    let before = rack.external_ips_and_snat(&web).await;
    for _ in 0..2 {
        rack.stop_instance(&web).await;
        rack.start_instance(&web).await;
        let packets = rack.inbound(ip_of(&ip), 22).await;
        assert!(packets.iter().all(|packet| packet["delivered"] == true), "{packets:?}");
    }
    rack.instance_do("reboot", &web).await;
    rack.state_reached(&web, "running").await;
    assert_eq!(rack.external_ips_and_snat(&web).await, before);
    // Asking again is asking for what is there.
    assert_eq!(rack.post(&ephemeral, v4).await.expect(202)["ip"], ip["ip"]);
    let fip = rack.floating_ip("demo", "new").await;
    assert!(ip_of(&fip).to_string().starts_with("10.2.0."), "{fip}");
    rack.settled().await;
}
