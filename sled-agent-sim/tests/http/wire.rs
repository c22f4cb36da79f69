//! What a sled agent answers and refuses.

use crate::nexus::Nexus;
use crate::sled::{Sled, body, ephemeral, floating, refusal};
use serde_json::json;
use sled_agent_client::types::{
    InstanceMigrationTargetParams, VirtualNetworkInterfaceHost, VmmPutStateBody, VmmStateRequested,
};
use uuid::Uuid;

const VMM: Uuid = Uuid::from_u128(1);

#[tokio::test]
async fn external_addresses_come_and_go() {
    let nexus = Nexus::start();
    let sled = Sled::start(1, &nexus, vec![]).await;
    sled.run(VMM, &nexus).await;
    let client = &sled.client;
    for ip in [floating("10.0.0.9"), floating("10.0.0.7"), ephemeral("10.0.0.8")] {
        for _ in 0..2 {
            client.vmm_put_external_ip(&VMM, &ip).await.expect("room");
        }
    }
    let other = client.vmm_put_external_ip(&VMM, &ephemeral("10.0.0.10")).await;
    assert_eq!(refusal(other).0, 500);
    let ports = sled.get("/sim/state").await["ports"].clone();
    let port = json!([{
        "vmm_id": VMM, "nic_id": Uuid::from_u128(8), "ip": "172.30.0.5", "ips": ["172.30.0.5"],
        "mac": "A8:40:25:F0:00:01", "vni": 1024, "primary": true,
        "external_ips": {
            "floating": ["10.0.0.7", "10.0.0.9"], "ephemeral": ["10.0.0.8"],
            "snat": [{"ip": "10.0.0.1", "first_port": 16384, "last_port": 32767}]
        }
    }]);
    assert_eq!(ports, port);
    for ip in [floating("10.0.0.9"), floating("10.0.0.9"), ephemeral("10.0.0.10")] {
        client.vmm_delete_external_ip(&VMM, &ip).await.expect("absent is no error");
    }
    let external_ips = &sled.get("/sim/state").await["ports"][0]["external_ips"];
    assert_eq!(external_ips["floating"], json!(["10.0.0.7"]));
    assert_eq!(external_ips["ephemeral"], json!(["10.0.0.8"]));
}

#[tokio::test]
async fn a_vmm_that_is_not_there_is_refused_in_several_ways() {
    let nexus = Nexus::start();
    let sled = Sled::start(1, &nexus, vec![]).await;
    let client = &sled.client;
    let put = |state| VmmPutStateBody { state };
    let gone = (404, Some("NO_SUCH_INSTANCE".to_string()));
    for wanted in [VmmStateRequested::Stopped, VmmStateRequested::Reboot] {
        assert_eq!(refusal(client.vmm_put_state(&VMM, &put(wanted)).await), gone);
    }
    assert_eq!(refusal(client.vmm_get_state(&VMM).await), gone);
    let params = InstanceMigrationTargetParams { src_propolis_addr: sled.addr() };
    for wanted in [VmmStateRequested::Running, VmmStateRequested::MigrationTarget(params)] {
        let answer = client.vmm_put_state(&VMM, &put(wanted)).await.expect("an answer");
        assert_eq!(answer.into_inner().updated_runtime, None);
    }
    let ip = floating("10.0.0.7");
    assert_eq!(
        refusal(client.vmm_put_external_ip(&VMM, &ip).await),
        (500, Some("Internal".into()))
    );
    assert_eq!(refusal(client.vmm_delete_external_ip(&VMM, &ip).await).0, 500);

    client.vmm_register(&VMM, &body(sled.addr(), None)).await.expect("a VMM");
    let mut other = body(sled.addr(), None);
    other.instance_id = VMM;
    assert_eq!(refusal(client.vmm_register(&VMM, &other).await).0, 500);
}

#[tokio::test]
async fn v2p_mappings_are_kept_one_for_each_address() {
    let nexus = Nexus::start();
    let sled = Sled::start(1, &nexus, vec![]).await;
    let mapping = |host: &str| -> VirtualNetworkInterfaceHost {
        let json = json!({
            "virtual_ip": "172.30.0.5", "virtual_mac": "A8:40:25:F0:00:01",
            "physical_host_ip": host, "vni": 1024
        });
        serde_json::from_value(json).expect("a mapping")
    };
    sled.client.set_v2p(&mapping("fd00:1::1")).await.expect("a mapping");
    sled.client.set_v2p(&mapping("fd00:2::1")).await.expect("another one");
    let list = sled.client.list_v2p().await.expect("a list").into_inner();
    assert_eq!(list, [mapping("fd00:2::1")]);
    // The real agent has a slash at the end of the path.
    let url = format!("{}/v2p/", sled.simulator.url());
    let request = sled.http.get(url).header("api-version", "48.0.0");
    assert_eq!(request.send().await.expect("an answer").status(), 200);
    for _ in 0..2 {
        sled.client.del_v2p(&mapping("fd00:2::1")).await.expect("absent is no error");
    }
    assert_eq!(sled.get("/sim/state").await["v2p"], json!([]));
}

#[tokio::test]
async fn what_a_sled_is_told_of_the_networks_is_shown() {
    let nexus = Nexus::start();
    let sled = Sled::start(1, &nexus, vec![]).await;
    sled.run(VMM, &nexus).await;
    let routes = sled.client.list_vpc_routes().await.expect("a list").into_inner();
    assert_eq!(routes.len(), 2, "the VPC's router and the subnet's");
    let set =
        json!([{"id": routes[0].id, "version": {"router_id": VMM, "version": 3}, "routes": []}]);
    let set: Vec<_> = serde_json::from_value(set).expect("routes");
    sled.client.set_vpc_routes(&set).await.expect("routes");
    let routes = sled.client.list_vpc_routes().await.expect("a list").into_inner();
    assert_eq!(routes[0].version.as_ref().map(|version| version.version), Some(3));

    let gateways = json!({"mappings": {(VMM.to_string()): {"10.0.0.7": [VMM]}}});
    let map = serde_json::from_value(gateways.clone()).expect("gateways");
    sled.client.set_eip_gateways(&map).await.expect("gateways");
    let rule = json!({
        "status": "enabled", "direction": "inbound", "targets": [], "filter_hosts": null,
        "filter_ports": ["80", "8000-8080"], "filter_protocols": [{"type": "tcp"}],
        "action": "allow", "priority": 1
    });
    let rules = json!({"vni": 1024, "rules": [rule]});
    let body = serde_json::from_value(rules.clone()).expect("rules");
    sled.client.vpc_firewall_rules_put(&VMM, &body).await.expect("rules");
    let state = sled.get("/sim/state").await;
    assert_eq!(state["eip_gateways"], gateways);
    assert_eq!(state["firewalls"], json!({(VMM.to_string()): rules}));
    let identifiers = sled.client.sled_identifiers().await.expect("identifiers").into_inner();
    assert_eq!(identifiers.sled_id, sled.id);
}

#[tokio::test]
async fn the_versions_with_these_shapes_are_served() {
    let nexus = Nexus::start();
    let sled = Sled::start(1, &nexus, vec![]).await;
    let url = format!("{}/sled-identifiers", sled.simulator.url());
    for (version, status) in
        [("43.0.0", 400), ("44.0.0", 200), ("48.0.0", 200), ("49.0.0", 400), ("new", 400)]
    {
        let request = sled.http.get(&url).header("api-version", version);
        assert_eq!(request.send().await.expect("an answer").status(), status, "{version}");
    }
    assert_eq!(sled.http.get(&url).send().await.expect("an answer").status(), 400);
}
