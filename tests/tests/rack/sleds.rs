//! Sleds, as operators see them.

use nexus_dev::part::Part;
use nexus_tests::{TestRack, eventually};
use serde_json::{Value, json};
use uuid::Uuid;

const SLEDS: &str = "/v1/system/hardware/sleds";

fn id(view: &Value) -> Uuid {
    view["id"].as_str().expect("a view has an id").parse().expect("a UUID")
}

fn policy(of: &str) -> Value {
    json!({"kind": "in_service", "provision_policy": of})
}

#[tokio::test]
async fn the_sleds_are_those_that_registered() {
    let rack = TestRack::start().await;
    let sleds = rack.all(SLEDS).await;
    let mut expected: Vec<_> = rack.ready().sled_agents.iter().map(|sled| sled.id).collect();
    expected.sort();
    let ids: Vec<Uuid> = sleds.iter().map(id).collect();
    assert_eq!(ids, expected);
    for sled in &sleds {
        assert_eq!((&sled["policy"], &sled["state"]), (&policy("provisionable"), &json!("active")));
        assert!(sled["usable_hardware_threads"].as_u64() > Some(0));
        assert!(sled["baseboard"]["serial"].is_string());
        let path = format!("{SLEDS}/{}", id(sled));
        assert_eq!(rack.get(&path).await.expect(200), *sled);
        assert!(rack.all(&format!("{path}/instances")).await.is_empty());
    }
    assert_eq!(sleds[0]["rack_id"], sleds[1]["rack_id"]);
}

#[tokio::test]
async fn a_sled_says_what_it_runs() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let web = rack.running_instance("demo", "web").await;
    let on = rack.vmm_of(&web).await.expect("it runs").sled;
    let sleds: Vec<_> = rack.ready().sled_agents.iter().map(|sled| sled.id).collect();
    let found = rack.all(&format!("{SLEDS}/{}/instances", sleds[on])).await;
    assert_eq!(found.len(), 1);
    let expected = json!({
        "id": web["id"], "name": "web", "silo_name": "default-silo", "project_name": "demo",
        "active_sled_id": sleds[on], "migration_id": null, "state": "running", "ncpus": 1,
        "memory": 1_u64 << 30, "time_created": web["time_created"],
        "time_modified": web["time_modified"],
    });
    assert_eq!(found[0], expected);
    assert!(rack.all(&format!("{SLEDS}/{}/instances", sleds[1 - on])).await.is_empty());
    rack.stop_instance(&web).await;
    assert!(rack.all(&format!("{SLEDS}/{}/instances", sleds[on])).await.is_empty());
}

/// What an operator wants of a sled is not for the sled to forget.
#[tokio::test]
async fn a_sled_that_registers_again_keeps_its_policy() {
    let rack = TestRack::start().await;
    let path = format!("{SLEDS}/{}", rack.ready().sled_agents[0].id);
    let body = json!({"state": "non_provisionable"});
    let before = rack.put(&format!("{path}/provision-policy"), body).await;
    assert_eq!(before.expect(200)["old_state"], "provisionable");
    let changed = rack.get(&path).await.expect(200);
    rack.kill(Part::SledAgent(0));
    rack.restart(Part::SledAgent(0)).await;
    let now = eventually("the sled registers again", async || {
        let now = rack.get(&path).await.expect(200);
        if now["time_modified"] == changed["time_modified"] { Err(now) } else { Ok(now) }
    })
    .await;
    assert_eq!(now["policy"], policy("non_provisionable"));
    assert_eq!(now["time_created"], changed["time_created"]);
}

#[tokio::test]
async fn nothing_new_is_placed_where_the_operator_wants_none() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let sleds: Vec<_> = rack.ready().sled_agents.iter().map(|sled| sled.id).collect();
    let set = async |sled: Uuid, state: &str| {
        let path = format!("{SLEDS}/{sled}/provision-policy");
        rack.put(&path, json!({"state": state})).await
    };
    let changed = set(sleds[0], "non_provisionable").await.expect(200);
    let expected = json!({"old_state": "provisionable", "new_state": "non_provisionable"});
    assert_eq!(changed, expected);
    let view = rack.get(&format!("{SLEDS}/{}", sleds[0])).await.expect(200);
    assert_eq!(view["policy"], policy("non_provisionable"));
    for name in ["a", "b", "c"] {
        let instance = rack.running_instance("demo", name).await;
        assert_eq!(rack.vmm_of(&instance).await.expect("it runs").sled, 1);
    }
    set(sleds[1], "non_provisionable").await.expect(200);
    let d = rack.stopped_instance("demo", "d").await;
    let start = format!("/v1/instances/{}/start", id(&d));
    rack.call(&start).await.refused_about(507, "Failed to place instance");
    set(sleds[0], "provisionable").await.expect(200);
    rack.call(&start).await.expect(202);
    let nil = Uuid::nil();
    set(nil, "provisionable").await.refused(404, &format!("not found: sled with id \"{nil}\""));
}
