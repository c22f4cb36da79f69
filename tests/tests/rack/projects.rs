//! Projects: what everything of a tenant is in.

use nexus_tests::TestRack;
use serde_json::{Value, json};

fn body(name: &str) -> Value {
    json!({"name": name, "description": "a project"})
}

#[tokio::test]
async fn a_project_lives() {
    let rack = TestRack::start().await;
    let project = rack.project("demo").await;
    assert_eq!(project["name"], "demo");
    assert_eq!(project["description"], "a project");
    assert_eq!(project["time_created"], project["time_modified"]);
    assert_eq!(rack.get("/v1/projects/demo").await.expect(200), project);
    let by_id = format!("/v1/projects/{}", project["id"].as_str().expect("an id"));
    assert_eq!(rack.get(&by_id).await.expect(200), project);
    assert_eq!(rack.get("/v1/projects").await.expect(200)["items"], json!([project]));

    let update = json!({"name": "renamed"});
    let updated = rack.put("/v1/projects/demo", update).await.expect(200);
    assert_eq!((&updated["name"], &updated["id"]), (&json!("renamed"), &project["id"]));
    assert_eq!(updated["description"], "a project", "what is not named is not changed");
    rack.get("/v1/projects/demo").await.refused(404, "not found: project with name \"demo\"");

    rack.delete("/v1/projects/renamed").await.expect(204);
    rack.get(&by_id).await.expect(404);
    // Its name is free again.
    rack.project("renamed").await;
}

#[tokio::test]
async fn names_are_taken_once() {
    let rack = TestRack::start().await;
    rack.project("a").await;
    rack.project("b").await;
    let reply = rack.post("/v1/projects", body("a")).await;
    assert_eq!(reply.error_code(), Some("ObjectAlreadyExists"));
    reply.refused(400, "already exists: project \"a\"");
    let renamed = rack.put("/v1/projects/b", json!({"name": "a"})).await;
    renamed.refused(400, "already exists: project \"a\"");
    // Its own name is no one else's.
    rack.put("/v1/projects/b", json!({"name": "b"})).await.expect(200);
}

#[tokio::test]
async fn names_follow_the_rules() {
    let rack = TestRack::start().await;
    for (name, rule) in [
        ("", "name requires at least one character"),
        ("1a", "name must begin with an ASCII lowercase character"),
        ("Demo", "name must begin with an ASCII lowercase character"),
        ("démo", "name contains invalid character: \"é\""),
        ("a_b", "name contains invalid character: \"_\""),
        ("a-", "name cannot end with \"-\""),
        ("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "name cannot be a UUID to avoid ambiguity"),
        (&"a".repeat(64), "name may contain at most 63 characters"),
    ] {
        let reply = rack.post("/v1/projects", body(name)).await;
        reply.refused_about(400, rule);
    }
    assert_eq!(rack.all("/v1/projects").await, Vec::<Value>::new(), "nothing was stored");
    rack.post("/v1/projects", json!({"name": "a"})).await.refused_about(400, "description");
    let long = json!({"name": "a", "description": "x".repeat(513)});
    rack.post("/v1/projects", long).await.refused_about(400, "512");
}

/// Deleting takes no one's addresses away, and leaves none behind that no one can see.
#[tokio::test]
async fn a_project_that_holds_something_stays() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    rack.floating_ip("demo", "kept").await;
    rack.delete("/v1/projects/demo")
        .await
        .refused(400, "project to be deleted contains a floating ip: kept");
    rack.delete("/v1/floating-ips/kept?project=demo").await.expect(204);
    let instance = rack.stopped_instance("demo", "web").await;
    rack.delete("/v1/projects/demo")
        .await
        .refused(400, "project to be deleted contains an instance: web");
    rack.delete(&nexus_tests::make::instance_path(&instance)).await.expect(204);
    rack.disk("demo", "data").await;
    rack.delete("/v1/projects/demo")
        .await
        .refused(400, "project to be deleted contains a disk: data");
    rack.delete("/v1/disks/data?project=demo").await.expect(204);
    rack.delete("/v1/projects/demo").await.expect(204);
    assert_eq!(rack.addresses_in_use("default").await, 0);
}

#[tokio::test]
async fn a_new_project_has_a_network() {
    let rack = TestRack::start().await;
    let project = rack.project("demo").await;
    let vpc = rack.get("/v1/vpcs/default?project=demo").await.expect(200);
    assert_eq!(vpc["project_id"], project["id"]);
    assert_eq!((&vpc["dns_name"], &vpc["description"]), (&json!("default"), &json!("Default VPC")));
    let prefix = vpc["ipv6_prefix"].as_str().expect("a prefix");
    assert!(prefix.starts_with("fd") && prefix.ends_with("/48"), "{prefix}");
    let subnets = rack.get("/v1/vpc-subnets?vpc=default&project=demo").await.expect(200);
    let subnet = &subnets["items"][0];
    assert_eq!(subnet["name"], "default");
    assert_eq!(subnet["description"], "The default subnet for default");
    assert_eq!(subnet["ipv4_block"], "172.30.0.0/22");
    assert_eq!(subnet["vpc_id"], vpc["id"]);
    // A project may be made without: `{}` is "nothing that is optional".
    let bare = json!({"name": "bare", "description": "", "defaults": {}});
    rack.post("/v1/projects", bare).await.expect(201);
    assert_eq!(rack.all("/v1/vpcs?project=bare").await, Vec::<Value>::new());
}
