//! Changing instances.

use nexus_tests::TestRack;
use nexus_tests::make::{instance_path, update_body, with};
use serde_json::{Value, json};

const GIB: u64 = 1 << 30;

async fn rack() -> TestRack {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    rack
}

#[tokio::test]
async fn every_field_changes() {
    let rack = rack().await;
    let web = rack.stopped_instance("demo", "web").await;
    let data = rack.disk("demo", "data").await;
    let attach = format!("{}/disks/attach", instance_path(&web));
    rack.post(&attach, json!({"disk": "data"})).await.expect(202);
    let change = json!({
        "ncpus": 4, "memory": 8 * GIB, "boot_disk": "data", "auto_restart_policy": "never",
        "cpu_platform": "amd_milan", "enable_jumbo_frames": false,
    });
    let path = "/v1/instances/web?project=demo";
    let changed = rack.put(path, change.clone()).await.expect(200);
    let expected = with(
        change,
        json!({
            "boot_disk": null, "boot_disk_id": data["id"], "auto_restart_enabled": false,
            "name": "web", "hostname": "web", "run_state": "stopped",
        }),
    );
    for (field, value) in expected.as_object().expect("fields") {
        if field != "boot_disk" {
            assert_eq!(changed[field], *value, "{field}");
        }
    }
    assert!(changed["time_modified"].as_str() > web["time_modified"].as_str());
    assert_eq!(rack.instance_now(&web).await, changed);

    // By id as well, and back again: null is none.
    let by_id = with(update_body(), json!({"boot_disk": data["id"]}));
    assert_eq!(rack.put(path, by_id).await.expect(200)["boot_disk_id"], data["id"]);
    let back = rack.put(path, update_body()).await.expect(200);
    for field in ["boot_disk_id", "auto_restart_policy", "cpu_platform"] {
        assert!(back[field].is_null(), "{field}");
    }
    assert_eq!((&back["ncpus"], &back["memory"]), (&json!(1), &json!(GIB)));
    assert_eq!(back["auto_restart_enabled"], true);
}

#[tokio::test]
async fn what_needs_a_stopped_instance_waits() {
    let rack = rack().await;
    rack.disk("demo", "data").await;
    let disks = json!({"disks": [{"type": "attach", "name": "data"}]});
    let web = rack.instance_with("demo", "web", disks).await;
    rack.state_reached(&web, "running").await;
    let update =
        async |change: Value| rack.put(&instance_path(&web), with(update_body(), change)).await;
    for (change, message) in [
        (json!({"ncpus": 2}), "instance must be stopped to change CPU or memory"),
        (json!({"memory": 2 * GIB}), "instance must be stopped to change CPU or memory"),
        (json!({"cpu_platform": "amd_milan"}), "instance must be stopped to change CPU platform"),
        (json!({"boot_disk": "data"}), "instance must be stopped to set boot disk"),
    ] {
        // One thing that cannot be done keeps the others from being done.
        let change = with(change, json!({"auto_restart_policy": "never"}));
        update(change).await.refused(409, message);
    }
    assert!(rack.instance_now(&web).await["auto_restart_policy"].is_null());
    let changed = update(json!({"auto_restart_policy": "best_effort"})).await.expect(200);
    assert_eq!(changed["auto_restart_policy"], "best_effort");
    assert_eq!(changed["run_state"], "running");
}

#[tokio::test]
async fn what_is_asked_is_checked() {
    let rack = rack().await;
    let web = rack.stopped_instance("demo", "web").await;
    rack.disk("demo", "data").await;
    let update =
        async |change: Value| rack.put(&instance_path(&web), with(update_body(), change)).await;
    let size = |text: &str| format!("unsupported value for \"size\": {text}");
    for (change, message) in [
        (json!({"ncpus": 255}), "cannot have more than 254 vCPUs per instance".to_string()),
        (json!({"memory": GIB - 1}), size("memory must be at least 1 GiB")),
        (json!({"memory": GIB + 1}), size("memory must be divisible by 1 GiB")),
        (
            json!({"enable_jumbo_frames": true}),
            "enable_jumbo_frames may only be set to true when the fleet-wide jumbo-frames opt-in \
             is enabled by a fleet administrator"
                .to_string(),
        ),
    ] {
        update(change).await.refused(400, &message);
    }
    update(json!({"boot_disk": "data"})).await.refused(409, "boot disk must be attached");
    update(json!({"boot_disk": "nowhere"}))
        .await
        .refused(404, "not found: disk with name \"nowhere\"");
    update(json!({"multicast_groups": [{"group": "g"}]}))
        .await
        .refused(404, "not found: multicast-group with name \"g\"");
    update(json!({"multicast_groups": []})).await.expect(200);
    for field in ["boot_disk", "auto_restart_policy", "cpu_platform", "enable_jumbo_frames"] {
        let mut body = update_body();
        body.as_object_mut().expect("fields").remove(field);
        rack.put(&instance_path(&web), body)
            .await
            .refused_about(400, &format!("missing field `{field}`"));
    }
}

/// Clients of old versions do not know of all fields.
#[tokio::test]
async fn an_old_client_updates() {
    let rack = rack().await;
    let web = rack.stopped_instance("demo", "web").await;
    let body = json!({"ncpus": 2, "memory": 2 * GIB, "auto_restart_policy": "never"});
    let changed = rack.without_version().put(&instance_path(&web), body).await.expect(200);
    assert_eq!((&changed["ncpus"], &changed["auto_restart_policy"]), (&json!(2), &json!("never")));
}

/// A new instance is what was asked for, to the last field.
#[tokio::test]
async fn a_new_instance_is_what_was_asked_for() {
    let rack = rack().await;
    let asked = json!({
        "start": false, "ncpus": 3, "memory": 2 * GIB, "hostname": "Web.example",
        "auto_restart_policy": "best_effort", "cpu_platform": "amd_turin_v2",
        "multicast_groups": [], "anti_affinity_groups": [], "ssh_public_keys": [],
        "user_data": "aGk=",
    });
    let web = rack.instance_with("demo", "web", asked.clone()).await;
    for field in ["ncpus", "memory", "hostname", "auto_restart_policy", "cpu_platform"] {
        assert_eq!(web[field], asked[field], "{field}");
    }
    assert_eq!(web["time_created"], web["time_modified"]);
    // No sled of this rack has such a CPU.
    rack.call(&format!("{}/start", instance_path(&web))).await.refused(
        507,
        "Insufficient capacity: Failed to place instance: no sled with the CPU platform \
         amd_turin_v2 has enough free CPUs and memory",
    );
    for (unknown, message) in [
        (json!({"anti_affinity_groups": ["g"]}), "not found: anti-affinity-group with name \"g\""),
        (
            json!({"multicast_groups": [{"group": "224.1.1.1"}]}),
            "not found: multicast-group with name \"224.1.1.1\"",
        ),
    ] {
        let body = with(nexus_tests::make::instance_body("other"), unknown);
        rack.post("/v1/instances?project=demo", body).await.refused(404, message);
    }
    let jumbo =
        with(nexus_tests::make::instance_body("other"), json!({"enable_jumbo_frames": true}));
    rack.post("/v1/instances?project=demo", jumbo)
        .await
        .refused_about(400, "enable_jumbo_frames may only be set on an instance when");
}
