//! Operations that a sled refuses, or whose machine changes under them: what has begun is finished
//! or undone, and nobody else has to wait.

use futures::future::join_all;
use nexus_dev::part::Part;
use nexus_tests::make::{attach_body, instance_body, instance_path};
use nexus_tests::wait::eventually;
use nexus_tests::{Client, Reply, TestRack};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

const INSTANCES: &str = "/v1/instances?project=demo";

async fn rack() -> TestRack {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    rack
}

fn of(fip: &Value, action: &str) -> String {
    format!("/v1/floating-ips/{}/{action}", fip["id"].as_str().expect("an id"))
}

/// Makes a request in the background.
fn send(rack: &TestRack, path: &str, body: Value) -> JoinHandle<reqwest::Result<Reply>> {
    let (client, path) = (Client::clone(rack), path.to_string());
    tokio::spawn(async move { client.try_send(Method::POST, &path, Some(body)).await })
}

/// Lets all calls of an operation at every sled go wrong.
async fn everywhere(rack: &TestRack, operation: &str, fault: &str, status: u16) {
    for sled in rack.sleds() {
        let fault = json!({"operation": operation, "fault": fault, "status": status, "times": 0});
        sled.fault(fault).await;
    }
}

async fn no_faults(rack: &TestRack) {
    for sled in rack.sleds() {
        sled.clear_faults().await;
    }
}

/// How often the sleds have been asked to do something.
async fn asked(rack: &TestRack, operation: &str) -> usize {
    let sleds = rack.sleds().into_iter();
    let calls = sleds.map(|sled| async move { sled.calls_of(operation).await });
    join_all(calls).await.into_iter().sum()
}

/// Waits until they have been asked more often than that.
async fn asked_again(rack: &TestRack, operation: &str, before: usize) {
    eventually("a sled has been asked", async || {
        if asked(rack, operation).await > before { Ok(()) } else { Err("no call") }
    })
    .await;
}

/// The undo of an attach is refused, and refused again: its address is busy, no other is, and it
/// is free as soon as the sled has let go of it. A crash meanwhile changes nothing.
#[tokio::test]
async fn an_undo_that_is_refused_for_long() {
    let rack = rack().await;
    let web = rack.running_instance("demo", "web").await;
    let (fip, other) = (rack.floating_ip("demo", "f").await, rack.floating_ip("demo", "g").await);
    everywhere(&rack, "vmm_put_external_ip", "error", 400).await;
    everywhere(&rack, "vmm_delete_external_ip", "error", 503).await;
    let attach = send(&rack, &of(&fip, "attach"), attach_body(&web));
    let refused = async |times: f64| {
        eventually("the undo has been refused", async || {
            let retries = rack.metrics(0).await.sum("nexus_saga_undo_retries_total", &[]);
            if retries >= times { Ok(()) } else { Err(retries) }
        })
        .await;
    };
    refused(2.0).await;
    for _ in 0..2 {
        let busy = rack.call(&of(&fip, "detach")).await;
        assert!(busy.headers.contains_key("retry-after"));
        busy.refused_about(503, "retry");
        let elsewhere = rack.stopped_instance("demo", "elsewhere").await;
        rack.attach(&other, &elsewhere).await;
        rack.detach(&other).await;
        rack.delete(&instance_path(&elsewhere)).await.expect(204);
        rack.kill(Part::Nexus(0));
        rack.restart(Part::Nexus(0)).await;
        // Counted by the new process, from zero.
        refused(1.0).await;
    }
    let unwinding = rack.metrics(0).await.sum("nexus_sagas", &[("state", "unwinding")]);
    assert_eq!(unwinding as u64, 1, "and whoever watches sees it");
    no_faults(&rack).await;
    eventually("it clears itself", async || {
        let now = rack.floating_ip_now(&fip).await;
        if now["instance_id"].is_null() { Ok(()) } else { Err(now) }
    })
    .await;
    let _ = attach.await.expect("the request ends");
    rack.settled().await;
    rack.attach(&fip, &web).await;
    assert!(rack.delivers_now(&fip, &web).await);
    rack.settled().await;
}

/// The machine fails and is deleted while an attach hangs at its sled: the attach ends, the
/// address is free, and nothing goes on trying.
#[tokio::test]
async fn an_attach_that_outlives_its_instance() {
    let rack = rack().await;
    let web = rack.running_instance("demo", "web").await;
    let fip = rack.floating_ip("demo", "f").await;
    let vmm = rack.vmm_of(&web).await.expect("it runs");
    everywhere(&rack, "vmm_put_external_ip", "hang", 503).await;
    let attach = send(&rack, &of(&fip, "attach"), attach_body(&web));
    asked_again(&rack, "vmm_put_external_ip", 0).await;
    rack.sled(vmm.sled).crash(&vmm.id).await;
    rack.state_reached(&web, "failed").await;
    let delete = eventually("the instance can be deleted", async || {
        let reply = rack.delete(&instance_path(&web)).await;
        if reply.one_of(&[204, 503]) == 204 { Ok(reply) } else { Err(reply.body) }
    });
    // Whether the delete waits for the attach or overtakes it, the sled may answer now.
    let (_, ()) = tokio::join!(delete, no_faults(&rack));
    attach.await.expect("the request ends").expect("it is answered").one_of(&[202, 400, 404, 503]);
    rack.settled().await;
    assert!(rack.floating_ip_now(&fip).await["instance_id"].is_null());
    let calls = rack.sled(vmm.sled).calls_of("vmm_put_external_ip").await;
    let again = rack.running_instance("demo", "web").await;
    rack.attach(&fip, &again).await;
    rack.detach(&fip).await;
    rack.settled().await;
    let mut late = rack.sled(vmm.sled).calls().await;
    late.retain(|call| call["operation"] == "vmm_put_external_ip");
    let late = late.split_off(calls).into_iter().filter(|call| call.to_string().contains(&vmm.id));
    assert_eq!(late.count(), 0, "nobody tries any more");
}

/// A create whose start is held up and then fails: who meddles meanwhile is answered, and in the
/// end everything that it took goes back.
#[tokio::test]
async fn meddlers_while_a_create_fails() {
    let rack = rack().await;
    let fip = rack.floating_ip("demo", "f").await;
    let mut body = instance_body("web");
    body["external_ips"] = json!([{"type": "ephemeral",
        "pool_selector": {"type": "auto", "ip_version": "v4"}}]);
    let used = rack.addresses_in_use("default").await;
    for _ in 0..3 {
        everywhere(&rack, "vmm_register", "hang", 503).await;
        let before = asked(&rack, "vmm_register").await;
        let create = send(&rack, INSTANCES, body.clone());
        asked_again(&rack, "vmm_register", before).await;
        let of_name = |action: &str| format!("/v1/instances/web/{action}?project=demo");
        let attach = of(&fip, "attach");
        let by_name = json!({"kind": "instance", "parent": "web"});
        tokio::join!(
            async { rack.call(&of_name("start")).await.one_of(&[202, 400, 503]) },
            async { rack.post(&attach, by_name).await.one_of(&[202, 400, 503]) },
            async { rack.delete("/v1/instances/web?project=demo").await.one_of(&[400, 503]) },
            async { rack.post(INSTANCES, instance_body("web")).await.one_of(&[400]) },
        );
        let found = rack.get("/v1/instances/web?project=demo").await.expect(200);
        assert!(matches!(found["run_state"].as_str(), Some("starting" | "stopped")), "{found}");
        no_faults(&rack).await;
        everywhere(&rack, "vmm_register", "error", 400).await;
        let web = create.await.expect("the request ends").expect("it is answered").expect(201);
        no_faults(&rack).await;
        let stop = format!("/v1/instances/{}/stop", web["id"].as_str().expect("an id"));
        eventually("it can be deleted", async || {
            rack.call(&stop).await.expect(202);
            let reply = rack.delete(&instance_path(&web)).await;
            if reply.one_of(&[204, 400, 503]) == 204 { Ok(()) } else { Err(reply.body) }
        })
        .await;
        rack.settled().await;
        assert!(rack.floating_ip_now(&fip).await["instance_id"].is_null());
        assert_eq!(rack.addresses_in_use("default").await, used);
    }
}

/// A sled that refuses a new instance is no reason not to start it: another takes it.
#[tokio::test]
async fn a_new_instance_goes_where_it_is_taken() {
    let rack = rack().await;
    let sleds = rack.sleds();
    for (refusing, taking) in [(0, 1), (1, 0)] {
        let refuse = json!({"operation": "vmm_register", "fault": "error", "status": 400,
            "times": 0});
        sleds[refusing].fault(refuse).await;
        for n in 0..2 {
            let web = rack.running_instance("demo", &format!("web{refusing}{n}")).await;
            assert_eq!(rack.vmm_of(&web).await.map(|vmm| vmm.sled), Some(taking));
        }
        sleds[refusing].clear_faults().await;
    }
    rack.settled().await;
}

/// From sled to sled, and from stop to start: packets go where the machine is. A report of a VMM
/// that is long gone changes nothing.
#[tokio::test]
async fn stops_and_starts_on_one_sled_and_the_other() {
    let rack = rack().await;
    let ephemeral = json!({"type": "ephemeral",
        "pool_selector": {"type": "auto", "ip_version": "v4"}});
    let web = rack.instance_with("demo", "web", json!({"external_ips": [ephemeral]})).await;
    rack.state_reached(&web, "running").await;
    let ephemeral = rack.external_ips(&web).await.remove(0);
    let fip = rack.floating_ip("demo", "f").await;
    rack.attach(&fip, &web).await;
    for round in 0..20 {
        let old = rack.vmm_of(&web).await.expect("it runs");
        rack.stop_instance(&web).await;
        rack.not_delivered(&fip).await;
        rack.not_delivered(&ephemeral).await;
        // Ten times where it was, ten times elsewhere.
        let to = if round < 10 { old.sled } else { 1 - old.sled };
        let refuse = json!({"operation": "vmm_register", "fault": "error", "status": 400,
            "times": 0});
        rack.sled(1 - to).fault(refuse).await;
        rack.start_instance(&web).await;
        rack.sled(1 - to).clear_faults().await;
        assert_eq!(rack.vmm_of(&web).await.map(|vmm| vmm.sled), Some(to), "round {round}");
        let late = json!({
            "vmm_state": {"state": "destroyed", "gen": 1_000,
                "time_updated": "2020-01-01T00:00:00Z"},
            "migration_in": null,
            "migration_out": null,
        });
        let report = rack.internal().put(&format!("/vmms/{}", old.id), late).await;
        report.one_of(&[204, 404]);
        assert_eq!(rack.instance_now(&web).await["run_state"], "running", "round {round}");
        assert!(rack.delivers_now(&fip, &web).await && rack.delivers_now(&ephemeral, &web).await);
        rack.detach(&fip).await;
        rack.attach(&fip, &web).await;
        assert!(rack.delivers_now(&fip, &web).await, "round {round}");
    }
    rack.settled().await;
}
