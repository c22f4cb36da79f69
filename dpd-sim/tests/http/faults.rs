//! Faults, as a client meets them.

use crate::switch::{A, Switch, target, timeouts};
use dpd_client::Error;
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The status of an answer that is an error; none if there was no answer.
fn status<E>(error: Error<E>) -> Option<u16> {
    match error {
        Error::ErrorResponse(answer) => Some(answer.status().as_u16()),
        Error::CommunicationError(_) => None,
        _ => panic!("neither an error nor the loss of the connection"),
    }
}

#[tokio::test]
async fn an_error_comes_before_the_change_or_after_it() {
    let switch = Switch::start("").await;
    let target = target(1);
    let create = || switch.client.nat_ipv4_create(&A, 0, 65535, &target);
    switch.fault(json!({"operation": "nat_ipv4_create", "fault": "error"})).await;
    switch
        .fault(json!({
            "operation": "nat_ipv4_create", "fault": "error", "status": 507, "after_apply": true
        }))
        .await;

    assert_eq!(status(create().await.expect_err("a fault")), Some(503));
    assert!(switch.state().await.nat.is_empty());
    assert_eq!(status(create().await.expect_err("a fault")), Some(507));
    assert_eq!(switch.state().await.nat.len(), 1);
    create().await.expect("no fault is left");

    let calls = switch.get("/sim/calls").await;
    let field = |name: &str| -> Vec<_> {
        calls.as_array().expect("a list").iter().map(|call| call[name].clone()).collect()
    };
    assert_eq!(field("operation"), ["nat_ipv4_create"; 3]);
    assert_eq!(field("path"), ["/nat/ipv4/10.0.0.1/0/65535"; 3]);
    assert_eq!(field("reached_daemon"), [false, true, true]);
    assert_eq!(field("status"), [503, 507, 204]);
    assert_eq!(field("fault"), [json!("error"), json!("error"), json!(null)]);
}

#[tokio::test]
async fn a_disconnect_is_the_end_of_the_connection() {
    let switch = Switch::start("").await;
    let disconnect = json!({"operation": "*", "fault": "disconnect", "after_apply": true});
    switch.fault(disconnect.clone()).await;
    let create = switch.client.nat_ipv4_create(&A, 0, 65535, &target(1)).await;
    assert_eq!(status(create.expect_err("a fault")), None);
    assert_eq!(switch.state().await.nat.len(), 1, "the change was made");
    let get = switch.client.nat_ipv4_get(&A, 0).await.expect("no fault is left");
    assert_eq!(get.into_inner(), target(1));

    // Not a byte is sent.
    switch.fault(disconnect).await;
    let address = switch.simulator.url().replace("http://", "");
    let mut stream = TcpStream::connect(&address).await.expect("a connection");
    let request =
        format!("GET /nat/ipv4 HTTP/1.1\r\nhost: {address}\r\napi-version: 13.0.0\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("a request");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("an end");
    assert_eq!(answer, b"");
}

#[tokio::test]
async fn a_call_hangs_until_faults_are_cleared() {
    let switch = Switch::start("").await;
    let hang = json!({"operation": "nat_generation", "fault": "hang", "times": 0});
    switch.fault(hang).await;
    let (client, url) = (switch.client.clone(), switch.simulator.url());
    let patient = tokio::spawn(async move { client.nat_generation().await });
    let hasty = dpd_client::client(&url, timeouts(50)).expect("a client");
    assert_eq!(status(hasty.nat_generation().await.expect_err("it hangs")), None);
    switch.client.nat_ipv4_reset().await.expect("other operations work");
    assert!(!patient.is_finished());
    switch.clear_faults().await;
    let result = patient.await.expect("the task ends");
    assert_eq!(status(result.expect_err("a connection that is closed")), None);
    switch.client.nat_generation().await.expect("no fault is left");
}

#[tokio::test]
async fn a_delayed_change_is_made_though_the_client_has_left() {
    let switch = Switch::start("").await;
    switch.fault(json!({"operation": "nat_ipv4_create", "fault": "delay", "delay_ms": 1000})).await;
    let hasty = dpd_client::client(&switch.simulator.url(), timeouts(50)).expect("a client");
    let create = hasty.nat_ipv4_create(&A, 0, 65535, &target(1)).await;
    assert_eq!(status(create.expect_err("it takes too long")), None);
    assert!(switch.state().await.nat.is_empty());
    switch.until("the delayed change", |state| state.nat.len() == 1).await;

    switch.fault(json!({"operation": "nat_ipv4_reset", "fault": "delay", "delay_ms": 100})).await;
    let start = Instant::now();
    switch.client.nat_ipv4_reset().await.expect("an answer in the end");
    assert!(start.elapsed() >= Duration::from_millis(100));
    assert!(switch.state().await.nat.is_empty());
}

#[tokio::test]
async fn faults_are_listed_cleared_and_checked() {
    let switch = Switch::start("").await;
    switch.fault(json!({"operation": "*", "fault": "error", "times": 2})).await;
    assert_eq!(status(switch.client.build_info().await.expect_err("a fault")), Some(503));
    let listed = switch.get("/sim/faults").await;
    let left = json!([{
        "operation": "*", "fault": "error", "status": 503, "delay_ms": 0, "after_apply": false,
        "times": 1
    }]);
    assert_eq!(listed, left);
    switch.clear_faults().await;
    switch.client.switch_identifiers().await.expect("no fault is left");

    let url = format!("{}/sim/faults", switch.simulator.sim_url());
    for (fault, wanted) in [
        (json!({"operation": "nat_create", "fault": "error"}), "nat_ipv4_create"),
        (json!({"operation": "*", "fault": "error", "status": 200}), "200 is not the status"),
        (json!({"operation": "*", "fault": "error", "statsu": 500}), "statsu"),
    ] {
        let answer = switch.http.post(&url).json(&fault).send().await.expect("an answer");
        assert_eq!(answer.status(), 400);
        let body = answer.text().await.expect("a body");
        assert!(body.contains(wanted), "{body}");
    }
}

#[tokio::test]
async fn a_simulator_stops_though_calls_hang() {
    let switch = Switch::start("").await;
    switch.fault(json!({"operation": "*", "fault": "hang"})).await;
    let client = switch.client.clone();
    let hung = tokio::spawn(async move { client.nat_generation().await });
    let start = Instant::now();
    while switch.get("/sim/calls").await.as_array().expect("a list").is_empty() {
        assert!(start.elapsed() < Duration::from_secs(20), "the call never came");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let Switch { simulator, .. } = switch;
    simulator.close().await.expect("an end");
    assert_eq!(status(hung.await.expect("the task ends").expect_err("no answer")), None);
}
