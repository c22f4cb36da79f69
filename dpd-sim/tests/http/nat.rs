//! The operations on the NAT table, as a client sees them.

use crate::switch::{A, A6, Switch, target};
use std::net::Ipv4Addr;
use std::num::NonZeroU32;

/// Status, code and message of an error.
fn refusal<T>(
    result: Result<T, dpd_client::Error<dpd_client::types::Error>>,
) -> (u16, Option<String>, String) {
    match result.err().expect("a refusal") {
        dpd_client::Error::ErrorResponse(answer) => {
            let status = answer.status().as_u16();
            let error = answer.into_inner();
            (status, error.error_code, error.message)
        }
        error => panic!("no answer: {error}"),
    }
}

#[tokio::test]
async fn mappings_are_made_found_and_removed() {
    let switch = Switch::start("").await;
    let client = &switch.client;
    client.nat_ipv4_create(&A, 0, 16383, &target(1)).await.expect("free ports");
    client.nat_ipv4_create(&A, 0, 16383, &target(1)).await.expect("the same again");
    client.nat_ipv6_create(&A6, 0, 65535, &target(2)).await.expect("free ports");

    assert_eq!(client.nat_ipv4_get(&A, 5).await.expect("a mapping").into_inner(), target(1));
    assert_eq!(client.nat_ipv6_get(&A6, 5).await.expect("a mapping").into_inner(), target(2));
    let conflict = (409, Some("conflicting mapping".to_string()), "Conflict".to_string());
    assert_eq!(refusal(client.nat_ipv4_create(&A, 1, 2, &target(1)).await), conflict);
    assert_eq!(refusal(client.nat_ipv6_create(&A6, 1, 2, &target(1)).await), conflict);
    let missing = (404, Some("no mapping".to_string()), "Not Found".to_string());
    assert_eq!(refusal(client.nat_ipv4_get(&A, 16384).await), missing);
    let bad = (400, None, "invalid port range".to_string());
    assert_eq!(refusal(client.nat_ipv4_create(&A, 2, 1, &target(1)).await), bad);

    client.nat_ipv4_delete(&A, 20000).await.expect("there is nothing to remove");
    client.nat_ipv4_delete(&A, 9).await.expect("a mapping");
    let page = client.nat_ipv4_list(&A, None, None).await.expect("a page").into_inner();
    assert!(page.items.is_empty() && page.next_page.is_none());
    assert_eq!(switch.state().await.nat.len(), 1, "the IPv6 mapping");
    client.nat_ipv6_reset().await.expect("a reset");
    assert!(switch.state().await.nat.is_empty());
}

#[tokio::test]
async fn pages_have_at_most_64_items() {
    let switch = Switch::start("").await;
    let client = &switch.client;
    for n in 0..100u8 {
        let ip = Ipv4Addr::new(10, 0, 0, n);
        client.nat_ipv4_create(&ip, 0, 65535, &target(n)).await.expect("free ports");
        client.nat_ipv6_create(&A6, u16::from(n), u16::from(n), &target(n)).await.expect("free");
    }
    for limit in [None, NonZeroU32::new(100), NonZeroU32::new(10_000)] {
        let first = client.nat_ipv4_addresses_list(limit, None).await.expect("a page").into_inner();
        assert_eq!(first.items.len(), 64);
        let token = first.next_page.as_deref();
        let second = client.nat_ipv4_addresses_list(limit, token).await.expect("a page");
        assert_eq!(second.items.len(), 36);
        assert_eq!(second.items[0], Ipv4Addr::new(10, 0, 0, 64));
        let first = client.nat_ipv6_list(&A6, limit, None).await.expect("a page").into_inner();
        assert_eq!(first.items.len(), 64);
        let token = first.next_page.as_deref();
        let second = client.nat_ipv6_list(&A6, limit, token).await.expect("a page").into_inner();
        assert_eq!(second.items.len(), 36);
        // A page with items always names a next one, be it empty.
        let token = second.next_page.as_deref();
        let third = client.nat_ipv6_list(&A6, limit, token).await.expect("a page").into_inner();
        assert!(third.items.is_empty() && third.next_page.is_none());
    }
    let small = client.nat_ipv4_addresses_list(NonZeroU32::new(3), None).await.expect("a page");
    assert_eq!(small.items.len(), 3);
}

#[tokio::test]
async fn requests_say_their_version_and_are_not_large() {
    let switch = Switch::start("").await;
    let url = format!("{}/nat/ipv4", switch.simulator.url());
    for (version, status) in
        [(None, 400), (Some("13.0.1"), 400), (Some("13.0.0"), 200), (Some("1.0.0"), 200)]
    {
        let mut request = switch.http.get(&url);
        if let Some(version) = version {
            request = request.header("api-version", version);
        }
        assert_eq!(request.send().await.expect("an answer").status(), status, "{version:?}");
    }
    let mut body = serde_json::to_string(&target(1)).expect("JSON");
    body.push_str(&" ".repeat(dpd_sim::api::REQUEST_BODY_MAX));
    let request = switch.http.put(format!("{url}/{A}/0/1")).header("api-version", "13.0.0");
    let request = request.header("content-type", "application/json").body(body);
    assert_eq!(request.send().await.expect("an answer").status(), 400);
}

#[tokio::test]
async fn a_packet_that_no_sled_gets_is_dropped() {
    let switch = Switch::start(
        "[[sleds]]\nunderlay = \"fd00:1122:3344:101::1\"\nsim_url = \"http://127.0.0.1:1\"\n",
    )
    .await;
    let inbound = |ip: &str| {
        let url = format!("{}/sim/inbound", switch.simulator.sim_url());
        let request = switch.http.post(url).json(&serde_json::json!({"ip": ip, "port": 22}));
        async { request.send().await.expect("an answer").text().await.expect("a body") }
    };
    let none = r#"{"delivered":false,"reason":"no-nat-entry"}"#;
    let unreachable = r#"{"delivered":false,"reason":"sled-unreachable"}"#;
    assert_eq!(inbound("10.0.0.1").await, none);
    switch.client.nat_ipv4_create(&A, 23, 24, &target(1)).await.expect("free ports");
    assert_eq!(inbound("10.0.0.1").await, none, "other ports");
    switch.client.nat_ipv4_create(&A, 0, 22, &target(1)).await.expect("free ports");
    assert_eq!(inbound("10.0.0.1").await, unreachable, "nobody listens");
    let mut elsewhere = target(1);
    elsewhere.internal_ip = "fd00::9".parse().expect("an address");
    switch.client.nat_ipv6_create(&A6, 0, 65535, &elsewhere).await.expect("free ports");
    assert_eq!(inbound("2001:db8::1").await, unreachable, "no such sled");
}
