//! Who may see and change disks, images, keys, quotas and sleds: a user of the same silo without a
//! role, a viewer of the silo, and the administrator of another silo.

use nexus_tests::make::{disk_from, image_body, instance_path, update_body};
use nexus_tests::{Client, TestRack};
use serde_json::{Value, json};

/// A client as a new user of a silo; with a role on the silo, if any.
async fn user(rack: &TestRack, silo: &str, name: &str, role: Option<&str>) -> Client {
    let user = rack.user(silo, name).await;
    if let Some(role) = role {
        rack.grant(&format!("/v1/system/silos/{silo}/policy"), &user, role).await;
    }
    rack.login(silo, name).await
}

fn by_id(collection: &str, view: &Value) -> String {
    format!("/v1/{collection}/{}", view["id"].as_str().expect("a view has an id"))
}

#[tokio::test]
async fn what_one_may_not_see_does_not_exist() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let disk = rack.disk("demo", "data").await;
    let snapshot = rack.snapshot("demo", "s", "data").await;
    let image = rack.image("demo", "debian", &snapshot).await;
    let wide = rack.post("/v1/images", image_body("wide", &snapshot)).await.expect(201);
    let key = json!({"name": "laptop", "description": "", "public_key": "ssh-ed25519 AAAA"});
    let key = rack.post("/v1/me/ssh-keys", key).await.expect(201);
    let web = rack.stopped_instance("demo", "web").await;
    rack.silo("other-silo").await;
    let admin_elsewhere = user(&rack, "other-silo", "boss", Some("admin")).await;
    let nobody = user(&rack, "default-silo", "new", None).await;

    for client in [&admin_elsewhere, &nobody] {
        for (collection, view, kind) in [
            ("disks", &disk, "disk"),
            ("snapshots", &snapshot, "snapshot"),
            ("images", &image, "image"),
            ("images", &wide, "image"),
            ("me/ssh-keys", &key, "ssh-key"),
        ] {
            let (path, id) = (by_id(collection, view), &view["id"]);
            let missing = format!("not found: {kind} with id {id}");
            client.get(&path).await.refused(404, &missing);
            client.delete(&path).await.refused(404, &missing);
        }
        client.call(&format!("{}/promote", by_id("images", &image))).await.expect(404);
        client.put(&instance_path(&web), update_body()).await.expect(404);
        client.get(&format!("{}/disks", instance_path(&web))).await.expect(404);
        client.get(&format!("{}/ssh-public-keys", instance_path(&web))).await.expect(404);
        let attach = format!("{}/disks/attach", instance_path(&web));
        client.post(&attach, json!({"disk": disk["id"]})).await.expect(404);
        assert!(client.all("/v1/me/ssh-keys").await.is_empty());
        for path in ["/v1/system/hardware/sleds", "/v1/system/silo-quotas"] {
            client.get(path).await.refused(403, "Forbidden");
        }
        client.get("/v1/system/utilization/silos").await.refused(403, "Forbidden");
    }

    // Nor can it be used from elsewhere.
    let body = json!({"name": "theirs", "description": ""});
    admin_elsewhere.post("/v1/projects", body).await.expect(201);
    for (key, kind, view) in [
        ("image_id", "image", &image),
        ("image_id", "image", &wide),
        ("snapshot_id", "snapshot", &snapshot),
    ] {
        let source = json!({"type": kind, key: view["id"]});
        admin_elsewhere
            .post("/v1/disks?project=theirs", disk_from("d", source))
            .await
            .refused(404, &format!("not found: {kind} with id {}", view["id"]));
    }
    admin_elsewhere
        .post("/v1/images", image_body("mine", &snapshot))
        .await
        .refused(404, &format!("not found: snapshot with id {}", snapshot["id"]));
    assert!(admin_elsewhere.all("/v1/images").await.is_empty());
    // The key of one user is not another's to give to an instance.
    let theirs = json!({"ssh_public_keys": [key["id"]], "network_interfaces": {"type": "none"}});
    let body = nexus_tests::make::with(nexus_tests::make::instance_body("i"), theirs);
    admin_elsewhere
        .post("/v1/instances?project=theirs", body)
        .await
        .refused(404, &format!("not found: ssh-key with id {}", key["id"]));
}

#[tokio::test]
async fn a_viewer_looks_and_changes_nothing() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    rack.disk("demo", "data").await;
    let snapshot = rack.snapshot("demo", "s", "data").await;
    rack.image("demo", "debian", &snapshot).await;
    rack.post("/v1/images", image_body("wide", &snapshot)).await.expect(201);
    rack.stopped_instance("demo", "web").await;
    let viewer = user(&rack, "default-silo", "viewer", Some("viewer")).await;
    for path in [
        "/v1/snapshots/s?project=demo",
        "/v1/images/debian?project=demo",
        "/v1/images/wide",
        "/v1/images",
        "/v1/images?project=demo",
        "/v1/instances/web/disks?project=demo",
        "/v1/instances/web/ssh-public-keys?project=demo",
        "/v1/utilization",
        "/v1/system/silos/default-silo/quotas",
    ] {
        viewer.get(path).await.expect(200);
    }
    for path in [
        "/v1/snapshots/s?project=demo",
        "/v1/images/debian?project=demo",
        "/v1/images/wide",
        "/v1/disks/data?project=demo",
    ] {
        viewer.delete(path).await.refused(403, "Forbidden");
    }
    viewer.call("/v1/images/debian/promote?project=demo").await.refused(403, "Forbidden");
    viewer.call("/v1/images/wide/demote?project=demo").await.refused(403, "Forbidden");
    viewer.post("/v1/images", image_body("n", &snapshot)).await.refused(403, "Forbidden");
    let update = viewer.put("/v1/instances/web?project=demo", update_body()).await;
    update.refused(403, "Forbidden");
    for action in ["attach", "detach"] {
        let path = format!("/v1/instances/web/disks/{action}?project=demo");
        viewer.post(&path, json!({"disk": "data"})).await.refused(403, "Forbidden");
    }
    // Not even its administrator raises a silo's quotas: that is the operator's.
    let admin = user(&rack, "default-silo", "boss", Some("admin")).await;
    let quotas = "/v1/system/silos/default-silo/quotas";
    admin.put(quotas, json!({"cpus": 1_000_000})).await.refused(403, "Forbidden");
    let sled = rack.ready().sled_agents[0].id;
    let path = format!("/v1/system/hardware/sleds/{sled}/provision-policy");
    let put = admin.put(&path, json!({"state": "provisionable"})).await;
    put.refused(404, &format!("not found: sled with id \"{sled}\""));
}

/// A limited collaborator makes what instances need, but nothing for the silo as a whole.
#[tokio::test]
async fn a_limited_collaborator_keeps_to_projects() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let limited = user(&rack, "default-silo", "maker", Some("limited_collaborator")).await;
    limited.disk("demo", "data").await;
    let snapshot = limited.snapshot("demo", "s", "data").await;
    limited.image("demo", "debian", &snapshot).await;
    limited.call("/v1/images/debian/promote?project=demo").await.refused(403, "Forbidden");
    limited.post("/v1/images", image_body("wide", &snapshot)).await.refused(403, "Forbidden");
    let wide = rack.post("/v1/images", image_body("wide", &snapshot)).await.expect(201);
    let source = json!({"type": "image", "image_id": wide["id"]});
    limited.post("/v1/disks?project=demo", disk_from("root", source)).await.expect(201);
    limited.delete("/v1/images/wide").await.refused(403, "Forbidden");
    limited.delete("/v1/images/debian?project=demo").await.expect(204);
}
