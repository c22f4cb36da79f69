//! SSH keys of users, and of instances.

use nexus_tests::TestRack;
use nexus_tests::make::{instance_body, instance_path};
use serde_json::{Value, json};

const KEYS: &str = "/v1/me/ssh-keys";
const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGfaketestkey admin@demo";

fn body(name: &str) -> Value {
    json!({"name": name, "description": "a key", "public_key": KEY})
}

fn names(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["name"].as_str().expect("a name")).collect()
}

#[tokio::test]
async fn a_key_lives() {
    let rack = TestRack::start().await;
    let me = rack.get("/v1/me").await.expect(200);
    let key = rack.post(KEYS, body("laptop")).await.expect(201);
    assert_eq!((&key["public_key"], &key["silo_user_id"]), (&json!(KEY), &me["id"]));
    assert_eq!(key["time_created"], key["time_modified"]);
    rack.post(KEYS, body("laptop")).await.refused(400, "already exists: ssh-key \"laptop\"");
    let by_id = format!("{KEYS}/{}", key["id"].as_str().expect("an id"));
    assert_eq!(rack.get(&by_id).await.expect(200), key);
    assert_eq!(rack.get("/v1/me/ssh-keys/laptop").await.expect(200), key);
    assert_eq!(rack.all(KEYS).await, [key]);
    for (bad, message) in [("x".repeat(4097), "at most 4096"), ("a\nb".into(), "control")] {
        let mut body = body("bad");
        body["public_key"] = json!(bad);
        rack.post(KEYS, body).await.refused_about(400, message);
    }
    rack.delete(&by_id).await.expect(204);
    rack.delete(&by_id).await.expect(404);
    rack.get("/v1/me/ssh-keys/laptop")
        .await
        .refused(404, "not found: ssh-key with name \"laptop\"");
    rack.post(KEYS, body("laptop")).await.expect(201);
}

#[tokio::test]
async fn an_instance_is_made_with_keys() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let laptop = rack.post(KEYS, body("laptop")).await.expect(201);
    rack.post(KEYS, body("desktop")).await.expect(201);
    let keys_of = async |instance: &Value| {
        rack.all(&format!("{}/ssh-public-keys", instance_path(instance))).await
    };
    let make = async |name: &str, keys: Value| {
        let changes = json!({"start": false, "ssh_public_keys": keys});
        rack.instance_with("demo", name, changes).await
    };
    let all = make("all", json!(null)).await;
    assert_eq!(names(&keys_of(&all).await), ["desktop", "laptop"]);
    let none = make("none", json!([])).await;
    assert!(keys_of(&none).await.is_empty());
    let one = make("one", json!([laptop["id"], "laptop"])).await;
    assert_eq!(keys_of(&one).await, [laptop]);
    let by_name = "/v1/instances/one/ssh-public-keys?project=demo";
    assert_eq!(rack.all(by_name).await.len(), 1);

    let refused = async |keys: Value| {
        let mut body = instance_body("other");
        body["ssh_public_keys"] = keys;
        rack.post("/v1/instances?project=demo", body).await
    };
    refused(json!(["nowhere"])).await.refused(404, "not found: ssh-key with name \"nowhere\"");
    refused(json!(vec!["laptop"; 101]))
        .await
        .refused(400, "cannot attach more than 100 ssh keys to the instance");
    rack.get("/v1/instances/other?project=demo").await.expect(404);

    // A key that comes later is not theirs, and one that goes leaves them.
    rack.post(KEYS, body("tablet")).await.expect(201);
    rack.delete("/v1/me/ssh-keys/laptop").await.expect(204);
    assert_eq!(names(&keys_of(&all).await), ["desktop"]);
    assert!(keys_of(&one).await.is_empty());
}

#[tokio::test]
async fn nobody_is_in_a_group() {
    let rack = TestRack::start().await;
    let page = rack.get("/v1/me/groups").await.expect(200);
    assert_eq!(page, json!({"items": [], "next_page": null}));
}
