//! Clients that are slow, many, or want too much: they are refused, and others are served.

use super::wire::{Answer, Wire, head};
use crate::own_nexus::{OwnNexus, table};
use futures::future::join_all;
use nexus_tests::{TestRack, eventually};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use toml::{Table, Value};

/// An address of this machine that is another client's.
const FLOOD: &str = "127.0.0.2";

async fn nexus(rack: &TestRack, limits: &[(&str, i64)]) -> OwnNexus {
    OwnNexus::start(rack, |config: &mut Table| {
        let limits = limits.iter().map(|(key, value)| (key.to_string(), Value::from(*value)));
        table(config, "limits").extend(limits);
    })
    .await
}

/// Checks a refusal: the status, what it says, and that it is in the API's own form.
#[track_caller]
fn refused(answer: Option<Answer>, status: u16, about: &str) {
    let answer = answer.expect("an answer");
    assert_eq!(answer.status, status, "{answer:?}");
    let message = answer.body["message"].as_str().expect("a message");
    assert!(message.contains(about), "{message}");
    assert!(answer.body["error_code"].is_string(), "{answer:?}");
    let id = format!("x-request-id: {}", answer.body["request_id"].as_str().expect("an id"));
    assert!(answer.head.contains(&id), "{answer:?}");
}

#[tokio::test]
async fn slow_clients_are_not_waited_for() {
    let rack = TestRack::start().await;
    let limits = [("header_timeout_ms", 400), ("body_timeout_ms", 600), ("idle_timeout_ms", 1_500)];
    let nexus = nexus(&rack, &limits).await;
    let begun = Instant::now();
    let silent = async {
        let mut wire = Wire::connect(nexus.external).await;
        assert!(wire.closed().await, "a client that says nothing");
    };
    // A byte now and then is not enough.
    let slow_head = async {
        let mut wire = Wire::connect(nexus.external).await;
        wire.send("GET /v1/ping HTTP/1.1\r\nhost: ").await;
        eventually("a client that does not come to an end", async || {
            let sent = wire.send("x").await && begun.elapsed() < Duration::from_secs(20);
            if sent { Err("it is still listened to") } else { Ok(()) }
        })
        .await;
    };
    let slow_body = async {
        let mut wire = Wire::connect(nexus.external).await;
        wire.send(&(head("POST", "/v1/projects", "content-length: 100\r\n") + "{")).await;
        refused(wire.answer().await, 408, "did not come within 0.6 seconds");
        assert!(wire.closed().await, "what is left of the request is not read");
    };
    let idle = async {
        let mut wire = Wire::connect(nexus.external).await;
        for _ in 0..2 {
            assert_eq!(wire.get("/v1/ping").await.expect("an answer").status, 200);
        }
        let since = Instant::now();
        assert!(wire.closed().await, "a connection that is not used");
        assert!(since.elapsed() > Duration::from_secs(1), "it was kept for a while");
    };
    // Before the second request as before the first.
    let slow_second = async {
        let mut wire = Wire::connect(nexus.external).await;
        assert_eq!(wire.get("/v1/ping").await.expect("an answer").status, 200);
        wire.send("GET /v1/ping HTTP/1.1\r\nhost: ").await;
        assert!(wire.closed().await);
    };
    tokio::join!(silent, slow_head, slow_body, idle, slow_second);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn what_is_too_large_is_refused_in_words() {
    let rack = TestRack::start().await;
    let nexus = nexus(&rack, &[]).await;
    let at = nexus.external;
    let with = async |more: String| {
        let mut wire = Wire::connect(at).await;
        wire.send(&head("GET", "/v1/ping", &more)).await;
        wire.answer().await
    };
    assert_eq!(
        with(format!("x-a: {}\r\n", "a".repeat(15_000))).await.expect("it fits").status,
        200
    );
    refused(with(format!("x-a: {}\r\n", "a".repeat(17_000))).await, 431, "at most 16384 are");
    let many: String = (0..90).map(|n| format!("x-{n}: {}\r\n", "a".repeat(200))).collect();
    refused(with(many).await, 431, "at most 16384 are");
    let mut wire = Wire::connect(at).await;
    wire.send(&head("GET", &format!("/v1/ping?a={}", "a".repeat(17_000)), "")).await;
    refused(wire.answer().await, 431, "the request's path and headers have");
    // What is not even read to its end is refused all the same.
    let beyond = with(format!("x-a: {}\r\n", "a".repeat(200_000))).await;
    assert_eq!(beyond.map(|answer| answer.status), Some(431));

    let post = async |path: &str, more: &str, length: usize| {
        let mut wire = Wire::connect(at).await;
        let token = format!("authorization: Bearer {}\r\n", rack.ready().token);
        let head = head("POST", path, &format!("{token}content-length: {length}\r\n{more}"));
        wire.send(&head).await;
        if more.is_empty() {
            wire.send(&"x".repeat(length)).await;
        }
        wire.answer().await
    };
    let login = "/v1/login/none/local";
    let read = |answer: Option<Answer>| {
        let message = answer.expect("an answer").body["message"].to_string();
        assert!(message.contains("unable to parse JSON body"), "{message}");
    };
    read(post("/v1/projects", "", 1 << 20).await);
    refused(post("/v1/projects", "", (1 << 20) + 1).await, 400, "maximum size of 1048576 bytes");
    refused(post("/v1/projects", "", 3 << 20).await, 400, "maximum size of 1048576 bytes");
    read(post(login, "", 16 << 10).await);
    refused(post(login, "", (16 << 10) + 1).await, 400, "maximum size of 16384 bytes");
    // Nobody waits for a body that would be refused.
    let announced = post("/v1/projects", "expect: 100-continue\r\n", 1 << 30).await;
    refused(announced, 400, "maximum size of 1048576 bytes");
    // Without an announcement it is counted.
    let mut wire = Wire::connect(at).await;
    wire.send(&head("POST", "/v1/projects", "transfer-encoding: chunked\r\n")).await;
    for _ in 0..17 {
        wire.send(&format!("10000\r\n{}\r\n", "x".repeat(0x10000))).await;
    }
    wire.send("0\r\n\r\n").await;
    refused(wire.answer().await, 400, "maximum size of 1048576 bytes");
}

#[tokio::test]
async fn a_flood_of_idle_connections_starves_nobody() {
    let rack = TestRack::start().await;
    let nexus = nexus(&rack, &[("connections", 64), ("header_timeout_ms", 60_000)]).await;
    let at = nexus.external;
    let mut kept = Wire::connect(at).await;
    assert_eq!(kept.get("/v1/ping").await.expect("an answer").status, 200);
    // Twice as many as there may be, all at the same time, and held.
    let flood = join_all((0..128).map(|_| Wire::connect_from(FLOOD, at))).await;
    // One that has been there is not the one to go, and newcomers get in.
    assert_eq!(kept.get("/v1/ping").await.expect("it is still there").status, 200);
    for _ in 0..20 {
        let mut wire = Wire::connect(at).await;
        assert_eq!(wire.get("/v1/ping").await.expect("an answer").status, 200);
    }
    // Also those who come from where the flood comes from.
    for _ in 0..20 {
        let mut wire = Wire::connect_from(FLOOD, at).await;
        assert_eq!(wire.get("/v1/ping").await.expect("an answer").status, 200);
    }
    let ended = join_all(flood.into_iter().map(async |mut wire| wire.gone().await)).await;
    let ended = ended.into_iter().filter(|gone| *gone).count();
    assert!((64..128).contains(&ended), "{ended} have made room");
}

#[tokio::test]
async fn a_flood_of_requests_starves_nobody() {
    let rack = TestRack::start().await;
    let nexus = nexus(&rack, &[("requests", 8), ("connections", 256)]).await;
    let at = nexus.external;
    let over = Arc::new(AtomicBool::new(false));
    // Without credentials, with wrong ones, and with bodies that never end.
    let bad = "authorization: Bearer oxide-token-0123456789012345678901234567890123456789\r\n";
    let requests = [
        head("GET", "/v1/projects", ""),
        head("GET", "/v1/projects", bad),
        head("POST", "/v1/projects", "content-length: 100\r\n") + "{",
    ];
    let flood: Vec<_> = (0..96)
        .map(|n| (over.clone(), requests[n % requests.len()].clone()))
        .map(|(over, request)| {
            tokio::spawn(async move {
                let mut answers = 0;
                while !over.load(Ordering::Relaxed) {
                    let mut wire = Wire::connect_from(FLOOD, at).await;
                    while wire.send(&request).await && !over.load(Ordering::Relaxed) {
                        match tokio::time::timeout(Duration::from_secs(1), wire.answer()).await {
                            Ok(Some(answer)) => answers += u32::from(answer.status == 401),
                            _ => break,
                        }
                    }
                }
                answers
            })
        })
        .collect();
    let token = format!("authorization: Bearer {}\r\n", rack.ready().token);
    let mut wire = Wire::connect(at).await;
    let mut longest = Duration::ZERO;
    for _ in 0..40 {
        let since = Instant::now();
        wire.send(&head("GET", "/v1/projects", &token)).await;
        assert_eq!(wire.answer().await.expect("an answer").status, 200);
        longest = longest.max(since.elapsed());
    }
    over.store(true, Ordering::Relaxed);
    let answers: u32 = join_all(flood).await.into_iter().map(|n| n.expect("it ends")).sum();
    assert!(answers > 40, "there was a flood: {answers}");
    assert!(longest < Duration::from_secs(3), "{longest:?}");
}

#[tokio::test]
async fn nobody_comes_past_the_limits() {
    let rack = TestRack::start().await;
    let nexus = nexus(&rack, &[]).await;
    // Behind what clients connect to is a port of this machine, which the log names.
    let log = nexus.log();
    let listening = log.lines().filter(|line| line.contains(" listening, "));
    let ports: Vec<SocketAddr> = listening
        .filter_map(|line| line.split_once("local_addr: ")?.1.split(',').next()?.parse().ok())
        .collect();
    assert!(ports.contains(&nexus.external), "{ports:?}");
    let token = format!("authorization: Bearer {}\r\n", rack.ready().token);
    let mut behind = 0;
    for port in ports {
        let mut wire = Wire::connect(port).await;
        wire.send(&head("GET", "/v1/me", &format!("{token}x-nexus-pass: 0\r\n"))).await;
        let status = wire.answer().await.expect("an answer").status;
        behind += u32::from(status == 403);
        assert_eq!(status == 200, port == nexus.external, "{port}: {status}");
    }
    assert_eq!(behind, 3, "one behind each server");
}
