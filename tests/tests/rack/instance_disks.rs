//! Disks that come to an instance, and leave it.

use nexus_tests::TestRack;
use nexus_tests::make::{disk_body, instance_path, update_body, with};
use serde_json::{Value, json};

async fn rack() -> TestRack {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    rack
}

fn id(view: &Value) -> &str {
    view["id"].as_str().expect("a view has an id")
}

#[tokio::test]
async fn a_disk_comes_and_goes() {
    let rack = rack().await;
    let web = rack.stopped_instance("demo", "web").await;
    let other = rack.stopped_instance("demo", "other").await;
    let data = rack.disk("demo", "data").await;
    let disks = format!("{}/disks", instance_path(&web));
    assert!(rack.all(&disks).await.is_empty());

    // Named by its project's name for it, or by its id; once more is what is.
    let by_name = "/v1/instances/web/disks/attach?project=demo";
    let attached = rack.post(by_name, json!({"disk": "data"})).await.expect(202);
    assert_eq!(attached["state"], json!({"state": "attached", "instance": web["id"]}));
    let again = rack.post(&format!("{disks}/attach"), json!({"disk": data["id"]})).await;
    assert_eq!(again.expect(202), attached);
    assert_eq!(rack.all(&disks).await, [attached]);
    rack.post(&format!("{}/disks/attach", instance_path(&other)), json!({"disk": "data"}))
        .await
        .refused(400, "cannot attach disk \"data\": disk is attached to another instance");
    rack.post(&format!("{}/disks/detach", instance_path(&other)), json!({"disk": "data"}))
        .await
        .refused(400, "cannot detach disk \"data\": disk is attached to another instance");

    for _ in 0..2 {
        let detached = rack.post(&format!("{disks}/detach"), json!({"disk": "data"})).await;
        assert_eq!(detached.expect(202)["state"], json!({"state": "detached"}));
    }
    assert!(rack.all(&disks).await.is_empty());
    rack.post(by_name, json!({"disk": "nowhere"}))
        .await
        .refused(404, "not found: disk with name \"nowhere\"");
    rack.post("/v1/instances/nowhere/disks/attach?project=demo", json!({"disk": "data"}))
        .await
        .refused(404, "not found: instance with name \"nowhere\"");
}

#[tokio::test]
async fn only_a_stopped_instance_changes_its_disks() {
    let rack = rack().await;
    rack.disk("demo", "data").await;
    rack.disk("demo", "more").await;
    let disks = json!({"disks": [{"type": "attach", "name": "data"}]});
    let web = rack.instance_with("demo", "web", disks).await;
    rack.state_reached(&web, "running").await;
    let path = format!("{}/disks", instance_path(&web));
    rack.post(&format!("{path}/attach"), json!({"disk": "more"}))
        .await
        .refused(400, "cannot attach disk: instance is not fully stopped");
    rack.post(&format!("{path}/detach"), json!({"disk": "data"}))
        .await
        .refused(400, "cannot detach disk: instance is not fully stopped");
    // What already is needs no change.
    rack.post(&format!("{path}/attach"), json!({"disk": "data"})).await.expect(202);
    rack.post(&format!("{path}/detach"), json!({"disk": "more"})).await.expect(202);
    rack.stop_instance(&web).await;
    rack.post(&format!("{path}/detach"), json!({"disk": "data"})).await.expect(202);
    rack.post(&format!("{path}/attach"), json!({"disk": "more"})).await.expect(202);
    rack.settled().await;
}

#[tokio::test]
async fn a_failed_instance_lets_disks_go_and_takes_none() {
    let rack = rack().await;
    rack.disk("demo", "data").await;
    rack.disk("demo", "more").await;
    let disks = json!({"disks": [{"type": "attach", "name": "data"}]});
    let web = rack.instance_with("demo", "web", disks).await;
    rack.state_reached(&web, "running").await;
    let vmm = rack.vmm_of(&web).await.expect("it runs");
    rack.sled(vmm.sled).crash(&vmm.id).await;
    rack.state_reached(&web, "failed").await;
    let path = format!("{}/disks", instance_path(&web));
    rack.post(&format!("{path}/attach"), json!({"disk": "more"}))
        .await
        .refused(400, "cannot attach disk to instance in failed state");
    rack.post(&format!("{path}/detach"), json!({"disk": "data"})).await.expect(202);
}

#[tokio::test]
async fn an_instance_has_room_for_twelve() {
    let rack = rack().await;
    let disks: Vec<Value> =
        (0..12).map(|n| with(disk_body(&format!("d{n:02}")), json!({"type": "create"}))).collect();
    let web = rack.instance_with("demo", "web", json!({"start": false, "disks": disks})).await;
    let path = format!("{}/disks", instance_path(&web));
    let all = rack.all(&format!("{path}?limit=5")).await;
    assert_eq!(all.len(), 12);
    for disk in &all {
        assert_eq!(disk["time_created"], disk["time_modified"], "made in one go");
    }
    rack.disk("demo", "one-more").await;
    rack.post(&format!("{path}/attach"), json!({"disk": "one-more"}))
        .await
        .refused(400, "cannot attach more than 12 disks to instance");
    rack.post(&format!("{path}/detach"), json!({"disk": "d05"})).await.expect(202);
    rack.post(&format!("{path}/attach"), json!({"disk": "one-more"})).await.expect(202);
}

#[tokio::test]
async fn a_boot_disk_stays_until_another_is_chosen() {
    let rack = rack().await;
    let root = with(disk_body("root"), json!({"type": "create"}));
    let with_root = json!({"start": false, "boot_disk": root});
    let web = rack.instance_with("demo", "web", with_root).await;
    let root = rack.get("/v1/disks/root?project=demo").await.expect(200);
    assert_eq!(web["boot_disk_id"], root["id"]);
    let path = format!("{}/disks", instance_path(&web));
    rack.post(&format!("{path}/detach"), json!({"disk": "root"}))
        .await
        .refused(409, "boot disk cannot be detached");
    rack.put(&instance_path(&web), update_body()).await.expect(200);
    rack.post(&format!("{path}/detach"), json!({"disk": "root"})).await.expect(202);
}

#[tokio::test]
async fn a_disk_stays_in_its_project() {
    let rack = rack().await;
    rack.project("other").await;
    let web = rack.stopped_instance("demo", "web").await;
    let foreign = rack.disk("other", "data").await;
    let path = format!("{}/disks/attach", instance_path(&web));
    rack.post(&path, json!({"disk": "data"}))
        .await
        .refused(404, "not found: disk with name \"data\"");
    rack.post(&path, json!({"disk": foreign["id"]}))
        .await
        .refused(400, "disk must be in the same project as the instance");
    let now = rack.get(&format!("/v1/disks/{}", id(&foreign))).await.expect(200);
    assert_eq!(now["state"], json!({"state": "detached"}));
}

/// Two instances reach for one disk at the same time: one gets it.
#[tokio::test]
async fn a_disk_goes_to_one_of_those_who_race_for_it() {
    let rack = rack().await;
    let web = rack.stopped_instance("demo", "web").await;
    let other = rack.stopped_instance("demo", "other").await;
    for round in 0..5 {
        let name = format!("data{round}");
        rack.disk("demo", &name).await;
        let attach = async |instance: &Value| {
            let path = format!("{}/disks/attach", instance_path(instance));
            rack.post(&path, json!({"disk": name})).await.one_of(&[202, 400])
        };
        let outcomes = futures::join!(attach(&web), attach(&other));
        assert!(matches!(outcomes, (202, 400) | (400, 202)), "{outcomes:?}");
    }
}
