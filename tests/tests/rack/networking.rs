//! The private network of instances.

use nexus_tests::TestRack;
use serde_json::{Value, json};
use std::collections::HashSet;

#[tokio::test]
async fn an_instance_has_an_interface_in_the_default_subnet() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let mut addresses = Vec::new();
    let mut macs = HashSet::new();
    for name in ["a", "b"] {
        let instance = rack.stopped_instance("demo", name).await;
        let path = format!("/v1/network-interfaces?instance={name}&project=demo");
        let nics = rack.all(&path).await;
        let nic = nics.first().expect("one interface");
        assert_eq!((nics.len(), &nic["name"]), (1, &json!("net0")));
        assert_eq!(nic["description"], format!("default primary interface for {name}"));
        assert_eq!((&nic["primary"], &nic["instance_id"]), (&json!(true), &instance["id"]));
        assert_eq!(nic["ip_stack"]["type"], "dual_stack");
        addresses.push(nic["ip_stack"]["value"]["v4"]["ip"].clone());
        let mac = nic["mac"].as_str().expect("a MAC address");
        assert!(mac.starts_with("A8:40:25:F"), "{mac}");
        assert!(macs.insert(mac.to_string()));
        let id = nic["id"].as_str().expect("an id");
        let by_id = rack.get(&format!("/v1/network-interfaces/{id}")).await.expect(200);
        assert_eq!(by_id, *nic);
    }
    // The first five addresses of a subnet are reserved.
    assert_eq!(addresses, ["172.30.0.5", "172.30.0.6"]);
}

#[tokio::test]
async fn stacks_are_as_asked() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    for (kind, stack, snat) in [
        ("default_ipv4", "v4", 1),
        ("default_ipv6", "v6", 0),
        ("default_dual_stack", "dual_stack", 1),
    ] {
        let name = kind.replace('_', "-");
        let changes = json!({"network_interfaces": {"type": kind}, "start": false});
        let instance = rack.instance_with("demo", &name, changes).await;
        let path = format!("/v1/network-interfaces?instance={name}&project=demo");
        assert_eq!(rack.all(&path).await[0]["ip_stack"]["type"], stack);
        assert_eq!(rack.external_ips_and_snat(&instance).await.len(), snat, "{kind}");
    }
}

/// Each project has a network of its own; the same private address may be in many.
#[tokio::test]
async fn networks_are_apart() {
    let rack = TestRack::start().await;
    let mut prefixes = HashSet::new();
    for project in ["a", "b"] {
        rack.project(project).await;
        rack.running_instance(project, "web").await;
        let vpc = rack.get(&format!("/v1/vpcs/default?project={project}")).await.expect(200);
        assert!(prefixes.insert(vpc["ipv6_prefix"].to_string()));
    }
    let mut vnis = HashSet::new();
    for sled in rack.sleds() {
        for port in sled.state().await["ports"].as_array().expect("ports") {
            assert_eq!(port["ip"], "172.30.0.5");
            assert!(vnis.insert(port["vni"].to_string()), "a virtual network of its own");
        }
    }
    assert_eq!(vnis.len(), 2);
}

/// Every sled is told where the machines of a network are.
#[tokio::test]
async fn machines_of_a_network_find_each_other() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let web = rack.running_instance("demo", "web").await;
    let vmm = rack.vmm_of(&web).await.expect("it runs");
    nexus_tests::eventually("every sled knows the machine's address", async || {
        let mut missing = Vec::new();
        for (index, sled) in rack.sleds().iter().enumerate() {
            let state = sled.state().await;
            let host = format!("fd00:1122:3344:{:x}::1", 0x101 + vmm.sled);
            let knows = |entry: &Value| {
                entry["virtual_ip"] == "172.30.0.5" && entry["physical_host_ip"] == host.as_str()
            };
            if !state["v2p"].as_array().expect("mappings").iter().any(knows) {
                missing.push((index, state["v2p"].clone()));
            }
        }
        if missing.is_empty() { Ok(()) } else { Err(missing) }
    })
    .await;
}

/// A name is looked up in its parents, an id needs none.
#[tokio::test]
async fn networks_are_found_by_name_and_by_id() {
    let rack = TestRack::start().await;
    let project = rack.project("demo").await;
    rack.stopped_instance("demo", "web").await;
    let vpc = rack.get("/v1/vpcs/default?project=demo").await.expect(200);
    let id = |view: &Value| view["id"].as_str().expect("an id").to_string();
    assert_eq!(vpc["project_id"], project["id"]);
    assert_eq!(rack.get(&format!("/v1/vpcs/{}", id(&vpc))).await.expect(200), vpc);
    let vpc_id = id(&vpc);
    rack.get(&format!("/v1/vpcs/{vpc_id}?project=demo"))
        .await
        .refused(400, "when providing vpc as an ID, project should not be specified");
    rack.get("/v1/vpcs/default")
        .await
        .refused(400, "vpc should either be an ID or project should be specified");

    let subnets = rack.all(&format!("/v1/vpc-subnets?vpc={vpc_id}")).await;
    let subnet = subnets.first().expect("the default subnet");
    let by_name = "/v1/vpc-subnets/default?vpc=default&project=demo";
    assert_eq!(rack.get(by_name).await.expect(200), *subnet);
    let by_id = format!("/v1/vpc-subnets/{}", id(subnet));
    assert_eq!(rack.get(&by_id).await.expect(200), *subnet);
    rack.get(&format!("{by_id}?vpc=default&project=demo"))
        .await
        .refused(400, "when providing subnet as an ID, vpc and project should not be specified");
    rack.get("/v1/vpc-subnets/default")
        .await
        .refused(400, "subnet should either be an ID or vpc should be specified");

    let by_name = "/v1/network-interfaces/net0?instance=web&project=demo";
    let nic = rack.get(by_name).await.expect(200);
    assert_eq!((&nic["vpc_id"], &nic["subnet_id"]), (&vpc["id"], &subnet["id"]));
    rack.get("/v1/network-interfaces/net0")
        .await
        .refused(400, "network_interface should either be a UUID or instance should be specified");
    rack.get(&format!("/v1/network-interfaces/{}?instance=web&project=demo", id(&nic)))
        .await
        .refused(
            400,
            "when providing network_interface as an id instance and project should not be \
             specified",
        );
}
