//! The way of a packet through a switch and a sled, and back.

use crate::nexus::Nexus;
use crate::sled::{MAC, NIC_IP, Sled, ephemeral, floating, timeouts};
use dpd_sim::config::{NatConfig, SledConfig};
use serde_json::{Value, json};
use slog::{Logger, o};
use std::net::Ipv4Addr;
use uuid::Uuid;

const VMM: Uuid = Uuid::from_u128(1);

#[tokio::test]
async fn a_packet_needs_the_switch_and_the_port() {
    let nexus = Nexus::start();
    let sled = Sled::start(1, &nexus, vec![]).await;
    sled.run(VMM, &nexus).await;
    let peer = sled.as_peer();
    let config = dpd_sim::config::Config {
        bind: "127.0.0.1:0".parse().expect("an address"),
        sim_bind: "127.0.0.1:0".parse().expect("an address"),
        slot: "switch0".to_string(),
        nexus: vec![],
        nat: NatConfig::default(),
        sleds: vec![SledConfig { underlay: peer.underlay, sim_url: peer.sim_url }],
        log: Default::default(),
    };
    let switch = dpd_sim::start(config, Logger::root(slog::Discard, o!())).await.expect("a switch");
    let dpd = dpd_client::client(&switch.url(), timeouts()).expect("a client");
    let inbound = async |ip: &str, port: u16| -> Value {
        let url = format!("{}/sim/inbound", switch.sim_url());
        let request = sled.http.post(url).json(&json!({"ip": ip, "port": port}));
        request.send().await.expect("an answer").json().await.expect("JSON")
    };
    let dropped = |reason: &str| json!({"delivered": false, "reason": reason});
    let target = |mac: &str| -> dpd_client::types::NatTarget {
        let mac: nexus_common::MacAddr = mac.parse().expect("a MAC address");
        serde_json::from_value(json!({
            "internal_ip": peer.underlay, "inner_mac": {"a": mac.bytes()}, "vni": 1024
        }))
        .expect("a target")
    };

    assert_eq!(inbound("10.0.0.7", 22).await, dropped("no-nat-entry"));
    let address = Ipv4Addr::new(10, 0, 0, 7);
    dpd.nat_ipv4_create(&address, 0, 65535, &target(MAC)).await.expect("a mapping");
    assert_eq!(inbound("10.0.0.7", 22).await, dropped("port-refuses-ip"));
    sled.client.vmm_put_external_ip(&VMM, &floating("10.0.0.7")).await.expect("room");
    let delivered = json!({"delivered": true, "sled_id": sled.id, "vmm_id": VMM, "nic_ip": NIC_IP});
    assert_eq!(inbound("10.0.0.7", 22).await, delivered);

    // Source NAT: the port's block only.
    let snat = Ipv4Addr::new(10, 0, 0, 1);
    dpd.nat_ipv4_create(&snat, 0, 65535, &target(MAC)).await.expect("a mapping");
    assert_eq!(inbound("10.0.0.1", 16384).await, delivered);
    assert_eq!(inbound("10.0.0.1", 16383).await, dropped("port-refuses-ip"));

    let address = Ipv4Addr::new(10, 0, 0, 8);
    let other = target("A8:40:25:F0:00:09");
    dpd.nat_ipv4_create(&address, 0, 65535, &other).await.expect("a mapping");
    assert_eq!(inbound("10.0.0.8", 22).await, dropped("no-port"));

    sled.crash(VMM).await;
    assert_eq!(inbound("10.0.0.7", 22).await, dropped("no-port"));
}

#[tokio::test]
async fn packets_leave_from_the_best_address_that_there_is() {
    let nexus = Nexus::start();
    let sled = Sled::start(1, &nexus, vec![]).await;
    let outbound = async |dst: &str| {
        sled.post("/sim/outbound", json!({"vmm_id": VMM, "dst": dst, "port": 40000})).await
    };
    let dropped = |reason: &str| json!({"dropped": true, "reason": reason});
    assert_eq!(outbound("203.0.113.9").await, dropped("no-vmm"));
    sled.run(VMM, &nexus).await;
    assert_eq!(outbound("2001:db8::9").await, dropped("no-external-ip"));
    let snat = json!({"source_ip": "10.0.0.1", "kind": "snat", "source_port": 23616});
    assert_eq!(outbound("203.0.113.9").await, snat);
    for (ip, kind) in [(ephemeral("10.0.0.8"), "ephemeral"), (floating("10.0.0.7"), "floating")] {
        sled.client.vmm_put_external_ip(&VMM, &ip).await.expect("room");
        let source = outbound("203.0.113.9").await;
        assert_eq!(source["kind"], kind);
        assert_eq!(source["source_port"], 40000);
    }
}
