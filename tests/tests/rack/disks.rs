//! Disks: what is checked, and that they live.

use nexus_tests::TestRack;
use nexus_tests::make::{disk_body, with};
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
