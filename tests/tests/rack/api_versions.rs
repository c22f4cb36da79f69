//! Clients that name the version of the API that they were made for.

use nexus_tests::make::{attach_body, auto, instance_body, instance_path, with};
use nexus_tests::tenants::assignment;
use nexus_tests::{Client, TestRack};
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

const FIPS: &str = "/v1/floating-ips?project=demo";
const POOLS: &str = "/v1/system/ip-pools";

/// A version, and the document of what it has.
fn documents() -> Vec<(String, Value)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../openapi/nexus");
    let files = std::fs::read_dir(dir).expect("the documents").map(|file| file.expect("a file"));
    let of = |file: std::fs::DirEntry| {
        let text = std::fs::read_to_string(file.path()).expect("a document");
        let document: Value = serde_json::from_str(&text).expect("JSON");
        (document["info"]["version"].as_str().expect("a version").to_string(), document)
    };
    let mut documents: Vec<_> = files.map(of).collect();
    documents.sort_by(|a, b| a.0.cmp(&b.0));
    documents.dedup_by(|a, b| a.0 == b.0);
    assert!(documents.len() > 20, "{}", documents.len());
    documents
}

async fn rack() -> TestRack {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    rack
}

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().expect("a page");
    items.iter().filter_map(|item| item["name"].as_str()).collect()
}

/// In every version, nobody sees or changes anything without a credential, and whoever has one is
/// answered.
#[tokio::test]
async fn every_operation_of_every_version() {
    const OPEN: [&str; 6] = [
        "/v1/ping",
        "/device/auth",
        "/device/token",
        "/v1/login/{silo_name}/local",
        "/v1/logout",
        "/device/confirm",
    ];
    let rack = rack().await;
    for (version, document) in documents() {
        let client = rack.at_version(&version);
        for (path, methods) in document["paths"].as_object().expect("paths") {
            if OPEN.contains(&path.as_str()) {
                continue;
            }
            // Each name in the path is an id, of nothing.
            let id = uuid::Uuid::nil().to_string();
            let url: Vec<_> = path
                .split('/')
                .map(|part| if part.starts_with('{') { id.as_str() } else { part })
                .collect();
            let url = url.join("/");
            for (method, operation) in methods.as_object().expect("methods") {
                if operation.get("requestBody").is_some() {
                    continue;
                }
                let required = operation["parameters"].as_array().into_iter().flatten();
                let required = required.filter(|p| p["in"] == "query" && p["required"] == true);
                let query: Vec<_> = required
                    .map(|p| format!("{}={id}", p["name"].as_str().unwrap_or("")))
                    .collect();
                let url = format!("{url}?{}", query.join("&"));
                let method: Method = method.to_uppercase().parse().expect("a method");
                let anonymous = client.without_token().send(method.clone(), &url, None).await;
                assert!(
                    anonymous.status == 401 || anonymous.status == 400,
                    "{version} {method} {url}: {}",
                    anonymous.status
                );
                if method == Method::GET {
                    let reply = client.send(method, &url, None).await;
                    reply.one_of(&[200, 400, 404]);
                }
            }
        }
    }
}

/// Each version's way to say which address, and no other's.
#[tokio::test]
async fn floating_ips_are_asked_for_in_the_words_of_the_time() {
    let rack = rack().await;
    rack.pool("lab", "192.168.20.1", "192.168.20.250").await;
    let lab = json!({"type": "explicit", "pool": "lab"});
    let eras = [
        ("0.0.1", json!({"address": "192.168.20.1"}), json!({"pool": "lab"})),
        ("0.0.6", json!({"address": "192.168.20.1"}), json!({"pool": "lab"})),
        ("20240327.0.0", json!({"ip": "192.168.20.1"}), json!({"pool": "lab"})),
        ("20251008.0.0", json!({"ip": "192.168.20.1", "pool": "lab"}), json!({"pool": "lab"})),
        ("2025122300.0.0", json!({"ip": "192.168.20.1"}), json!({"ip_version": "v4"})),
        (
            "2026010500.0.0",
            json!({"address_selector": {"type": "explicit", "ip": "192.168.20.1", "pool": "lab"}}),
            json!({"address_selector": {"type": "auto", "pool_selector": lab}}),
        ),
        (
            "2026011600.0.0",
            json!({"address_allocator": {"type": "explicit", "ip": "192.168.20.1", "pool": "lab"}}),
            json!({"address_allocator": {"type": "auto", "pool_selector": lab}}),
        ),
        (
            "2026021301.0.0",
            json!({"address_allocator": {"type": "explicit", "ip": "192.168.20.1"}}),
            json!({"address_allocator": {"type": "auto", "pool_selector": lab}}),
        ),
    ];
    let body = |changes: &Value| with(json!({"name": "f", "description": ""}), changes.clone());
    for (version, explicit, auto) in &eras {
        let client = rack.at_version(version);
        let fip = client.post(FIPS, body(explicit)).await.expect(201);
        assert_eq!(fip["ip"], "192.168.20.1", "{version}");
        client.delete("/v1/floating-ips/f?project=demo").await.expect(204);
        let fip = client.post(FIPS, body(auto)).await.expect(201);
        let expected = if *version == "2025122300.0.0" { "10.0.0.0" } else { "192.168.20.1" };
        assert_eq!(fip["ip"], expected, "{version}");
        client.delete("/v1/floating-ips/f?project=demo").await.expect(204);
        for (_, words, _) in &eras {
            let field = |words: &Value| words.as_object().expect("fields").keys().next().cloned();
            if field(words) != field(explicit) {
                let about = format!("unknown field `{}`", field(words).expect("a field"));
                client.post(FIPS, body(words)).await.refused_about(400, &about);
            }
        }
    }
    // Who cannot say which IP version means IPv4; who can must.
    let auto = body(&json!({}));
    for version in ["0.0.1", "20240327.0.0", "20251008.0.0"] {
        let fip = rack.at_version(version).post(FIPS, auto.clone()).await.expect(201);
        assert_eq!(fip["ip"], "10.0.0.0", "{version}");
        rack.delete("/v1/floating-ips/f?project=demo").await.expect(204);
    }
    for version in ["2025122300.0.0", "2026010500.0.0", "2026021301.0.0", "2026091500.0.0"] {
        rack.at_version(version).post(FIPS, auto.clone()).await.expect(400);
    }
    assert_eq!(rack.addresses_in_use("lab").await, 0);
}

/// An instance as each era made it, and its addresses as each era can read them.
#[tokio::test]
async fn instances_and_their_addresses() {
    let rack = rack().await;
    let instances = "/v1/instances?project=demo";
    let blank = json!({"type": "blank", "block_size": 512});
    let backend = json!({"type": "distributed", "disk_source": blank});
    let disk = |n: usize, source: Value| {
        let disk = json!({"type": "create", "name": format!("d{n}"), "description": "",
            "size": 1_u64 << 30});
        with(disk, source)
    };
    let old_disk = |n| disk(n, json!({"disk_source": blank}));
    let new_disk = |n| disk(n, json!({"disk_backend": backend}));
    let auto_v4 =
        json!({"type": "ephemeral", "pool_selector": {"type": "auto", "ip_version": "v4"}});
    let eras = [
        ("0.0.1", json!({"type": "ephemeral", "pool_name": "default"}), old_disk(0), "default"),
        ("0.0.6", json!({"type": "ephemeral", "pool": "default"}), old_disk(1), "default"),
        ("20251008.0.0", json!({"type": "ephemeral"}), old_disk(2), "default"),
        ("2025120300.0.0", json!({"type": "ephemeral"}), new_disk(3), "default"),
        (
            "2025122300.0.0",
            json!({"type": "ephemeral", "ip_version": "v4"}),
            new_disk(4),
            "default",
        ),
        (
            "2026010300.0.0",
            json!({"type": "ephemeral", "ip_version": "v4"}),
            new_disk(5),
            "default_ipv4",
        ),
        ("2026010500.0.0", auto_v4.clone(), new_disk(6), "default_ipv4"),
        ("2026010800.0.0", auto_v4.clone(), new_disk(7), "default_dual_stack"),
    ];
    for (n, (version, ephemeral, disk, nics)) in eras.into_iter().enumerate() {
        let client = rack.at_version(version);
        let body = with(
            instance_body(&format!("i{n}")),
            json!({"start": false, "external_ips": [ephemeral], "disks": [disk],
                "network_interfaces": {"type": nics}}),
        );
        let made = client.post(instances, body).await.expect(201);
        let id = made["id"].as_str().expect("an id");
        let kinds = |list: &Value| {
            let items = list["items"].as_array().expect("a page").clone();
            items.iter().map(|ip| ip["kind"].as_str().expect("a kind").to_string()).collect()
        };
        let path = format!("/v1/instances/{id}/external-ips");
        for (reader, with_snat) in [
            ("0.0.1", false),
            ("0.0.6", false),
            ("20250604.0.0", false),
            ("20250730.0.0", true),
            ("2026091500.0.0", true),
        ] {
            let list = rack.at_version(reader).get(&path).await.expect(200);
            let found: BTreeSet<String> = kinds(&list);
            let all = if with_snat { vec!["ephemeral", "snat"] } else { vec!["ephemeral"] };
            let expected: BTreeSet<String> = all.into_iter().map(str::to_string).collect();
            assert_eq!(found, expected, "{version} read by {reader}");
        }
        let list = rack.at_version("0.0.1").get(&path).await.expect(200);
        let fields: Vec<_> = list["items"][0].as_object().expect("an address").keys().collect();
        assert_eq!(fields, ["ip", "kind"]);
        client.delete(&format!("/v1/instances/{id}")).await.expect(204);
    }
}

/// Ephemeral addresses come and go in the words of each era.
#[tokio::test]
async fn ephemeral_addresses() {
    let rack = rack().await;
    let web = rack.stopped_instance("demo", "web").await;
    let path = format!("{}/external-ips/ephemeral", instance_path(&web));
    for (version, body, refused) in [
        ("0.0.6", json!({}), json!({"pool_selector": {"type": "auto"}})),
        ("20250730.0.0", json!({"pool": "default"}), json!({"ip_version": "v4"})),
        ("2025122300.0.0", json!({"ip_version": "v4"}), json!({"pool_selector": {"type": "auto"}})),
        (
            "2026010500.0.0",
            json!({"pool_selector": {"type": "auto", "ip_version": "v4"}}),
            json!({"pool": "default"}),
        ),
    ] {
        let client = rack.at_version(version);
        client.post(&path, refused).await.refused_about(400, "unknown field");
        let address = client.post(&path, body).await.expect(202);
        assert_eq!(address["kind"], "ephemeral");
        let has_pool = !address["ip_pool_id"].is_null();
        assert_eq!(has_pool, version != "0.0.6", "{version}");
        client.delete(&path).await.expect(204);
    }
}

/// What an old client has no words for does not spoil its lists; asked for alone, it is refused in
/// words that help.
#[tokio::test]
async fn what_an_old_client_cannot_read() {
    let rack = rack().await;
    rack.floating_ip_with("demo", "six", json!({"address_allocator": auto("v6")})).await;
    let dual = rack.stopped_instance("demo", "dual").await;
    let platform = json!({"cpu_platform": "amd_turin_v2", "start": false});
    let turin = rack.instance_with("demo", "turin", platform).await;
    let local = json!({"name": "local", "description": "", "size": 1_u64 << 30,
        "disk_backend": {"type": "local"}});
    rack.post("/v1/disks?project=demo", local).await.expect(201);
    rack.disk("demo", "shared").await;

    let old = rack.at_version("20251008.0.0");
    assert_eq!(names(&rack.at_version("0.0.1").get(FIPS).await.expect(200)), ["six"]);
    assert_eq!(names(&old.get("/v1/disks?project=demo").await.expect(200)), ["shared"]);
    let message = "disk type variant not supported for client version";
    let reply = old.get("/v1/disks/local?project=demo").await;
    assert_eq!(reply.error_code(), Some("Not Acceptable"));
    reply.refused(406, message);
    let disk = old.get("/v1/disks/shared?project=demo").await.expect(200);
    assert_eq!((&disk["block_size"], disk.get("disk_type")), (&json!(512), None));

    assert_eq!(names(&old.get("/v1/instances?project=demo").await.expect(200)), ["dual"]);
    let message = "CPU platform amd_turin_v2 not supported for client version";
    old.get(&instance_path(&turin)).await.refused(406, message);
    rack.at_version("2026060800.0.0").get(&instance_path(&turin)).await.expect(200);

    let nics = "/v1/network-interfaces?instance=dual&project=demo";
    assert!(names(&old.get(nics).await.expect(200)).is_empty());
    let nic = rack.all(nics).await.remove(0);
    let path = format!("/v1/network-interfaces/{}", nic["id"].as_str().expect("an id"));
    old.get(&path).await.refused_about(400, "Update your client and retry the request.");
    let plain = old.post("/v1/instances?project=demo", instance_body("plain")).await.expect(201);
    let nics = "/v1/network-interfaces?instance=plain&project=demo";
    let nic = old.get(nics).await.expect(200)["items"][0].clone();
    assert_eq!(nic["ip"], rack.all(nics).await[0]["ip_stack"]["value"]["ip"]);
    assert_eq!(nic["instance_id"], plain["id"]);

    let fip = rack.floating_ip("demo", "four").await;
    let attach = format!("/v1/floating-ips/{}/attach", fip["id"].as_str().expect("an id"));
    let attached = rack.at_version("0.0.6").post(&attach, attach_body(&dual)).await.expect(202);
    assert_eq!(attached["instance_id"], dual["id"]);
}

/// Roles that came later cannot be shown, nor be lost by who does not know of them.
#[tokio::test]
async fn a_policy_with_a_newer_role() {
    let rack = rack().await;
    let user = rack.user("default-silo", "dev").await;
    let path = "/v1/projects/demo/policy";
    let old = rack.at_version("20250604.0.0");
    let policy = |role: &str| json!({"role_assignments": [assignment(&user, role)]});
    let set = old.put(path, policy("collaborator")).await.expect(200);
    assert_eq!(set, rack.get(path).await.expect(200));
    old.put(path, policy("limited_collaborator")).await.expect(400);
    rack.put(path, policy("limited_collaborator")).await.expect(200);
    let message = "role limited_collaborator not supported for client version";
    old.get(path).await.refused(406, message);
    rack.at_version("20251008.0.0").get(path).await.expect(200);
}

/// IP pools as operators had them: first of one silo, then linked to several, then counted in
/// floating-point numbers.
#[tokio::test]
async fn ip_pools() {
    let rack = rack().await;
    rack.silo("labs").await;
    let first = rack.at_version("0.0.1");
    let body = json!({"name": "old", "description": "", "silo": "labs", "is_default": true});
    let pool = first.post(POOLS, body).await.expect(201);
    let silo = rack.get("/v1/system/silos/labs").await.expect(200);
    assert_eq!((&pool["is_default"], &pool["silo_id"]), (&json!(true), &silo["id"]));
    let body = json!({"name": "lost", "description": "", "silo": "nowhere"});
    first.post(POOLS, body).await.refused_about(404, "silo with name \"nowhere\"");
    rack.get(&format!("{POOLS}/lost")).await.expect(404);
    assert_eq!(first.get(&format!("{POOLS}/old")).await.expect(200), pool);
    let listed = first.get(&format!("{POOLS}?limit=100")).await.expect(200);
    assert!(listed["items"].as_array().expect("a page").contains(&pool));
    let renamed = first.put(&format!("{POOLS}/old"), json!({"name": "older"})).await.expect(200);
    assert_eq!((&renamed["name"], &renamed["silo_id"]), (&json!("older"), &silo["id"]));
    let of_project = first.get("/v1/ip-pools?project=demo").await.expect(200);
    assert_eq!(names(&of_project), ["default", "default-v6"]);
    first.get("/v1/ip-pools/default?project=demo").await.expect(200);

    let services = json!({"name": "services", "description": "", "assignment": "system_services"});
    rack.post(POOLS, services).await.expect(201);
    let newest = rack.get(POOLS).await.expect(200);
    assert!(names(&newest).contains(&"services"));
    for version in ["0.0.1", "0.0.6", "2026021301.0.0"] {
        let listed = rack.at_version(version).get(POOLS).await.expect(200);
        assert_eq!(names(&listed), ["default", "default-v6", "older"], "{version}");
    }

    rack.floating_ip("demo", "f").await;
    let counted = rack.at_version("20240327.0.0");
    let used = counted.get(&format!("{POOLS}/default/utilization")).await.expect(200);
    let expected = json!({"ipv4": {"allocated": 1, "capacity": 65_536},
        "ipv6": {"allocated": "0", "capacity": "0"}});
    assert_eq!(used, expected);
    let used = counted.get(&format!("{POOLS}/default-v6/utilization")).await.expect(200);
    assert_eq!(used["ipv6"]["capacity"], "18446744073709551616");
    let used = rack.at_version("20251008.0.0").get(&format!("{POOLS}/default/utilization")).await;
    assert_eq!(used.expect(200)["remaining"], json!(65_535.0));
}

/// The operator decides how requests are answered that name no version.
#[tokio::test]
async fn a_rack_for_silent_clients() {
    let first = semver::Version::new(0, 0, 1);
    let rack = TestRack::with(|options| options.request.default_api_version = Some(first)).await;
    rack.project("demo").await;
    let silent = rack.without_version();
    let web = rack.stopped_instance("demo", "web").await;
    let path = format!("{}/external-ips", instance_path(&web));
    assert_eq!(silent.get(&path).await.expect(200)["items"], json!([]), "no source NAT");
    assert_eq!(rack.external_ips_and_snat(&web).await.len(), 1);
    // Words of any time are taken.
    for (name, words) in [
        ("a", json!({"address": "10.0.7.1"})),
        ("b", json!({"ip": "10.0.7.2"})),
        ("c", json!({"address_allocator": {"type": "explicit", "ip": "10.0.7.3"}})),
    ] {
        let body = with(json!({"name": name, "description": ""}), words);
        silent.post(FIPS, body).await.expect(201);
    }
    let never = rack.at_version("0.0.0").get("/v1/ping").await;
    never.refused_about(400, "no longer supports this API version");
}

/// Sleds had one word for their policy, and silos no group of administrators.
#[tokio::test]
async fn sleds_and_silos_as_they_were() {
    let rack = rack().await;
    let view = async |version: &str, path: &str| -> Value {
        let client: Client = rack.at_version(version);
        client.get(path).await.expect(200)["items"][0].clone()
    };
    let sleds = "/v1/system/hardware/sleds";
    assert_eq!(view("0.0.6", sleds).await["provision_state"], "provisionable");
    assert!(view("0.0.6", sleds).await.get("policy").is_none());
    assert_eq!(view("20240327.0.0", sleds).await["policy"]["kind"], "in_service");
    let silo = view("20250604.0.0", "/v1/system/silos").await;
    assert_eq!(silo["identity_mode"], "local_only");
    assert!(silo.get("admin_group_name").is_none());
}
