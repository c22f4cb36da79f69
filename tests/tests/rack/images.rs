//! Snapshots and images, and disks that are made from them.

use nexus_tests::TestRack;
use nexus_tests::make::{disk_body, disk_from, image_body, with};
use serde_json::{Value, json};
use uuid::Uuid;

const DISKS: &str = "/v1/disks?project=demo";
const SNAPSHOTS: &str = "/v1/snapshots?project=demo";
const IMAGES: &str = "/v1/images?project=demo";
const GIB: u64 = 1 << 30;

async fn rack() -> TestRack {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    rack.project("other").await;
    rack.post(DISKS, with(disk_body("big"), json!({"size": 2 * GIB}))).await.expect(201);
    rack
}

fn id(view: &Value) -> &str {
    view["id"].as_str().expect("a view has an id")
}

#[tokio::test]
async fn a_snapshot_lives() {
    let rack = rack().await;
    let body = json!({"name": "s", "description": "as it was", "disk": "big"});
    let snapshot = rack.post(SNAPSHOTS, body.clone()).await.expect(201);
    let disk = rack.get("/v1/disks/big?project=demo").await.expect(200);
    assert_eq!(snapshot["disk_id"], disk["id"]);
    assert_eq!(snapshot["project_id"], disk["project_id"]);
    assert_eq!((&snapshot["size"], &snapshot["state"]), (&json!(2 * GIB), &json!("ready")));
    assert_eq!(snapshot["time_created"], snapshot["time_modified"]);
    rack.post(SNAPSHOTS, body).await.refused(400, "already exists: snapshot \"s\"");
    let by_id = format!("/v1/snapshots/{}", id(&snapshot));
    assert_eq!(rack.get(&by_id).await.expect(200), snapshot);
    assert_eq!(rack.get("/v1/snapshots/s?project=demo").await.expect(200), snapshot);
    rack.get("/v1/snapshots/s")
        .await
        .refused(400, "snapshot should either be an ID or project should be specified");
    rack.get(&format!("{by_id}?project=demo"))
        .await
        .refused(400, "when providing snapshot as an ID, project should not be specified");
    let long = json!({"name": "t", "description": "x".repeat(513), "disk": "big"});
    rack.post(SNAPSHOTS, long).await.refused_about(400, "at most 512 characters");

    // It outlives its disk, and keeps its project.
    rack.delete("/v1/disks/big?project=demo").await.expect(204);
    assert_eq!(rack.get(&by_id).await.expect(200), snapshot);
    rack.delete("/v1/projects/demo")
        .await
        .refused(400, "project to be deleted contains a snapshot: s");
    rack.delete("/v1/snapshots/s?project=demo").await.expect(204);
    rack.get(&by_id).await.expect(404);
    rack.get("/v1/snapshots/s?project=demo")
        .await
        .refused(404, "not found: snapshot with name \"s\"");
    assert!(rack.all(SNAPSHOTS).await.is_empty());
    rack.delete("/v1/projects/demo").await.expect(204);
}

#[tokio::test]
async fn a_snapshot_is_of_a_disk_of_its_project() {
    let rack = rack().await;
    let create = async |project: &str, disk: Value| {
        let body = json!({"name": "s", "description": "", "disk": disk});
        rack.post(&format!("/v1/snapshots?project={project}"), body).await
    };
    create("demo", json!("nowhere")).await.refused(404, "not found: disk with name \"nowhere\"");
    let disk = rack.get("/v1/disks/big?project=demo").await.expect(200);
    create("other", disk["id"].clone())
        .await
        .refused(400, "can't create a snapshot of a disk in a different project");
    let local = with(disk_body("local"), json!({"disk_backend": {"type": "local"}}));
    rack.post(DISKS, local).await.expect(201);
    create("demo", json!("local")).await.refused(400, "cannot create a snapshot of a local disk");
    create("demo", disk["id"].clone()).await.expect(201);
}

#[tokio::test]
async fn an_image_lives() {
    let rack = rack().await;
    let snapshot = rack.snapshot("demo", "s", "big").await;
    let image = rack.image("demo", "debian", &snapshot).await;
    assert_eq!((&image["os"], &image["version"]), (&json!("debian"), &json!("13")));
    assert_eq!((&image["size"], &image["block_size"]), (&json!(2 * GIB), &json!(512)));
    assert_eq!(image["project_id"], snapshot["project_id"]);
    assert_eq!(image["time_created"], image["time_modified"]);
    rack.post(IMAGES, image_body("debian", &snapshot))
        .await
        .refused(400, "already exists: project-image \"debian\"");
    let by_id = format!("/v1/images/{}", id(&image));
    assert_eq!(rack.get(&by_id).await.expect(200), image);
    assert_eq!(rack.get("/v1/images/debian?project=demo").await.expect(200), image);
    rack.get("/v1/images/debian").await.refused(404, "not found: silo-image with name \"debian\"");
    rack.get(&format!("{by_id}?project=demo"))
        .await
        .refused(400, "when providing image as an ID, project should not be specified");
    rack.post("/v1/images?project=other", image_body("debian", &snapshot))
        .await
        .refused(400, "snapshot does not belong to this project");
    let nothing = json!({"id": Uuid::nil()});
    rack.post(IMAGES, image_body("n", &nothing))
        .await
        .refused(404, &format!("not found: snapshot with id \"{}\"", Uuid::nil()));
    let long = with(image_body("n", &snapshot), json!({"os": "x".repeat(65)}));
    rack.post(IMAGES, long)
        .await
        .refused(400, "unsupported value for \"os\": os may contain at most 64 characters");
    let odd = with(image_body("n", &snapshot), json!({"version": "1\u{0}2"}));
    rack.post(IMAGES, odd).await.refused_about(400, "control characters");

    rack.delete("/v1/snapshots/s?project=demo").await.expect(204);
    rack.delete("/v1/disks/big?project=demo").await.expect(204);
    rack.delete("/v1/projects/demo")
        .await
        .refused(400, "project to be deleted contains a project image: debian");
    rack.delete("/v1/images/debian?project=demo").await.expect(204);
    rack.get(&by_id).await.expect(404);
    rack.delete("/v1/projects/demo").await.expect(204);
}

#[tokio::test]
async fn an_image_is_promoted_and_demoted() {
    let rack = rack().await;
    let snapshot = rack.snapshot("demo", "s", "big").await;
    let image = rack.image("demo", "debian", &snapshot).await;
    rack.call("/v1/images/debian/demote?project=demo")
        .await
        .refused(404, "not found: silo-image with name \"debian\"");
    let by_id = format!("/v1/images/{}", id(&image));
    rack.call(&format!("{by_id}/demote?project=demo"))
        .await
        .refused(400, "cannot demote an image of a project");

    let promoted = rack.call("/v1/images/debian/promote?project=demo").await.expect(202);
    assert!(promoted["project_id"].is_null());
    assert_eq!(rack.get("/v1/images/debian").await.expect(200), promoted);
    assert!(rack.all(IMAGES).await.is_empty());
    assert_eq!(rack.all("/v1/images").await, [promoted]);
    rack.call(&format!("{by_id}/promote"))
        .await
        .refused(400, "cannot promote an image of the silo");
    // Another of its name stays where it is.
    rack.image("demo", "debian", &snapshot).await;
    rack.call("/v1/images/debian/promote?project=demo")
        .await
        .refused(400, "already exists: silo-image \"debian\"");
    rack.call("/v1/images/debian/demote?project=demo")
        .await
        .refused(400, "already exists: project-image \"debian\"");

    let other = rack.get("/v1/projects/other").await.expect(200);
    let demoted = rack.call("/v1/images/debian/demote?project=other").await.expect(202);
    assert_eq!(demoted["project_id"], other["id"]);
    assert_eq!(demoted["id"], image["id"]);
    assert!(rack.all("/v1/images").await.is_empty());

    // Made for the silo at once, from a snapshot of any of its projects.
    let made = rack.post("/v1/images", image_body("silo-wide", &snapshot)).await.expect(201);
    assert!(made["project_id"].is_null());
    rack.post("/v1/images", image_body("silo-wide", &snapshot))
        .await
        .refused(400, "already exists: silo-image \"silo-wide\"");
    rack.delete("/v1/images/silo-wide").await.expect(204);
}

/// Clients of old versions have an image without any snapshot.
#[tokio::test]
async fn there_is_always_alpine() {
    let rack = rack().await;
    let source = json!({"type": "you_can_boot_anything_as_long_as_its_alpine"});
    let body = json!({
        "name": "alpine", "description": "", "os": "ignored", "version": "too", "source": source,
    });
    let image = rack.without_version().post(IMAGES, body).await.expect(201);
    assert_eq!((&image["os"], &image["version"]), (&json!("alpine"), &json!("propolis-blob")));
    let source = json!({"type": "image", "image_id": image["id"]});
    let disk = rack.post(DISKS, disk_from("root", source)).await.expect(201);
    assert_eq!((&disk["image_id"], &disk["block_size"]), (&image["id"], &json!(512)));
}

#[tokio::test]
async fn disks_are_made_from_images_and_snapshots() {
    let rack = rack().await;
    let snapshot = rack.snapshot("demo", "s", "big").await;
    let image = rack.image("demo", "debian", &snapshot).await;
    let create = async |project: &str, source: Value, size: u64| {
        let body = with(disk_from("new", source), json!({"size": size}));
        rack.post(&format!("/v1/disks?project={project}"), body).await
    };
    for (kind, source) in [("image", &image), ("snapshot", &snapshot)] {
        let of = |id: &Value, read_only: bool| {
            let key = format!("{kind}_id");
            json!({"type": kind, key: id, "read_only": read_only})
        };
        let missing = of(&json!(Uuid::nil()), false);
        create("demo", missing, 2 * GIB)
            .await
            .refused(404, &format!("not found: {kind} with id \"{}\"", Uuid::nil()));
        create("other", of(&source["id"], false), 2 * GIB)
            .await
            .refused(400, &format!("{kind} does not belong to this project"));
        create("demo", of(&source["id"], false), GIB).await.refused(
            400,
            &format!("disk size {GIB} must be greater than or equal to {kind} size {}", 2 * GIB),
        );
        create("demo", of(&source["id"], true), 3 * GIB).await.refused(
            400,
            &format!(
                "read-only disk size {} must be equal to source {kind} size {}",
                3 * GIB,
                2 * GIB
            ),
        );
        for (read_only, size) in [(false, 3 * GIB), (true, 2 * GIB)] {
            let disk = create("demo", of(&source["id"], read_only), size).await.expect(201);
            assert_eq!(disk[format!("{kind}_id")], source["id"]);
            assert_eq!(disk["read_only"], read_only);
            assert_eq!(disk["state"], json!({"state": "detached"}));
            rack.delete("/v1/disks/new?project=demo").await.expect(204);
        }
    }
    // An image of the silo is for every project.
    rack.call("/v1/images/debian/promote?project=demo").await.expect(202);
    let source = json!({"type": "image", "image_id": image["id"]});
    let disk = create("other", source, 2 * GIB).await.expect(201);
    assert_eq!(disk["image_id"], image["id"]);
    // What a disk was made from may go.
    rack.delete("/v1/images/debian").await.expect(204);
    let disk = rack.get("/v1/disks/new?project=other").await.expect(200);
    assert_eq!(disk["image_id"], image["id"]);
}

/// Writes to a disk, as the CLI and the console do.
async fn write_to(rack: &TestRack, disk: &str) {
    let path = |what: &str| format!("/v1/disks/{disk}/{what}?project=demo");
    let write = async |offset: u64, bytes: usize| {
        let data = "AAAA".repeat(bytes / 3) + ["", "AA==", "AAA="][bytes % 3];
        let body = json!({"offset": offset, "base64_encoded_data": data});
        rack.post(&path("bulk-write"), body).await
    };
    write(0, 512)
        .await
        .refused(400, "cannot import blocks with a bulk write for disk in state import_ready");
    rack.call(&path("bulk-write-stop"))
        .await
        .refused(400, "cannot set disk in state import_ready to import_ready");
    rack.call(&path("bulk-write-start")).await.expect(204);
    let now = rack.get(&format!("/v1/disks/{disk}?project=demo")).await.expect(200);
    assert_eq!(now["state"], json!({"state": "importing_from_bulk_writes"}));
    write(0, 512 << 10).await.expect(204);
    write(GIB - 512, 512).await.expect(204);
    for (offset, bytes, message) in [
        (1, 512, "multiples of the block size 512"),
        (0, 511, "multiples of the block size 512"),
        (0, (512 << 10) + 512, "at most 524288 bytes"),
        (GIB, 512, "within the disk's 1073741824 bytes"),
        (u64::MAX - 511, 512, "within the disk's 1073741824 bytes"),
    ] {
        write(offset, bytes).await.refused_about(400, message);
    }
    let body = json!({"offset": 0, "base64_encoded_data": "?"});
    rack.post(&path("bulk-write"), body).await.refused_about(400, "invalid Base64");
    rack.post(&path("finalize"), json!({}))
        .await
        .refused_about(400, "cannot finalize disk in state importing_from_bulk_writes");
    rack.call(&path("bulk-write-stop")).await.expect(204);
}

/// A project is not deleted under an image that is being made in it.
#[tokio::test]
async fn nothing_is_made_in_a_project_that_goes() {
    let rack = rack().await;
    let source = json!({"type": "you_can_boot_anything_as_long_as_its_alpine"});
    let body = with(image_body("alpine", &json!({})), json!({"source": source}));
    for round in 0..8 {
        let name = format!("p{round}");
        rack.project(&name).await;
        let create = async {
            let reply = rack.post(&format!("/v1/images?project={name}"), body.clone()).await;
            reply.one_of(&[201, 404])
        };
        let delete =
            async { rack.delete(&format!("/v1/projects/{name}")).await.one_of(&[204, 400]) };
        let outcomes = futures::join!(create, delete);
        assert!(matches!(outcomes, (201, 400) | (404, 204)), "{outcomes:?}");
    }
}

#[tokio::test]
async fn a_disk_waits_for_its_content() {
    let rack = rack().await;
    let importing =
        |name: &str| disk_from(name, json!({"type": "importing_blocks", "block_size": 512}));
    let disk = rack.post(DISKS, importing("a")).await.expect(201);
    assert_eq!(disk["state"], json!({"state": "import_ready"}));
    rack.delete("/v1/disks/a?project=demo")
        .await
        .refused(400, "disk cannot be deleted in state \"import_ready\"");
    rack.stopped_instance("demo", "web").await;
    rack.post("/v1/instances/web/disks/attach?project=demo", json!({"disk": "a"}))
        .await
        .refused(400, "cannot attach disk \"a\": invalid state import_ready");
    let mut body = nexus_tests::make::instance_body("made");
    body["disks"] = json!([with(importing("b"), json!({"type": "create"}))]);
    rack.post("/v1/instances?project=demo", body)
        .await
        .refused(400, "cannot attach disk \"b\": invalid state import_ready");

    let finalize = "/v1/disks/a/finalize?project=demo";
    write_to(&rack, "a").await;
    rack.post(finalize, json!({"snapshot_name": "imported"})).await.expect(204);
    let snapshot = rack.get("/v1/snapshots/imported?project=demo").await.expect(200);
    assert_eq!(snapshot["disk_id"], disk["id"]);
    rack.post(finalize, json!({}))
        .await
        .refused_about(400, "cannot finalize disk in state detached");
    rack.delete("/v1/disks/a?project=demo").await.expect(204);

    // Where the snapshot cannot be made, nothing is finalized.
    rack.post(DISKS, importing("c")).await.expect(201);
    let finalize = "/v1/disks/c/finalize?project=demo";
    rack.post(finalize, json!({"snapshot_name": "imported"}))
        .await
        .refused(400, "already exists: snapshot \"imported\"");
    rack.post(finalize, json!({})).await.expect(204);
}
