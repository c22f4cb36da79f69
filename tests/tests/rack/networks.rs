//! Networks that their owners change: VPCs, subnets, network interfaces.

use nexus_tests::make::{instance_path, with};
use nexus_tests::sim::ip_of;
use nexus_tests::{Client, Reply, TestRack};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const VPCS: &str = "/v1/vpcs?project=demo";
const SUBNETS: &str = "/v1/vpc-subnets?project=demo&vpc=default";

fn named(name: &str) -> Value {
    json!({"name": name, "description": "", "dns_name": name})
}

fn subnet_body(name: &str, block: &str) -> Value {
    json!({"name": name, "description": "", "ipv4_block": block})
}

fn nic_body(name: &str, subnet: &str) -> Value {
    json!({"name": name, "description": "", "vpc_name": "default", "subnet_name": subnet})
}

/// Where the interfaces of the instance `web` are.
fn nics(rest: &str) -> String {
    format!("/v1/network-interfaces{rest}?project=demo&instance=web")
}

async fn add_nic(client: &Client, body: Value) -> Reply {
    client.post(&nics(""), body).await
}

/// A rack with a project, two more subnets, and a stopped instance.
async fn furnish() -> (TestRack, Value) {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    for (name, block) in [("one", "10.1.0.0/24"), ("two", "10.2.0.0/24")] {
        rack.post(SUBNETS, subnet_body(name, block)).await.expect(201);
    }
    let web = rack.stopped_instance("demo", "web").await;
    (rack, web)
}

#[tokio::test]
async fn vpcs_come_and_go() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let vpc = rack.post(VPCS, named("lab")).await.expect(201);
    let prefix = vpc["ipv6_prefix"].as_str().expect("a prefix");
    assert!(prefix.starts_with("fd") && prefix.ends_with("::/48"), "{prefix}");
    rack.post(VPCS, named("lab")).await.refused(400, "already exists: vpc \"lab\"");
    let subnets = rack.all("/v1/vpc-subnets?project=demo&vpc=lab").await;
    assert_eq!((subnets.len(), &subnets[0]["name"]), (1, &json!("default")));
    assert_eq!(subnets[0]["description"], "The default subnet for lab");
    assert_eq!(subnets[0]["ipv4_block"], "172.30.0.0/22");

    let path = "/v1/vpcs/lab?project=demo";
    let changed = json!({"name": "lab2", "dns_name": "lab-two"});
    let changed = rack.put(path, changed).await.expect(200);
    assert_eq!((&changed["name"], &changed["dns_name"]), (&json!("lab2"), &json!("lab-two")));
    assert_eq!((&changed["id"], &changed["description"]), (&vpc["id"], &json!("")));
    let path = "/v1/vpcs/lab2?project=demo";
    rack.put(path, json!({"name": "default"}))
        .await
        .refused(400, "already exists: vpc \"default\"");
    rack.delete(path).await.refused(400, "VPC cannot be deleted while VPC Subnets exist");
    rack.delete("/v1/vpc-subnets/default?project=demo&vpc=lab2").await.expect(204);
    rack.delete(path).await.expect(204);
    rack.get(path).await.refused(404, "not found: vpc with name \"lab2\"");

    let bare = with(named("bare"), json!({"defaults": {}, "ipv6_prefix": "fd00:1:2::/48"}));
    assert_eq!(rack.post(VPCS, bare).await.expect(201)["ipv6_prefix"], "fd00:1:2::/48");
    assert_eq!(rack.all("/v1/vpc-subnets?project=demo&vpc=bare").await.len(), 0);
    // Addresses come from the VPC's prefix, the lowest /64 first.
    let subnets = "/v1/vpc-subnets?project=demo&vpc=bare";
    let first = rack.post(subnets, subnet_body("a", "10.0.0.0/24")).await.expect(201);
    assert_eq!(first["ipv6_block"], "fd00:1:2::/64");
    let wrong = with(named("wrong"), json!({"ipv6_prefix": "2001:db8::/48"}));
    rack.post(VPCS, wrong).await.refused(
        400,
        "VPC IPv6 address prefixes must be in the Unique Local Address range `fd00::/48` \
         (RFD 4193)",
    );
    rack.delete("/v1/projects/demo")
        .await
        .refused(400, "project to be deleted contains a vpc: bare");
}

/// The VPC that came with a project goes with it.
#[tokio::test]
async fn a_project_takes_its_default_vpc_along() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    rack.post(SUBNETS, subnet_body("one", "10.1.0.0/24")).await.expect(201);
    rack.delete("/v1/projects/demo").await.expect(204);
    rack.project("demo").await;
    rack.delete("/v1/vpc-subnets/default?project=demo&vpc=default").await.expect(204);
    rack.delete("/v1/vpcs/default?project=demo").await.expect(204);
    rack.delete("/v1/projects/demo").await.expect(204);
}

#[tokio::test]
async fn subnets_do_not_overlap() {
    let (rack, _) = furnish().await;
    for (block, message) in [
        ("10.1.0.0/25", "IP address range '10.1.0.0/25' conflicts with an existing subnet"),
        ("10.0.0.0/8", "IP address range '10.0.0.0/8' conflicts with an existing subnet"),
        ("8.8.8.0/24", "VPC Subnet IPv4 address ranges must be from a private range"),
        (
            "10.3.0.0/27",
            "VPC Subnet IPv4 address ranges must have prefix length between 8 and 26, inclusive",
        ),
    ] {
        rack.post(SUBNETS, subnet_body("three", block)).await.refused(400, message);
    }
    let taken = rack.get("/v1/vpc-subnets/one?project=demo&vpc=default").await.expect(200);
    let block = taken["ipv6_block"].as_str().expect("a block");
    let body = with(subnet_body("three", "10.3.0.0/24"), json!({"ipv6_block": block}));
    let message = format!("IP address range '{block}' conflicts with an existing subnet");
    rack.post(SUBNETS, body).await.refused(400, &message);
    let body = with(subnet_body("three", "10.3.0.0/24"), json!({"custom_router": "r"}));
    rack.post(SUBNETS, body).await.refused(404, "not found: vpc-router with name \"r\"");

    let path = "/v1/vpc-subnets/one?project=demo&vpc=default";
    let renamed = rack.put(path, json!({"name": "uno"})).await.expect(200);
    assert_eq!((&renamed["name"], &renamed["id"]), (&json!("uno"), &taken["id"]));
    rack.get(path).await.refused(404, "not found: vpc-subnet with name \"one\"");
    rack.put("/v1/vpc-subnets/uno?project=demo&vpc=default", json!({"name": "two"}))
        .await
        .refused(400, "already exists: vpc-subnet \"two\"");
    rack.delete("/v1/vpc-subnets/default?project=demo&vpc=default")
        .await
        .refused(400, "VPC Subnet cannot be deleted while network interfaces in the subnet exist");
}

/// Many interfaces of one name are on pages of any size, each once.
#[tokio::test]
async fn the_interfaces_of_a_subnet_are_listed() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let mut ids = BTreeSet::new();
    for n in 0..7 {
        let instance = rack.stopped_instance("demo", &format!("web{n}")).await;
        let path = format!("/v1/network-interfaces?project=demo&instance=web{n}");
        let nic = rack.all(&path).await.remove(0);
        assert_eq!(nic["instance_id"], instance["id"]);
        ids.insert(nic["id"].to_string());
    }
    let path = "/v1/vpc-subnets/default/network-interfaces?project=demo&vpc=default";
    for order in ["name_ascending", "name_descending", "id_ascending"] {
        for limit in [1, 3, 100] {
            let listed = rack.all(&format!("{path}&sort_by={order}&limit={limit}")).await;
            assert_eq!(listed.len(), ids.len(), "{order}, pages of {limit}");
            let listed: BTreeSet<_> = listed.iter().map(|nic| nic["id"].to_string()).collect();
            assert_eq!(listed, ids, "{order}, pages of {limit}");
        }
    }
}

#[tokio::test]
async fn interfaces_are_added_to_stopped_instances() {
    let (rack, web) = furnish().await;
    let nic = add_nic(&rack, nic_body("eth1", "one")).await.expect(201);
    assert_eq!(nic["ip_stack"]["value"]["v4"]["ip"], "10.1.0.5");
    assert_eq!((&nic["primary"], &nic["instance_id"]), (&json!(false), &web["id"]));
    let explicit = json!({
        "ip_config": {"type": "v4", "value": {"ip": {"type": "explicit", "value": "10.2.0.9"}}},
    });
    let nic = add_nic(&rack, with(nic_body("eth2", "two"), explicit.clone())).await.expect(201);
    assert_eq!(
        nic["ip_stack"],
        json!({
            "type": "v4",
            "value": {"ip": "10.2.0.9", "transit_ips": []},
        })
    );

    rack.post(SUBNETS, subnet_body("three", "10.3.0.0/24")).await.expect(201);
    add_nic(&rack, nic_body("eth1", "three"))
        .await
        .refused(400, "already exists: instance-network-interface \"eth1\"");
    add_nic(&rack, nic_body("eth3", "one"))
        .await
        .refused(400, "Each interface must be in a distinct VPC Subnet");
    add_nic(&rack, nic_body("eth3", "four"))
        .await
        .refused(404, "not found: vpc-subnet with name \"four\"");
    rack.post(VPCS, named("lab")).await.expect(201);
    let elsewhere = with(nic_body("eth3", "default"), json!({"vpc_name": "lab"}));
    add_nic(&rack, elsewhere).await.refused(
        400,
        "Networking may not span multiple VPCs, but the requested resource is associated with \
         another VPC",
    );
    rack.stopped_instance("demo", "other").await;
    rack.post(
        "/v1/network-interfaces?project=demo&instance=other",
        with(nic_body("eth1", "two"), explicit),
    )
    .await
    .refused(400, "The IP address '10.2.0.9' is not available");
    for n in 3..8 {
        let subnet = format!("s{n}");
        let block = format!("10.10.{n}.0/24");
        rack.post(SUBNETS, subnet_body(&subnet, &block)).await.expect(201);
        add_nic(&rack, nic_body(&format!("eth{n}"), &subnet)).await.expect(201);
    }
    add_nic(&rack, nic_body("eth8", "three"))
        .await
        .refused(400, "May not attach more than 8 network interfaces");

    rack.start_instance(&web).await;
    add_nic(&rack, nic_body("eth8", "three"))
        .await
        .refused(400, "Instance must be stopped to attach a new network interface");
    rack.put(&nics("/eth1"), json!({"name": "lan"}))
        .await
        .refused(400, "Instance must be stopped to update its network interfaces");
    rack.delete(&nics("/eth1"))
        .await
        .refused(400, "Instance must be stopped or failed to detach a network interface");
    rack.settled().await;
}

/// The primary interface carries the external addresses, whichever of several it is.
#[tokio::test]
async fn another_interface_becomes_the_primary_one() {
    let (rack, web) = furnish().await;
    let v6 = json!({"ip_config": {"type": "v6", "value": {"ip": {"type": "auto"}}}});
    add_nic(&rack, with(nic_body("six", "one"), v6)).await.expect(201);
    let nic = add_nic(&rack, nic_body("eth2", "two")).await.expect(201);
    let fip = rack.floating_ip("demo", "front").await;
    rack.attach(&fip, &web).await;

    rack.put(&nics("/six"), json!({"primary": true})).await.refused(
        400,
        "Interface cannot be made the primary for this instance, since it does not have a \
         private IPv4 address to handle traffic for the instance's external IPv4 addresses",
    );
    let now = rack.put(&nics("/eth2"), json!({"primary": true})).await.expect(200);
    assert_eq!((&now["primary"], &now["id"]), (&json!(true), &nic["id"]));
    let primary: Vec<_> = rack
        .all(&nics(""))
        .await
        .into_iter()
        .filter(|nic| nic["primary"] == true)
        .map(|nic| nic["name"].clone())
        .collect();
    assert_eq!(primary, ["eth2"]);
    // "No longer primary" is not a thing to ask for.
    let now = rack.put(&nics("/eth2"), json!({"primary": false})).await.expect(200);
    assert_eq!(now["primary"], true);

    rack.start_instance(&web).await;
    assert!(rack.delivers_now(&fip, &web).await);
    let state = rack.switch(0).state().await;
    let entries = state["nat"].as_array().expect("a table");
    let mac = nic["mac"].as_str().expect("a MAC address");
    let bytes: Vec<u8> =
        mac.split(':').map(|byte| u8::from_str_radix(byte, 16).expect("a byte")).collect();
    let ip = ip_of(&fip).to_string();
    let entry = entries.iter().find(|entry| entry.to_string().contains(&ip)).expect("an entry");
    assert!(entry.to_string().contains(&json!(bytes).to_string()), "{entry}");
    rack.detach(&fip).await;
    rack.attach(&fip, &web).await;
    assert!(rack.delivers_now(&fip, &web).await);
    rack.settled().await;
}

#[tokio::test]
async fn the_primary_interface_goes_last() {
    let (rack, web) = furnish().await;
    let pool_before = rack.addresses_in_use("default").await;
    add_nic(&rack, nic_body("eth1", "one")).await.expect(201);
    rack.delete(&nics("/net0")).await.refused(
        400,
        "The primary interface may not be deleted while secondary interfaces are still attached",
    );
    rack.delete(&nics("/eth1")).await.expect(204);
    let path = format!("{}/external-ips/ephemeral", instance_path(&web));
    rack.post(&path, json!({"pool_selector": {"type": "auto", "ip_version": "v4"}}))
        .await
        .expect(202);
    rack.delete(&nics("/net0")).await.refused(
        400,
        "The primary interface may not be deleted while external IP addresses are attached to \
         the instance; detach them first",
    );
    rack.delete(&path).await.expect(204);
    rack.delete(&nics("/net0")).await.expect(204);
    // Its source NAT has gone with it.
    assert_eq!(rack.external_ips_and_snat(&web).await.len(), 0);
    assert_eq!(rack.addresses_in_use("default").await, pool_before - 1);
    rack.start_instance(&web).await;
    rack.stop_instance(&web).await;
    // The first one is the primary one again, and brings source NAT from the next start on.
    let nic = add_nic(&rack, nic_body("eth0", "two")).await.expect(201);
    assert_eq!(nic["primary"], true);
    rack.start_instance(&web).await;
    assert_eq!(rack.external_ips_and_snat(&web).await.len(), 1);
    rack.settled().await;
}

#[tokio::test]
async fn interfaces_are_renamed_and_forward_packets() {
    let (rack, web) = furnish().await;
    let changed = json!({
        "name": "wan", "description": "out", "transit_ips": ["10.9.0.0/16", "fd09::/64"],
    });
    let nic = rack.put(&nics("/net0"), changed).await.expect(200);
    assert_eq!((&nic["name"], &nic["description"]), (&json!("wan"), &json!("out")));
    assert_eq!(nic["ip_stack"]["value"]["v4"]["transit_ips"], json!(["10.9.0.0/16"]));
    assert_eq!(nic["ip_stack"]["value"]["v6"]["transit_ips"], json!(["fd09::/64"]));
    for (nets, message) in [
        (json!(["10.9.0.1/16"]), "transit IP block 10.9.0.1/16 has a non-zero host identifier"),
        (
            json!(["10.9.0.0/16", "10.9.1.0/24"]),
            "transit IP block 10.9.1.0/24 overlaps with 10.9.0.0/16",
        ),
        (json!(["224.0.0.0/24"]), "transit IP block 224.0.0.0/24 is a multicast network"),
        (json!(["127.0.0.0/8"]), "transit IP block 127.0.0.0/8 is a loopback network"),
    ] {
        rack.put(&nics("/wan"), json!({"transit_ips": nets})).await.refused(400, message);
    }
    let v4 = json!({"ip_config": {"type": "v4", "value": {"ip": {"type": "auto"}}}});
    add_nic(&rack, with(nic_body("four", "one"), v4)).await.expect(201);
    rack.put(&nics("/four"), json!({"transit_ips": ["fd09::/64"]}))
        .await
        .refused(400, "Cannot specify IPv6 transit IPs with an IPv4 address");
    rack.put(&nics("/four"), json!({"name": "wan"}))
        .await
        .refused(400, "already exists: instance-network-interface \"wan\"");
    // What is absent of the rest stays; the networks are all that are given.
    let nic = rack.put(&nics("/wan"), json!({})).await.expect(200);
    assert_eq!(nic["description"], "out");
    assert_eq!(nic["ip_stack"]["value"]["v4"]["transit_ips"], json!([]));
    rack.start_instance(&web).await;
    rack.settled().await;
}

/// A check of the instance's state and the change that depends on it are one: an instance that
/// starts meanwhile has the interface, or the request was refused.
#[tokio::test]
async fn an_interface_is_added_while_the_instance_starts() {
    let (rack, web) = furnish().await;
    for round in 0..10 {
        let name = format!("eth{round}");
        let start = format!("{}/start", instance_path(&web));
        let (added, started) =
            tokio::join!(add_nic(&rack, nic_body(&name, "one")), rack.call(&start));
        added.one_of(&[201, 400]);
        started.one_of(&[202]);
        rack.state_reached(&web, "running").await;
        let vmm = rack.vmm_of(&web).await.expect("it runs");
        let state = rack.sleds()[vmm.sled].state().await;
        let ports = state["ports"].as_array().expect("ports");
        let mut on_sled: Vec<_> = ports
            .iter()
            .filter(|port| port["vmm_id"] == vmm.id.as_str())
            .map(|port| port["mac"].to_string())
            .collect();
        on_sled.sort();
        let mut recorded: Vec<_> =
            rack.all(&nics("")).await.iter().map(|nic| nic["mac"].to_string()).collect();
        recorded.sort();
        assert_eq!(on_sled, recorded, "round {round}, {}", added.status);
        rack.stop_instance(&web).await;
        if added.status == 201 {
            rack.delete(&nics(&format!("/{name}"))).await.expect(204);
        }
    }
    rack.settled().await;
}

/// What there is none of is an empty list, for those who may look.
#[tokio::test]
async fn what_there_is_none_of() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    rack.stopped_instance("demo", "web").await;
    for path in [
        "/v1/affinity-groups?project=demo",
        "/v1/anti-affinity-groups?project=demo&limit=1000",
        "/v1/external-subnets?project=demo&limit=50",
        "/v1/instances/web/affinity-groups?project=demo",
        "/v1/instances/web/anti-affinity-groups?project=demo&limit=1000",
        "/v1/instances/web/external-subnets?project=demo",
    ] {
        let page = rack.get(path).await.expect(200);
        assert_eq!(page, json!({"items": [], "next_page": null}), "{path}");
    }
    rack.get("/v1/affinity-groups?project=no")
        .await
        .refused(404, "not found: project with name \"no\"");
}

/// Interfaces as versions before dual stack have them.
#[tokio::test]
async fn interfaces_of_one_address() {
    let (rack, _) = furnish().await;
    let old = rack.at_version("20251008.0.0");
    let path = nics("");
    let nic = old.post(&path, nic_body("eth1", "one")).await.expect(201);
    assert_eq!((&nic["ip"], &nic["transit_ips"]), (&json!("10.1.0.5"), &json!([])));
    let changed = old.put(&nics("/eth1"), json!({"transit_ips": ["10.9.0.0/16"]})).await;
    assert_eq!(changed.expect(200)["transit_ips"], json!(["10.9.0.0/16"]));
    old.delete(&nics("/eth1")).await.expect(204);
    let six =
        with(nic_body("eth2", "two"), json!({"ip": "10.2.0.7", "transit_ips": ["fd09::/64"]}));
    old.post(&path, six).await.refused(400, "Cannot specify IPv6 transit IPs with an IPv4 address");
}

/// Whether an address fits is a matter of the primary interface, whatever others there are.
#[tokio::test]
async fn the_primary_interface_decides_which_addresses_fit() {
    let (rack, _) = furnish().await;
    let nic = |name: &str, subnet: &str, kind: &str| {
        let stack = json!({"ip": {"type": "auto"}});
        let value =
            if kind == "dual_stack" { json!({"v4": stack, "v6": stack}) } else { stack.clone() };
        with(nic_body(name, subnet), json!({"ip_config": {"type": kind, "value": value}}))
    };
    let make = async |name: &str, nics: [Value; 2], ip_version: &str| {
        let external = json!({"type": "ephemeral", "pool_selector": {"type": "auto", "ip_version": ip_version}});
        let changes = json!({
            "start": false,
            "network_interfaces": {"type": "create", "params": nics},
            "external_ips": [external],
        });
        let body = with(nexus_tests::make::instance_body(name), changes);
        rack.post("/v1/instances?project=demo", body).await
    };
    let mixed = [nic("a", "one", "v4"), nic("b", "two", "v6")];
    make("mixed", mixed.clone(), "v6").await.refused_about(400, "primary network interface");
    make("mixed", mixed, "v4").await.expect(201);
    let both = [nic("a", "one", "dual_stack"), nic("b", "two", "dual_stack")];
    let both = make("both", both, "v4").await.expect(201);
    rack.start_instance(&both).await;
    rack.settled().await;
}
