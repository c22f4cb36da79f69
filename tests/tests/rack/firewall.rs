//! Firewall rules: what their owners write, and what sleds are told.

use nexus_tests::make::instance_path;
use nexus_tests::{TestRack, eventually};
use serde_json::{Value, json};

const RULES: &str = "/v1/vpc-firewall-rules?project=demo&vpc=default";

fn rule(name: &str, targets: Value, filters: Value) -> Value {
    json!({
        "name": name, "description": "", "status": "enabled", "direction": "inbound",
        "action": "allow", "priority": 100, "targets": targets, "filters": filters,
    })
}

fn names(rules: &Value) -> Vec<String> {
    let rules = rules["rules"].as_array().expect("rules");
    rules.iter().map(|rule| rule["name"].as_str().expect("a name").to_string()).collect()
}

/// The rules that the sled of an instance has for its VPC, without the targets but for their
/// addresses.
async fn on_sled(rack: &TestRack, instance: &Value, vpc: &Value) -> Vec<Value> {
    let vmm = rack.vmm_of(instance).await.expect("it runs");
    let state = rack.sleds()[vmm.sled].state().await;
    let vpc = vpc["id"].as_str().expect("an id");
    let rules = state["firewalls"][vpc]["rules"].as_array().cloned().unwrap_or_default();
    rules.into_iter().map(simple).collect()
}

fn simple(rule: Value) -> Value {
    let targets: Vec<_> = rule["targets"]
        .as_array()
        .expect("targets")
        .iter()
        .map(|nic| nic["ip_config"]["value"]["v4"]["ip"].clone())
        .collect();
    json!({
        "targets": targets,
        "hosts": rule["filter_hosts"],
        "ports": rule["filter_ports"],
        "protocols": rule["filter_protocols"],
    })
}

#[tokio::test]
async fn a_new_vpc_lets_in_what_is_its_own() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let rules = rack.get(RULES).await.expect(200);
    assert_eq!(names(&rules), ["allow-icmp", "allow-internal-inbound", "allow-ssh"]);
    let ssh = &rules["rules"][2];
    assert_eq!((&ssh["priority"], &ssh["action"]), (&json!(65534), &json!("allow")));
    assert_eq!(ssh["targets"], json!([{"type": "vpc", "value": "default"}]));
    let filters = json!({"hosts": null, "protocols": [{"type": "tcp"}], "ports": ["22"]});
    assert_eq!(ssh["filters"], filters);
    assert_eq!(rack.get(RULES).await.expect(200), rules);
}

#[tokio::test]
async fn rules_are_set_as_a_whole() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let before = rack.get(RULES).await.expect(200);
    let web = rule("web", json!([]), json!({"ports": ["80", "443", "8000-8080"]}));
    let ssh = rule("allow-ssh", json!([]), json!({}));
    let set = rack.put(RULES, json!({"rules": [web, ssh]})).await.expect(200);
    assert_eq!(names(&set), ["allow-ssh", "web"]);
    // A rule that has its name still is the same one, changed.
    assert_eq!(set["rules"][0]["id"], before["rules"][2]["id"]);
    assert_eq!(set["rules"][0]["priority"], 100);
    assert_eq!(rack.get(RULES).await.expect(200), set);
    assert_eq!(names(&rack.put(RULES, json!({})).await.expect(200)), [""; 0]);

    let twice =
        json!({"rules": [rule("a", json!([]), json!({})), rule("a", json!([]), json!({}))]});
    rack.put(RULES, twice).await.refused(
        400,
        "unsupported value for \"rules\": Rule names must be unique. Found duplicates: [\"a\"]",
    );
    let ports = |ports: Value| json!({"rules": [rule("a", json!([]), json!({"ports": ports}))]});
    rack.put(RULES, ports(json!(["443-80"])))
        .await
        .refused_about(400, "port range \"443-80\" ends before it begins");
    let many: Vec<_> = (0..257).map(|port| port.to_string()).collect();
    rack.put(RULES, ports(json!(many)))
        .await
        .refused_about(400, "expected a list of at most 256 ports");
    let many: Vec<_> = (0..1025).map(|n| rule(&format!("r{n}"), json!([]), json!({}))).collect();
    rack.put(RULES, json!({"rules": many}))
        .await
        .refused_about(400, "expected a list of at most 1024 rules");
}

#[tokio::test]
async fn sleds_are_told_what_names_stand_for() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let web = rack.running_instance("demo", "web").await;
    let db = rack.running_instance("demo", "db").await;
    let vpc = rack.get("/v1/vpcs/default?project=demo").await.expect(200);
    let subnet = rack.get("/v1/vpc-subnets/default?project=demo&vpc=default").await.expect(200);
    let nic = rack.get("/v1/network-interfaces/net0?project=demo&instance=web").await.expect(200);
    let ips = &nic["ip_stack"]["value"];
    let (v4, v6) = (ips["v4"]["ip"].as_str().expect("v4"), ips["v6"]["ip"].as_str().expect("v6"));
    let to = |kind: &str, value: &str| json!([{"type": kind, "value": value}]);
    let body = json!({"rules": [
        rule("by-instance", to("instance", "db"), json!({"hosts": to("instance", "web")})),
        rule("by-net", to("ip_net", "172.30.0.0/22"), json!({"hosts": to("ip_net", "10.0.0.0/8")})),
        rule("by-subnet", to("subnet", "default"), json!({"hosts": to("subnet", "default")})),
        rule("by-vpc", to("vpc", "default"), json!({"hosts": to("vpc", "default")})),
        rule("for-nobody", to("instance", "gone"), json!({})),
        rule("from-nobody", to("instance", "db"), json!({"hosts": to("instance", "gone")})),
    ]});
    rack.put(RULES, body).await.expect(200);
    // The answer comes when the sleds have been told.
    let rules = on_sled(&rack, &db, &vpc).await;
    let hosts: Vec<_> = rules.iter().map(|rule| rule["hosts"].clone()).collect();
    let ip = |value: &str| json!({"type": "ip", "value": value});
    let vni = &hosts[3][0]["value"];
    assert_eq!(
        hosts,
        [
            json!([ip(&format!("{v4}/32")), ip(&format!("{v6}/128"))]),
            json!([ip("10.0.0.0/8")]),
            json!([
                ip(subnet["ipv4_block"].as_str().expect("a block")),
                ip(subnet["ipv6_block"].as_str().expect("a block")),
            ]),
            json!([{"type": "vpc", "value": vni}]),
        ]
    );
    assert_eq!(rules[0]["targets"], json!(["172.30.0.6"]));

    // A rename is a change of what the rules mean.
    rack.put("/v1/vpcs/default?project=demo", json!({"name": "renamed"})).await.expect(200);
    assert_eq!(on_sled(&rack, &web, &vpc).await.len(), 2, "rules for the VPC are nobody's");
    rack.settled().await;
}

/// A VMM starts with the rules, and a sled that was away when they changed is told afterwards.
#[tokio::test]
async fn sleds_catch_up() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let web = rack.running_instance("demo", "web").await;
    let vpc = rack.get("/v1/vpcs/default?project=demo").await.expect(200);
    let vmm = rack.vmm_of(&web).await.expect("it runs");
    let sled = &rack.sleds()[vmm.sled];
    let came_with = sled.state().await["vmms"][0]["firewall_rules"].clone();
    let ports: Vec<_> = came_with
        .as_array()
        .expect("rules")
        .iter()
        .map(|rule| rule["filter_ports"].clone())
        .collect();
    assert_eq!(ports, [json!(null), json!(null), json!(["22"])]);

    let fault = json!({"operation": "vpc_firewall_rules_put", "fault": "error", "times": 0});
    sled.fault(fault).await;
    let ports = json!({"ports": ["443"]});
    let rules =
        json!({"rules": [rule("web", json!([{"type": "vpc", "value": "default"}]), ports)]});
    rack.put(RULES, rules).await.expect(200);
    assert_ne!(on_sled(&rack, &web, &vpc).await.len(), 1);
    sled.clear_faults().await;
    let task = json!({"bgtask_names": ["firewall_manager"]});
    rack.operator().post("/bgtasks/activate", task).await.expect(204);
    eventually("the sled has the rules", async || {
        let rules = on_sled(&rack, &web, &vpc).await;
        if rules.len() == 1 { Ok(()) } else { Err(rules) }
    })
    .await;
    rack.stop_instance(&web).await;
    rack.delete(&instance_path(&web)).await.expect(204);
    rack.settled().await;
}

/// Versions before ICMP messages had types name protocols alone.
#[tokio::test]
async fn protocols_of_older_versions() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let old = rack.at_version("20250604.0.0");
    let rules = old.get(RULES).await.expect(200);
    assert_eq!(rules["rules"][0]["filters"]["protocols"], json!(["ICMP"]));
    let body = json!({"rules": [rule("a", json!([]), json!({"protocols": ["TCP", "ICMP"]}))]});
    for client in [&old, &rack.without_version()] {
        client.put(RULES, body.clone()).await.expect(200);
        let now = rack.get(RULES).await.expect(200);
        assert_eq!(
            now["rules"][0]["filters"]["protocols"],
            json!([{"type": "tcp"}, {"type": "icmp", "value": null}])
        );
    }
    let icmp = json!([{"type": "icmp", "value": {"icmp_type": 8}}]);
    let typed = json!({"rules": [rule("a", json!([]), json!({"protocols": icmp}))]});
    rack.put(RULES, typed).await.expect(200);
    // Who cannot see a rule must not lose it by sending back what it has seen.
    old.get(RULES).await.refused_about(406, "a protocol of firewall rule \"a\"");
    rack.at_version("20251008.0.0").get(RULES).await.expect(200);
    let icmp6 = json!([{"type": "icmp6", "value": null}]);
    let typed = json!({"rules": [rule("a", json!([]), json!({"protocols": icmp6}))]});
    rack.put(RULES, typed).await.expect(200);
    rack.at_version("20251008.0.0").get(RULES).await.refused_about(406, "not supported");
}
