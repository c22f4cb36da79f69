//! Disks: what is checked, and that they live.

use nexus_tests::TestRack;
use nexus_tests::make::{disk_body, instance_body, instance_path, with};
use serde_json::{Value, json};

const DISKS: &str = "/v1/disks?project=demo";
const GIB: u64 = 1 << 30;

#[tokio::test]
async fn a_disk_lives() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let disk = rack.disk("demo", "data").await;
    assert_eq!((&disk["size"], &disk["block_size"]), (&json!(GIB), &json!(512)));
    let seen = rack.get("/v1/disks/data?project=demo").await.expect(200);
    assert_eq!(seen["state"], json!({"state": "detached"}));
    assert_eq!(rack.all(DISKS).await.len(), 1);
    rack.post(DISKS, disk_body("data")).await.refused(400, "already exists: disk \"data\"");
    rack.delete("/v1/disks/data?project=demo").await.expect(204);
    rack.get("/v1/disks/data?project=demo")
        .await
        .refused(404, "not found: disk with name \"data\"");
}

#[tokio::test]
async fn sizes_are_checked() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let create = async |changes: Value| rack.post(DISKS, with(disk_body("data"), changes)).await;
    let size = |text: &str| format!("unsupported value for \"size\": {text}");
    create(json!({"size": GIB / 2})).await.refused(400, &size("total size must be at least 1 GiB"));
    create(json!({"size": GIB + 512}))
        .await
        .refused(400, &size("total size must be a multiple of 1 GiB"));
    create(json!({"size": 1024 * GIB}))
        .await
        .refused(400, &size("total size must be less than 1023 GiB"));
    create(json!({"size": GIB + 1})).await.refused(
        400,
        "unsupported value for \"size and block_size\": total size must be a multiple of block \
         size 512",
    );
    create(json!({"size": 1023 * GIB})).await.expect(201);
}

#[tokio::test]
async fn a_disk_goes_with_its_instance() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let data = rack.disk("demo", "data").await;
    let new = with(disk_body("root"), json!({"type": "create"}));
    let disks = json!({
        "start": false,
        "disks": [new, {"type": "attach", "name": "data"}],
    });
    let web = rack.instance_with("demo", "web", disks).await;
    for name in ["data", "root"] {
        let seen = rack.get(&format!("/v1/disks/{name}?project=demo")).await.expect(200);
        assert_eq!(seen["state"], json!({"state": "attached", "instance": web["id"]}));
        rack.delete(&format!("/v1/disks/{name}?project=demo"))
            .await
            .refused(400, "disk cannot be deleted in state \"attached\"");
    }
    // It is one instance's at a time, and who cannot have it is not made at all.
    let mut body = instance_body("other");
    body["disks"] = json!([{"type": "attach", "name": "data"}]);
    rack.post("/v1/instances?project=demo", body.clone())
        .await
        .refused(400, "cannot attach disk \"data\": disk is attached to another instance");
    rack.get("/v1/instances/other?project=demo").await.expect(404);
    body["disks"] = json!([{"type": "attach", "name": "nowhere"}]);
    rack.post("/v1/instances?project=demo", body.clone())
        .await
        .refused(404, "not found: disk with name \"nowhere\"");
    body["disks"] = json!(vec![json!({"type": "attach", "name": "data"}); 13]);
    rack.post("/v1/instances?project=demo", body)
        .await
        .refused(400, "cannot attach more than 12 disks to instance");

    rack.delete(&instance_path(&web)).await.expect(204);
    let id = data["id"].as_str().expect("an id");
    let seen = rack.get(&format!("/v1/disks/{id}")).await.expect(200);
    assert_eq!(seen["state"], json!({"state": "detached"}), "disks outlive their instance");
    rack.delete(&format!("/v1/disks/{id}?project=demo"))
        .await
        .refused(400, "when providing disk as an ID project should not be specified");
    rack.get("/v1/disks/data")
        .await
        .refused(400, "disk should either be UUID or project should be specified");
    rack.delete(&format!("/v1/disks/{id}")).await.expect(204);
}
