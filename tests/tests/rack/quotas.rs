//! Quotas of silos: what is counted, and what is refused.

use nexus_tests::TestRack;
use nexus_tests::make::{disk_body, instance_path, with};
use serde_json::{Value, json};

const QUOTAS: &str = "/v1/system/silos/default-silo/quotas";
const GIB: u64 = 1 << 30;

async fn rack() -> TestRack {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    rack
}

async fn in_use(rack: &TestRack) -> Value {
    let view = rack.get("/v1/utilization").await.expect(200);
    let of_silo = rack.get("/v1/system/utilization/silos/default-silo").await.expect(200);
    assert_eq!(of_silo["silo_name"], "default-silo");
    assert_eq!(of_silo["provisioned"], view["provisioned"]);
    assert_eq!(of_silo["allocated"], view["capacity"]);
    assert_eq!(rack.all("/v1/system/utilization/silos").await, [of_silo]);
    view["provisioned"].clone()
}

fn counts(cpus: u64, memory: u64, storage: u64) -> Value {
    json!({"cpus": cpus, "memory": memory * GIB, "storage": storage * GIB})
}

#[tokio::test]
async fn what_is_used_is_counted() {
    let rack = rack().await;
    assert_eq!(in_use(&rack).await, counts(0, 0, 0));
    let web = rack.instance_with("demo", "web", json!({"ncpus": 2, "memory": 3 * GIB})).await;
    rack.stopped_instance("demo", "idle").await;
    rack.state_reached(&web, "running").await;
    rack.disk("demo", "data").await;
    assert_eq!(in_use(&rack).await, counts(2, 3, 1));
    rack.snapshot("demo", "s", "data").await;
    assert_eq!(in_use(&rack).await, counts(2, 3, 2));
    rack.delete("/v1/disks/data?project=demo").await.expect(204);
    rack.stop_instance(&web).await;
    assert_eq!(in_use(&rack).await, counts(0, 0, 1));
}

#[tokio::test]
async fn quotas_are_seen_and_changed() {
    let rack = rack().await;
    let before = rack.get(QUOTAS).await.expect(200);
    let silo = rack.get("/v1/system/silos/default-silo").await.expect(200);
    assert_eq!(before["silo_id"], silo["id"]);
    assert_eq!(rack.all("/v1/system/silo-quotas").await, std::slice::from_ref(&before));
    assert_eq!(rack.put(QUOTAS, json!({})).await.expect(200), before);
    let changed = rack.put(QUOTAS, json!({"cpus": 7, "storage": null})).await.expect(200);
    assert_eq!(changed, with(before, json!({"cpus": 7})));
    let changed = rack.put(QUOTAS, json!({"memory": GIB, "storage": 2 * GIB})).await.expect(200);
    assert_eq!(changed, with(counts(7, 1, 2), json!({"silo_id": silo["id"]})));
    assert_eq!(rack.get(QUOTAS).await.expect(200), changed);
    assert_eq!(rack.all("/v1/system/silo-quotas").await, [changed]);
    let capacity = rack.get("/v1/utilization").await.expect(200)["capacity"].clone();
    assert_eq!(capacity, counts(7, 1, 2));
    rack.put(QUOTAS, json!({"cpus": -1}))
        .await
        .refused(400, "unsupported value for \"cpus\": a quota must not be negative");
    rack.put(QUOTAS, json!({"memory": u64::MAX})).await.refused_about(400, "too large");
    for path in ["/v1/system/silos/nowhere/quotas", "/v1/system/utilization/silos/nowhere"] {
        rack.get(path).await.refused(404, "not found: silo with name \"nowhere\"");
    }
    let none = "/v1/system/silos/nowhere/quotas";
    rack.put(none, json!({})).await.refused(404, "not found: silo with name \"nowhere\"");
}

#[tokio::test]
async fn no_instance_starts_beyond_the_quota() {
    let rack = rack().await;
    rack.put(QUOTAS, json!({"cpus": 3, "memory": 4 * GIB})).await.expect(200);
    let a = rack.instance_with("demo", "a", json!({"ncpus": 2, "memory": 3 * GIB})).await;
    rack.state_reached(&a, "running").await;
    let cpus = "Insufficient capacity: vCPU Limit Exceeded: Not enough vCPUs to complete request. \
                Either stop unused instances to free up resources or contact the rack operator to \
                request a capacity increase.";
    let memory = "Insufficient capacity: Memory Limit Exceeded: Not enough memory to complete \
                  request. Either stop unused instances to free up resources or contact the rack \
                  operator to request a capacity increase.";
    // It is made, since only what runs counts, but it does not run.
    let b = rack.instance_with("demo", "b", json!({"ncpus": 2})).await;
    assert_eq!(b["run_state"], "stopped");
    let c = rack.instance_with("demo", "c", json!({"memory": 2 * GIB})).await;
    for (instance, message) in [(&b, cpus), (&c, memory)] {
        rack.call(&format!("{}/start", instance_path(instance))).await.refused(507, message);
    }
    assert_eq!(in_use(&rack).await, counts(2, 3, 0));
    rack.stop_instance(&a).await;
    rack.start_instance(&b).await;
    rack.settled().await;
}

#[tokio::test]
async fn no_disk_is_made_beyond_the_quota() {
    let rack = rack().await;
    rack.put(QUOTAS, json!({"storage": 2 * GIB})).await.expect(200);
    let storage = "Insufficient capacity: Storage Limit Exceeded: Not enough storage to complete \
                   request. Either remove unneeded disks and snapshots to free up resources or \
                   contact the rack operator to request a capacity increase.";
    rack.disk("demo", "a").await;
    let snapshot = json!({"name": "s", "description": "", "disk": "a"});
    let big = with(disk_body("b"), json!({"size": 2 * GIB}));
    rack.post("/v1/disks?project=demo", big).await.refused(507, storage);
    rack.post("/v1/snapshots?project=demo", snapshot.clone()).await.expect(201);
    rack.post("/v1/disks?project=demo", disk_body("b")).await.refused(507, storage);
    let again = with(snapshot, json!({"name": "t"}));
    rack.post("/v1/snapshots?project=demo", again).await.refused(507, storage);
    let new = with(disk_body("root"), json!({"type": "create"}));
    let mut body = nexus_tests::make::instance_body("web");
    body["boot_disk"] = new;
    rack.post("/v1/instances?project=demo", body.clone()).await.refused(507, storage);
    rack.get("/v1/instances/web?project=demo").await.expect(404);
    rack.delete("/v1/snapshots/s?project=demo").await.expect(204);
    rack.post("/v1/instances?project=demo", body).await.expect(201);
    assert_eq!(in_use(&rack).await["storage"], 2 * GIB);
}

/// However many ask at once, no more is given than there is.
#[tokio::test]
async fn those_who_race_for_the_last_of_a_quota_do_not_all_get_it() {
    let rack = rack().await;
    rack.put(QUOTAS, json!({"cpus": 2, "storage": 3 * GIB})).await.expect(200);
    let disks = (0..8).map(|n| {
        let body = disk_body(&format!("d{n}"));
        async { rack.post("/v1/disks?project=demo", body).await.one_of(&[201, 507, 503]) }
    });
    let outcomes = futures::future::join_all(disks).await;
    assert_eq!(outcomes.iter().filter(|status| **status == 201).count(), 3, "{outcomes:?}");

    let mut instances = Vec::new();
    for name in ["a", "b", "c", "d"] {
        instances.push(rack.stopped_instance("demo", name).await);
    }
    let starts = instances.iter().map(|instance| {
        let path = format!("{}/start", instance_path(instance));
        async { rack.call(&{ path }).await.one_of(&[202, 507, 503]) }
    });
    let outcomes = futures::future::join_all(starts).await;
    assert_eq!(outcomes.iter().filter(|status| **status == 202).count(), 2, "{outcomes:?}");
    assert_eq!(in_use(&rack).await, counts(2, 2, 3));
}
