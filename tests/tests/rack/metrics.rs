//! What an operator sees of a Nexus in its metrics.

use crate::walk::requests::{Ids, Operation, PUBLIC, request};
use nexus_dev::part::Part;
use nexus_tests::make::attach_body;
use nexus_tests::metrics::Metrics;
use nexus_tests::wait::eventually;
use nexus_tests::{Client, TestRack};
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

const ATTACH: (&str, &str) = ("saga", "external-ip-attach");

async fn rack() -> (TestRack, Value, Value) {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let web = rack.running_instance("demo", "web").await;
    let fip = rack.floating_ip("demo", "f").await;
    (rack, web, fip)
}

/// Waits until the first Nexus's metrics are as they should be.
async fn shown(rack: &TestRack, what: &str, is_so: impl Fn(&Metrics) -> bool) -> Metrics {
    eventually(what, async || {
        let metrics = rack.metrics(0).await;
        if is_so(&metrics) { Ok(metrics) } else { Err(metrics.text) }
    })
    .await
}

/// Lets the next calls of an operation on the instance's sled fail.
async fn fail_at_sled(rack: &TestRack, instance: &Value, operation: &str, times: u32) {
    let sled = rack.vmm_of(instance).await.expect("it runs").sled;
    let fault = json!({"operation": operation, "fault": "error", "status": 500, "times": times});
    rack.sled(sled).fault(fault).await;
}

fn attach_path(fip: &Value) -> String {
    format!("/v1/floating-ips/{}/attach", fip["id"].as_str().expect("an id"))
}

/// Every operation of every document, and what is in no document.
#[tokio::test]
async fn every_operation_is_measured() {
    let (rack, web, _) = rack().await;
    let (nobody, ids) = (rack.without_token(), Ids::random());
    for operation in Operation::all().iter().filter(|one| !PUBLIC.contains(&one.id.as_str())) {
        let request = request(&operation.id).expect("a request for every operation");
        request.send(&nobody, operation, &ids).await;
    }
    nobody.get("/v1/ping").await.expect(200);
    nobody.call("/v1/logout").await;
    let credentials = json!({"username": "nobody", "password": "none"});
    nobody.post("/v1/login/none/local", credentials).await.one_of(&[401, 404]);
    let client = ("client_id", "5b2f1b4e-9f0f-4f5c-8f6a-0d9d1d2a7c11");
    nobody.form("/device/auth", &[client]).await.expect(200);
    let grant = ("grant_type", "urn:ietf:params:oauth:grant-type:device_code");
    nobody.form("/device/token", &[client, grant, ("device_code", "none")]).await.expect(400);
    // Sleds have called the other operations of the internal API.
    rack.internal().get("/v1/ping").await.expect(200);
    rack.internal().get("/nat/ipv4/changeset/0?limit=1").await.expect(200);
    let id = Uuid::new_v4();
    rack.internal().get(&format!("/sled-agents/{id}")).await.expect(404);
    let operator = rack.operator();
    let migrate = format!("/instances/{id}/migrate");
    operator.post(&migrate, json!({"dst_sled_id": id})).await.expect(404);
    let port = format!("/check/ports/{id}");
    for path in [
        "/sagas",
        &format!("/sagas/{id}"),
        "/bgtasks",
        "/bgtasks/view/none",
        "/check",
        "/check/ports",
        &port,
    ] {
        operator.get(path).await;
    }
    operator.post("/bgtasks/activate", json!({"bgtask_names": []})).await.expect(204);
    rack.state_reached(&web, "running").await;
    let metrics = rack.metrics(0).await;
    let documents = [
        ("external", include_str!("../../../openapi/nexus/nexus-latest.json")),
        ("internal", include_str!("../../../openapi/nexus-internal.json")),
        ("operator", include_str!("../../../openapi/nexus-operator.json")),
    ];
    for (api, document) in documents {
        for operation in operation_ids(document) {
            let labels = [("api", api), ("operation", operation.as_str())];
            for name in [
                "nexus_http_requests_received_total",
                "nexus_http_requests_total",
                "nexus_http_request_duration_seconds",
            ] {
                let count = metrics.sum(name, &labels);
                assert!(count >= 1.0, "{name} of {api} {operation}: {count}");
            }
        }
    }
}

fn operation_ids(document: &str) -> Vec<String> {
    let document: Value = serde_json::from_str(document).expect("a document");
    let paths = document["paths"].as_object().expect("paths").values();
    let ids: Vec<String> = paths
        .flat_map(|methods| methods.as_object().expect("methods").values())
        .filter_map(|operation| Some(operation["operationId"].as_str()?.to_string()))
        .collect();
    assert!(ids.len() > 4, "{ids:?}");
    ids
}

#[tokio::test]
async fn a_request_is_counted_with_its_status_and_its_duration() {
    let rack = TestRack::start().await;
    let view = [("api", "external"), ("operation", "project_view")];
    assert_eq!(rack.metrics(0).await.get("nexus_http_requests_total", &view), None);
    rack.project("demo").await;
    rack.get("/v1/projects/demo").await.expect(200);
    rack.get("/v1/projects/demo").await.expect(200);
    rack.get("/v1/projects/other").await.expect(404);
    let metrics = rack.metrics(0).await;
    let with_status = |status| [view[0], view[1], ("status", status)];
    assert_eq!(metrics.sum("nexus_http_requests_total", &with_status("200")), 2.0);
    assert_eq!(metrics.sum("nexus_http_requests_total", &with_status("404")), 1.0);
    assert_eq!(metrics.sum("nexus_http_request_duration_seconds", &view), 3.0);
    assert!(metrics.sum("nexus_http_request_duration_seconds_sum", &view) > 0.0);
    // The request for the metrics is going on while they are made.
    assert_eq!(metrics.sum("nexus_http_requests_in_flight", &[("api", "internal")]), 1.0);
    assert_eq!(metrics.sum("nexus_http_requests_in_flight", &[("api", "external")]), 0.0);
}

/// However many paths somebody tries, there is one label for all of them.
#[tokio::test]
async fn what_is_no_operation_has_one_label() {
    let rack = TestRack::start().await;
    for n in 0..5 {
        rack.get(&format!("/v1/no-such-thing-{n}")).await.expect(404);
    }
    rack.delete("/v1/me").await.expect(405);
    rack.at_version("newest").get("/v1/me").await.expect(400);
    let metrics = rack.metrics(0).await;
    let none = |status| [("api", "external"), ("operation", "none"), ("status", status)];
    for (status, count) in [("404", 5.0), ("405", 1.0), ("400", 1.0)] {
        assert_eq!(metrics.sum("nexus_http_requests_total", &none(status)), count, "{status}");
    }
    assert!(!metrics.text.contains("no-such-thing"));
}

/// An attach succeeds without any switch: the intent is recorded. The log and the metrics say that
/// the packets do not flow yet.
#[tokio::test]
async fn an_attach_with_both_switches_down_says_so() {
    let (rack, web, fip) = rack().await;
    rack.settled().await;
    for switch in rack.switches() {
        switch.down().await;
    }
    rack.attach(&fip, &web).await;
    let metrics = shown(&rack, "both switches are said to be down", |metrics| {
        ["switch0", "switch1"].iter().all(|switch| {
            let of = [("switch", *switch)];
            metrics.get("nexus_nat_switch_reachable", &of) == Some(0.0)
                && metrics.sum("nexus_nat_switch_lag_generations", &of) >= 1.0
                && metrics.sum("nexus_nat_changes_left_behind_total", &of) >= 1.0
                && metrics.sum("nexus_nat_pushes_total", &[of[0], ("outcome", "failed")]) >= 1.0
        })
    })
    .await;
    assert_eq!(metrics.sum("nexus_sagas_finished_total", &[ATTACH, ("outcome", "succeeded")]), 1.0);
    let log = log_of(&rack, "nexus-0");
    for switch in ["switch0", "switch1"] {
        let said = log.lines().any(|line| {
            line.contains("a switch does not hold a NAT change yet") && line.contains(switch)
        });
        assert!(said, "nothing about {switch} in:\n{log}");
    }
    for switch in rack.switches() {
        switch.clear_faults().await;
    }
    rack.settled().await;
    shown(&rack, "both switches have caught up", |metrics| {
        metrics.sum("nexus_nat_switch_lag_generations", &[]) == 0.0
            && metrics.sum("nexus_nat_switch_reachable", &[]) == 2.0
            && metrics.sum("nexus_nat_queue_length", &[]) == 0.0
    })
    .await;
}

fn log_of(rack: &TestRack, name: &str) -> String {
    let processes = rack.rack().processes();
    let process = processes.iter().find(|process| process.name() == name).expect("a process");
    std::fs::read_to_string(&process.spec().log).expect("a log")
}

#[tokio::test]
async fn a_retry_of_a_node_is_counted() {
    let (rack, web, fip) = rack().await;
    fail_at_sled(&rack, &web, "vmm_put_external_ip", 1).await;
    rack.attach(&fip, &web).await;
    let metrics = rack.metrics(0).await;
    assert_eq!(metrics.sum("nexus_saga_node_retries_total", &[ATTACH]), 1.0);
    assert_eq!(metrics.sum("nexus_saga_undo_retries_total", &[ATTACH]), 0.0);
    let call = ("operation", "vmm_put_external_ip");
    assert_eq!(metrics.sum("nexus_sled_calls_total", &[call, ("outcome", "failed")]), 1.0);
    assert_eq!(metrics.sum("nexus_sled_calls_total", &[call, ("outcome", "ok")]), 1.0);
    assert_eq!(metrics.sum("nexus_sled_call_duration_seconds", &[call]), 2.0);
}

#[tokio::test]
async fn a_saga_that_is_undone_is_counted_and_so_are_retries_of_the_undo() {
    let (rack, web, fip) = rack().await;
    fail_at_sled(&rack, &web, "vmm_put_external_ip", 3).await;
    fail_at_sled(&rack, &web, "vmm_delete_external_ip", 2).await;
    rack.post(&attach_path(&fip), attach_body(&web)).await.expect(503);
    let metrics = rack.metrics(0).await;
    assert_eq!(metrics.sum("nexus_sagas_finished_total", &[ATTACH, ("outcome", "undone")]), 1.0);
    assert_eq!(metrics.sum("nexus_sagas_finished_total", &[("outcome", "stuck")]), 0.0);
    assert_eq!(metrics.sum("nexus_saga_node_retries_total", &[ATTACH]), 2.0);
    assert_eq!(metrics.sum("nexus_saga_undo_retries_total", &[ATTACH]), 2.0);
    assert_eq!(metrics.sum("nexus_sagas", &[ATTACH]), 0.0);
}

/// What goes on is shown while it does; what a Nexus leaves is shown by the one that takes it over.
#[tokio::test]
async fn sagas_are_shown_while_they_run_and_when_they_are_taken_over() {
    let rack = TestRack::with(|options| options.request.nexus = Some(2)).await;
    rack.project("demo").await;
    let web = rack.running_instance("demo", "web").await;
    let fip = rack.floating_ip("demo", "f").await;
    let sled = rack.sled(rack.vmm_of(&web).await.expect("it runs").sled);
    let hang = json!({"operation": "vmm_put_external_ip", "fault": "hang", "times": 0});
    sled.fault(hang).await;
    let (client, path, body) = (Client::clone(&rack), attach_path(&fip), attach_body(&web));
    tokio::spawn(async move { client.try_send(Method::POST, &path, Some(body)).await });
    shown(&rack, "the saga is shown", |metrics| {
        metrics.sum("nexus_sagas", &[ATTACH, ("state", "running")]) == 1.0
            && metrics.sum("nexus_http_requests_in_flight", &[("api", "external")]) == 1.0
    })
    .await;
    rack.kill(Part::Nexus(0));
    sled.clear_faults().await;
    eventually("the second Nexus has taken it over", async || {
        let metrics = rack.metrics(1).await;
        let over = metrics.sum("nexus_sagas_taken_over_total", &[ATTACH]) == 1.0
            && metrics.sum("nexus_sagas_finished_total", &[ATTACH]) == 1.0;
        if over { Ok(()) } else { Err(metrics.text) }
    })
    .await;
}

/// A switch that lost its table is filled again, and that is counted.
#[tokio::test]
async fn a_repair_is_counted() {
    let (rack, web, fip) = rack().await;
    rack.attach(&fip, &web).await;
    rack.settled().await;
    let repaired = [("switch", "switch0")];
    let before = rack.metrics(0).await.sum("nexus_nat_repairs_total", &repaired);
    rack.kill(Part::Dpd(0));
    rack.restart(Part::Dpd(0)).await;
    rack.settled().await;
    shown(&rack, "the repairs are shown", |metrics| {
        metrics.sum("nexus_nat_repairs_total", &repaired) > before
    })
    .await;
}

#[tokio::test]
async fn pools_leases_tasks_and_the_process_are_shown() {
    let (rack, _, _) = rack().await;
    let metrics = rack.metrics(0).await;
    let default = [("pool", "default"), ("ip_version", "v4")];
    assert_eq!(metrics.get("nexus_ip_pool_capacity_addresses", &default), Some(65_536.0));
    assert_eq!(metrics.get("nexus_ip_pool_in_use_addresses", &default), Some(2.0));
    assert!(metrics.get("nexus_ip_pool_capacity_addresses", &[("ip_version", "v6")]).is_some());
    assert_eq!(metrics.get("nexus_saga_lease_held", &[]), Some(1.0));
    let left = metrics.sum("nexus_saga_lease_remaining_seconds", &[]);
    assert!(left > 0.0 && left <= 5.0, "{left}");
    assert_eq!(metrics.get("nexus_database_up", &[]), Some(1.0));
    assert!(metrics.sum("nexus_database_transactions_total", &[("outcome", "ok")]) > 10.0);
    assert!(metrics.sum("nexus_database_connections", &[]) >= 1.0);
    assert_eq!(metrics.get("nexus_database_connections_max", &[]), Some(32.0));
    assert_eq!(metrics.get("nexus_build_info", &[]), Some(1.0));
    assert!(metrics.sum("nexus_process_resident_memory_bytes", &[]) > 1e6);
    assert!(metrics.sum("nexus_process_open_fds", &[]) > 3.0);
    assert!(metrics.sum("nexus_process_start_time_seconds", &[]) > 1.7e9);
    for task in rack.operator().get("/bgtasks").await.expect(200).as_object().expect("tasks").keys()
    {
        shown(&rack, "every task has run", |metrics| {
            metrics.sum("nexus_background_task_runs_total", &[("task", task)]) >= 1.0
                && metrics.get("nexus_background_task_last_duration_seconds", &[("task", task)])
                    > Some(0.0)
        })
        .await;
    }
}

/// What a Nexus shows that has done a little of everything is in docs/operations.md.
#[tokio::test]
async fn every_metric_is_documented() {
    let (rack, web, fip) = rack().await;
    rack.attach(&fip, &web).await;
    let text = rack.metrics(0).await.text;
    let documented = include_str!("../../../docs/operations.md");
    let names: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_whitespace().next())
        .collect();
    assert!(names.len() > 30, "{names:?}");
    for name in names {
        let row = format!("| `{name}` |");
        assert!(documented.contains(&row), "docs/operations.md says nothing of {name}");
    }
}

/// The metrics are there when they are needed most.
#[tokio::test]
async fn without_a_database_the_metrics_say_so() {
    let rack = TestRack::with(|options| options.request.database_url = None).await;
    assert_eq!(rack.metrics(0).await.get("nexus_database_up", &[]), Some(1.0));
    rack.kill(Part::Postgres);
    let metrics = shown(&rack, "the database is said to be down", |metrics| {
        metrics.get("nexus_database_up", &[]) == Some(0.0)
            && metrics.sum("nexus_saga_lease_renewal_failures_total", &[]) >= 1.0
            && metrics.get("nexus_saga_lease_held", &[]) == Some(0.0)
            && metrics.sum("nexus_database_connection_waits_failed_total", &[]) >= 1.0
    })
    .await;
    assert_eq!(metrics.get("nexus_nat_generation", &[]), None);
    assert_eq!(metrics.get("nexus_ip_pool_capacity_addresses", &[]), None);
    assert!(metrics.sum("nexus_process_open_fds", &[]) > 3.0);
    rack.restart(Part::Postgres).await;
    shown(&rack, "the database is up, and the lease is held", |metrics| {
        metrics.get("nexus_database_up", &[]) == Some(1.0)
            && metrics.get("nexus_saga_lease_held", &[]) == Some(1.0)
    })
    .await;
}
