//! Who is let in, and what every answer has.

use nexus_tests::TestRack;
use nexus_tests::make::{
    attach_body, disk_body, floating_ip_body, image_body, instance_body, update_body,
};
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

const NO_CREDENTIALS: &str = "credentials missing or invalid";

#[tokio::test]
async fn anyone_may_ping() {
    let rack = TestRack::start().await;
    let reply = rack.without_token().get("/v1/ping").await;
    let id = reply.headers.get("x-request-id").expect("every answer has an id").to_str();
    id.expect("text").parse::<Uuid>().expect("a UUID");
    assert_eq!(reply.expect(200), json!({"status": "ok"}));
    let internal = rack.internal().get("/v1/ping").await;
    assert_eq!(internal.expect(200), json!({"status": "ok"}));
}

#[tokio::test]
async fn the_administrator_is_known_by_the_token() {
    let rack = TestRack::start().await;
    let me = rack.get("/v1/me").await.expect(200);
    assert_eq!(me["display_name"], "admin");
    assert_eq!(me["silo_name"], "default-silo");
    assert_eq!(me["fleet_viewer"], true);
    assert_eq!(me["silo_admin"], true);
}

#[tokio::test]
async fn wrong_credentials_are_none() {
    let rack = TestRack::start().await;
    let unknown = format!("oxide-token-{}", "0".repeat(40));
    for token in [unknown.as_str(), "oxide-token-", "oxide-token-zz", "something-else"] {
        let reply = rack.with_token(token).get("/v1/me").await;
        assert_eq!(reply.error_code(), Some("Unauthorized"), "{token}");
        reply.refused(401, NO_CREDENTIALS);
    }
    let truncated = &rack.ready().token[..rack.ready().token.len() - 1];
    rack.with_token(truncated).get("/v1/me").await.refused(401, NO_CREDENTIALS);
}

/// Every operation of the document, as nobody. One that is added later, without a line here about
/// what a valid request looks like, fails.
#[tokio::test]
async fn nobody_may_do_nothing() {
    let rack = TestRack::start().await;
    let nobody = rack.without_token();
    for (operation, method, path) in operations() {
        if operation == "ping" {
            continue;
        }
        let (query, body) = valid_request(&operation);
        let path = format!("{path}{query}");
        let reply = nobody.send(method, &path, body).await;
        assert_eq!(reply.status, 401, "{operation}: {:#}", reply.body);
        reply.refused(401, NO_CREDENTIALS);
    }
}

/// What one may not see and what does not exist must look the same, and like nothing else.
#[tokio::test]
async fn what_does_not_exist_is_not_found() {
    let rack = TestRack::start().await;
    let id = Uuid::new_v4();
    for (path, kind) in [
        ("/v1/projects", "project"),
        ("/v1/floating-ips", "floating-ip"),
        ("/v1/instances", "instance"),
        ("/v1/disks", "disk"),
        ("/v1/snapshots", "snapshot"),
        ("/v1/images", "image"),
        ("/v1/me/ssh-keys", "ssh-key"),
        ("/v1/system/hardware/sleds", "sled"),
        ("/v1/vpcs", "vpc"),
        ("/v1/vpc-subnets", "vpc-subnet"),
        ("/v1/network-interfaces", "instance-network-interface"),
        ("/v1/system/ip-pools", "ip-pool"),
        ("/v1/ip-pools", "ip-pool"),
        ("/v1/system/silos", "silo"),
    ] {
        let reply = rack.get(&format!("{path}/{id}")).await;
        assert_eq!(reply.error_code(), Some("ObjectNotFound"), "{path}");
        reply.refused(404, &format!("not found: {kind} with id \"{id}\""));
    }
}

#[tokio::test]
async fn versions_that_are_not_served_are_refused() {
    let rack = TestRack::start().await;
    let newer = rack.at_version("9999010100.0.0").get("/v1/me").await;
    newer.refused(400, "server does not support this API version: 9999010100.0.0");
    let garbage = rack.at_version("newest").get("/v1/me").await;
    garbage.refused_about(400, "bad value for header \"api-version\"");
    rack.without_version().get("/v1/me").await.expect(200);
    rack.internal().without_version().get("/v1/ping").await.refused_about(400, "api-version");
}

#[tokio::test]
async fn what_is_not_served_says_so() {
    let rack = TestRack::start().await;
    rack.get("/v1/no-such-thing").await.refused(404, "Not Found");
    rack.delete("/v1/me").await.refused(405, "Method Not Allowed");
}

#[tokio::test]
async fn bodies_have_a_bound() {
    let rack = TestRack::start().await;
    let body = json!({"name": "p", "description": "x".repeat(2 << 20)});
    let reply = rack.post("/v1/projects", body).await;
    reply.refused(400, "request body exceeded maximum size of 1048576 bytes");
}

/// The operations of the checked-in document: id, method, path with the id of nothing.
pub(crate) fn operations() -> Vec<(String, Method, String)> {
    let document: Value =
        serde_json::from_str(include_str!("../../../openapi/nexus.json")).expect("a document");
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let Some(id) = operation["operationId"].as_str() else { continue };
            let method = method.to_uppercase().parse().expect("a method");
            let mut filled = String::new();
            let mut rest = path.as_str();
            while let Some((before, after)) = rest.split_once('{') {
                filled.push_str(before);
                filled.push_str(&Uuid::new_v4().to_string());
                rest = after.split_once('}').map_or("", |(_, after)| after);
            }
            filled.push_str(rest);
            operations.push((id.to_string(), method, filled));
        }
    }
    assert!(operations.len() > 30, "the document has {} operations", operations.len());
    operations
}

/// A query and a body with which an operation gets as far as asking who is calling.
pub(crate) fn valid_request(operation: &str) -> (&'static str, Option<Value>) {
    const IN_PROJECT: &str = "?project=p";
    let identity = || json!({"name": "n", "description": ""});
    let range = || Some(json!({"first": "10.9.0.0", "last": "10.9.0.1"}));
    match operation {
        "current_user_view"
        | "project_list"
        | "project_view"
        | "project_delete"
        | "disk_view"
        | "disk_delete"
        | "disk_bulk_write_import_start"
        | "disk_bulk_write_import_stop"
        | "floating_ip_view"
        | "floating_ip_delete"
        | "floating_ip_detach"
        | "instance_view"
        | "instance_delete"
        | "instance_external_ip_list"
        | "instance_ephemeral_ip_detach"
        | "instance_reboot"
        | "instance_start"
        | "instance_stop"
        | "ip_pool_list"
        | "ip_pool_view"
        | "instance_network_interface_view"
        | "system_ip_pool_list"
        | "system_ip_pool_view"
        | "system_ip_pool_delete"
        | "system_ip_pool_range_list"
        | "system_ip_pool_silo_list"
        | "system_ip_pool_silo_unlink"
        | "system_ip_pool_utilization_view"
        | "current_user_groups"
        | "current_user_ssh_key_list"
        | "current_user_ssh_key_view"
        | "current_user_ssh_key_delete"
        | "image_list"
        | "image_view"
        | "image_delete"
        | "image_promote"
        | "instance_disk_list"
        | "instance_ssh_public_key_list"
        | "silo_quotas_view"
        | "silo_utilization_list"
        | "silo_utilization_view"
        | "sled_list"
        | "sled_view"
        | "sled_instance_list"
        | "snapshot_view"
        | "snapshot_delete"
        | "system_quotas_list"
        | "utilization_view"
        | "silo_list"
        | "silo_view"
        | "vpc_view"
        | "vpc_subnet_view" => ("", None),
        "disk_list" | "floating_ip_list" | "instance_list" | "vpc_list" | "snapshot_list"
        | "image_demote" => (IN_PROJECT, None),
        "vpc_subnet_list" => ("?vpc=v&project=p", None),
        "instance_network_interface_list" => ("?instance=i&project=p", None),
        "project_create" => ("", Some(identity())),
        "project_update" | "floating_ip_update" | "system_ip_pool_update" => ("", Some(json!({}))),
        "disk_create" => (IN_PROJECT, Some(disk_body("n"))),
        "floating_ip_create" => (IN_PROJECT, Some(floating_ip_body("n"))),
        "floating_ip_attach" => ("", Some(attach_body(&json!({"id": Uuid::new_v4()})))),
        "instance_create" => (IN_PROJECT, Some(instance_body("n"))),
        "instance_update" => ("", Some(update_body())),
        "instance_disk_attach" | "instance_disk_detach" => ("", Some(json!({"disk": "d"}))),
        "disk_finalize_import" | "silo_quotas_update" => ("", Some(json!({}))),
        "disk_bulk_write_import" => ("", Some(json!({"offset": 0, "base64_encoded_data": ""}))),
        "snapshot_create" => {
            (IN_PROJECT, Some(json!({"name": "n", "description": "", "disk": "d"})))
        }
        "image_create" => ("", Some(image_body("n", &json!({"id": Uuid::new_v4()})))),
        "current_user_ssh_key_create" => {
            ("", Some(json!({"name": "n", "description": "", "public_key": "k"})))
        }
        "sled_set_provision_policy" => ("", Some(json!({"state": "provisionable"}))),
        "instance_ephemeral_ip_attach" => ("", Some(json!({}))),
        "system_ip_pool_create" => ("", Some(identity())),
        "system_ip_pool_range_add" | "system_ip_pool_range_remove" => ("", range()),
        "system_ip_pool_silo_link" => ("", Some(json!({"silo": "s", "is_default": false}))),
        "system_ip_pool_silo_update" => ("", Some(json!({"is_default": false}))),
        _ => panic!("no expectation for the operation {operation}: add one"),
    }
}

/// A request that cannot be read is refused as such, whoever sends it.
#[tokio::test]
async fn what_is_malformed_is_said_before_who_is_asked() {
    let rack = TestRack::start().await;
    let nobody = rack.without_token();
    let body = json!({"name": "a_b", "description": ""});
    nobody
        .post("/v1/projects", body)
        .await
        .refused_about(400, "unable to parse JSON body: name contains invalid character: \"_\"");
    nobody.get("/v1/floating-ips").await.refused_about(400, "missing field `project`");
    nobody.get("/v1/projects?limit=0").await.refused_about(400, "unable to parse query string");
    nobody.get("/v1/projects/a_b").await.refused_about(400, "bad parameter in URL path");
    let text = nobody.request(Method::POST, "/v1/projects").body("{\"name\": ").send().await;
    assert_eq!(text.expect("an answer").status().as_u16(), 400);
}
