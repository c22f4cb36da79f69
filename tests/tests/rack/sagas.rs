//! Crashes of Nexus in the middle of its work: it is finished, or undone, by whoever comes next.

use nexus_dev::part::Part;
use nexus_tests::make::attach_body;
use nexus_tests::wait::eventually;
use nexus_tests::{Client, TestRack};
use reqwest::Method;
use serde_json::{Value, json};

async fn rack() -> (TestRack, Value, Value) {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let web = rack.running_instance("demo", "web").await;
    let fip = rack.floating_ip("demo", "f").await;
    (rack, web, fip)
}

/// Starts an attach that hangs at the sled, and returns once it is there.
async fn hanging_attach(rack: &TestRack, fip: &Value, web: &Value) -> usize {
    let sled = rack.vmm_of(web).await.expect("it runs").sled;
    let hang = json!({"operation": "vmm_put_external_ip", "fault": "hang", "times": 0});
    rack.sled(sled).fault(hang).await;
    let path = format!("/v1/floating-ips/{}/attach", fip["id"].as_str().expect("an id"));
    let (client, body) = (Client::clone(rack), attach_body(web));
    // Its answer is of no interest: it goes down with the server.
    tokio::spawn(async move { client.try_send(Method::POST, &path, Some(body)).await });
    eventually("the attach has reached the sled", async || {
        let calls = rack.sled(sled).calls_of("vmm_put_external_ip").await;
        if calls > 0 { Ok(()) } else { Err("no call") }
    })
    .await;
    sled
}

async fn steady(rack: &TestRack, fip: &Value) -> Value {
    let path = format!("/v1/floating-ips/{}/detach", fip["id"].as_str().expect("an id"));
    eventually("the floating IP can be detached again", async || {
        let reply = rack.call(&path).await;
        if reply.status == 202 { Ok(reply.body) } else { Err((reply.status, reply.body)) }
    })
    .await
}

#[tokio::test]
async fn an_attach_survives_a_crash() {
    let (rack, web, fip) = rack().await;
    let sled = hanging_attach(&rack, &fip, &web).await;
    rack.kill(Part::Nexus(0));
    rack.sled(sled).clear_faults().await;
    rack.restart(Part::Nexus(0)).await;
    rack.settled().await;
    steady(&rack, &fip).await;
    rack.settled().await;
    rack.attach(&fip, &web).await;
    assert!(rack.delivers_now(&fip, &web).await);
}

/// The sled answers nonsense when Nexus is back: the saga unwinds, and the address is free.
#[tokio::test]
async fn a_crash_and_then_refusals() {
    let (rack, web, fip) = rack().await;
    let sled = hanging_attach(&rack, &fip, &web).await;
    rack.kill(Part::Nexus(0));
    rack.sled(sled).clear_faults().await;
    let refuse = json!({"operation": "vmm_put_external_ip", "fault": "error", "status": 400,
        "times": 3});
    rack.sled(sled).fault(refuse).await;
    rack.restart(Part::Nexus(0)).await;
    rack.settled().await;
    steady(&rack, &fip).await;
    rack.settled().await;
}

/// While it hangs the address is busy, and says so; everything else goes on.
#[tokio::test]
async fn a_saga_that_hangs_blocks_only_its_own_address() {
    let (rack, web, fip) = rack().await;
    let sled = hanging_attach(&rack, &fip, &web).await;
    let other = rack.floating_ip("demo", "g").await;
    let elsewhere = rack.stopped_instance("demo", "elsewhere").await;
    rack.attach(&other, &elsewhere).await;
    let path = "/v1/floating-ips/f?project=demo";
    let reply = rack.delete(path).await;
    reply.one_of(&[400, 503]);
    rack.sled(sled).clear_faults().await;
    steady(&rack, &fip).await;
    rack.settled().await;
}

/// A Nexus that dies and stays dead: another takes its work over.
#[tokio::test]
async fn another_nexus_takes_over() {
    let rack = TestRack::with(|options| options.request.nexus = Some(2)).await;
    rack.project("demo").await;
    let web = rack.running_instance("demo", "web").await;
    let fip = rack.floating_ip("demo", "f").await;
    let sled = hanging_attach(&rack, &fip, &web).await;
    rack.kill(Part::Nexus(0));
    rack.sled(sled).clear_faults().await;
    let second = rack.nexus(1);
    let path = format!("/v1/floating-ips/{}/detach", fip["id"].as_str().expect("an id"));
    eventually("the second Nexus has finished it", async || {
        let reply = second.call(&path).await;
        if reply.status == 202 { Ok(()) } else { Err((reply.status, reply.body)) }
    })
    .await;
    rack.restart(Part::Nexus(0)).await;
    rack.settled().await;
}

/// Crashes at whatever point of attaches, detaches, starts and stops it hits.
#[tokio::test]
async fn crashes_at_any_time() {
    let (rack, web, fip) = rack().await;
    for round in 0..6 {
        let slow = json!({"operation": "*", "fault": "delay", "delay_ms": 20, "times": 0});
        for switch in rack.switches() {
            switch.fault(slow.clone()).await;
        }
        let id = fip["id"].as_str().expect("an id");
        let web_id = web["id"].as_str().expect("an id");
        for path in [
            format!("/v1/floating-ips/{id}/attach"),
            format!("/v1/instances/{web_id}/stop"),
            format!("/v1/floating-ips/{id}/detach"),
        ] {
            let body = path.ends_with("attach").then(|| attach_body(&web));
            let client = Client::clone(&rack);
            tokio::spawn(async move { client.try_send(Method::POST, &path, body).await });
        }
        // The point differs from round to round with the number of calls that have been made.
        eventually("some work has begun", async || {
            let calls = rack.switch(round % 2).calls().await.len();
            if calls > round * 3 { Ok(()) } else { Err(calls) }
        })
        .await;
        rack.kill(Part::Nexus(0));
        for switch in rack.switches() {
            switch.clear_faults().await;
        }
        rack.restart(Part::Nexus(0)).await;
        rack.settled().await;
        steady(&rack, &fip).await;
        eventually("the instance can be started", async || {
            let reply = rack.call(&format!("/v1/instances/{web_id}/start")).await;
            if reply.status == 202 { Ok(()) } else { Err((reply.status, reply.body)) }
        })
        .await;
        rack.state_reached(&web, "running").await;
        rack.settled().await;
    }
}

/// As above, but held at the switch, before the sled has heard of anything.
#[tokio::test]
async fn an_attach_that_waits_for_a_switch_survives_a_crash() {
    let (rack, web, fip) = rack().await;
    for switch in rack.switches() {
        switch.fault(json!({"operation": "*", "fault": "hang", "times": 0})).await;
    }
    let path = format!("/v1/floating-ips/{}/attach", fip["id"].as_str().expect("an id"));
    let before = rack.switch(0).calls().await.len();
    let (client, body) = (Client::clone(&rack), attach_body(&web));
    tokio::spawn(async move { client.try_send(Method::POST, &path, Some(body)).await });
    eventually("the saga is under way", async || {
        let sagas = rack.operator().all("/sagas").await;
        let attaching = |saga: &&Value| {
            saga["state"]["state"] == "running"
                && saga["name"].as_str().is_some_and(|name| name.contains("attach"))
        };
        let found = sagas.iter().any(|saga| attaching(&saga));
        let called = rack.switch(0).calls().await.len() > before;
        if found && called { Ok(()) } else { Err(sagas) }
    })
    .await;
    rack.kill(Part::Nexus(0));
    for switch in rack.switches() {
        switch.clear_faults().await;
    }
    rack.restart(Part::Nexus(0)).await;
    rack.settled().await;
    steady(&rack, &fip).await;
    rack.settled().await;
    rack.attach(&fip, &web).await;
    assert!(rack.delivers_now(&fip, &web).await);
}

/// A client that goes away does not take its request with it: it is done in full, or not at all.
#[tokio::test]
async fn a_client_may_leave() {
    let (rack, web, fip) = rack().await;
    for round in 0..4 {
        let sled = hanging_attach_of_a_client_that_leaves(&rack, &fip, &web).await;
        rack.sled(sled).clear_faults().await;
        rack.settled().await;
        // A retry finds out which of the two it was.
        let path = format!("/v1/floating-ips/{}/attach", fip["id"].as_str().expect("an id"));
        eventually("a retry is answered", async || {
            let reply = rack.post(&path, attach_body(&web)).await;
            if reply.one_of(&[202, 503]) == 202 { Ok(()) } else { Err(reply.body) }
        })
        .await;
        assert!(rack.delivers_now(&fip, &web).await, "round {round}");
        rack.settled().await;
        rack.detach(&fip).await;
    }
    // The same with a create: the address is a floating IP that someone can see, or free.
    for n in 0..8 {
        let body = nexus_tests::make::with(
            nexus_tests::make::floating_ip_body(&format!("g{n}")),
            json!({"address_allocator": nexus_tests::make::auto("v4")}),
        );
        let client = Client::clone(&rack);
        let request = client.post("/v1/floating-ips?project=demo", body);
        // Given up at some point of its way, a later one each time.
        let patience = std::time::Duration::from_millis(n);
        let _ = tokio::time::timeout(patience, request).await;
    }
    eventually("every address is accounted for", async || {
        let shown = rack.all("/v1/floating-ips?project=demo").await.len() as u64;
        // The instance's source NAT has one more.
        let used = rack.addresses_in_use("default").await;
        if used == shown + 1 { Ok(()) } else { Err((used, shown)) }
    })
    .await;
}

/// Starts an attach that hangs at the sled, and closes the client's connection once it is there.
async fn hanging_attach_of_a_client_that_leaves(
    rack: &TestRack,
    fip: &Value,
    web: &Value,
) -> usize {
    let sled = rack.vmm_of(web).await.expect("it runs").sled;
    let hang = json!({"operation": "vmm_put_external_ip", "fault": "hang", "times": 0});
    rack.sled(sled).fault(hang).await;
    let before = rack.sled(sled).calls_of("vmm_put_external_ip").await;
    // A connection of its own, which goes when the request is dropped.
    let client = Client::new(rack.url()).with_token(&rack.ready().token);
    let path = format!("/v1/floating-ips/{}/attach", fip["id"].as_str().expect("an id"));
    let body = attach_body(web);
    let request =
        tokio::spawn(async move { client.try_send(Method::POST, &path, Some(body)).await });
    eventually("the attach has reached the sled", async || {
        let calls = rack.sled(sled).calls_of("vmm_put_external_ip").await;
        if calls > before { Ok(()) } else { Err("no call") }
    })
    .await;
    request.abort();
    sled
}

/// Finished sagas are in the database, for operators to look at.
#[tokio::test]
async fn operators_see_sagas() {
    let (rack, web, fip) = rack().await;
    rack.attach(&fip, &web).await;
    let sagas = rack.operator().get("/sagas").await.expect(200);
    let items = sagas["items"].as_array().expect("a page");
    assert!(!items.is_empty());
    for saga in items {
        let path = format!("/sagas/{}", saga["id"].as_str().expect("an id"));
        let one = rack.operator().get(&path).await.expect(200);
        assert_eq!(one["id"], saga["id"]);
    }
}
