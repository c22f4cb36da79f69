//! Requests that make no sense: each is refused at once, in the documented body, and nothing is
//! done.

use nexus_tests::make::{auto, floating_ip_body, with};
use nexus_tests::{Reply, TestRack};
use reqwest::Method;
use serde_json::{Value, json};

const FIPS: &str = "/v1/floating-ips?project=demo";

/// A raw body, under a content type.
async fn send(rack: &TestRack, path: &str, content_type: &str, body: &[u8]) -> Reply {
    let request = rack.request(Method::POST, path).header("content-type", content_type);
    Reply::read(path.to_string(), request.body(body.to_vec())).await
}

async fn send_json(rack: &TestRack, body: &[u8]) -> Reply {
    send(rack, FIPS, "application/json", body).await
}

async fn nothing_was_made(rack: &TestRack) {
    assert_eq!(rack.all(FIPS).await, Vec::<Value>::new());
}

#[tokio::test]
async fn bodies_that_are_not_what_is_asked_for() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let deep = "[".repeat(100_000);
    for (body, part) in [
        (&b""[..], "EOF while parsing a value"),
        (b"null", "invalid type: null"),
        (b"[]", "invalid type: sequence"),
        (b"\"x\"", "invalid type: string"),
        (b"{\"name\":", "EOF while parsing a value"),
        (b"{\"name\":1,\"description\":\"\"}", "expected a string"),
        (b"{\"name\":\"a\"}", "missing field `description`"),
        (b"{\"name\":\"a\",\"name\":\"b\",\"description\":\"\"}", "duplicate field `name`"),
        (b"{\"name\":\"a\\u0000\",\"description\":\"\"}", "name contains invalid character"),
        (b"{\"name\":\"a\",\"description\":\"\xff\"}", "invalid unicode code point"),
        (b"{\"name\":\"a\",\"description\":\"\\ud800\"}", "unable to parse JSON body"),
        (deep.as_bytes(), "unable to parse JSON body"),
    ] {
        send_json(&rack, body).await.refused_about(400, part);
    }
    let nul = with(floating_ip_body("a"), json!({"description": "a\u{0}b"}));
    rack.post(FIPS, nul).await.refused_about(400, "description may not contain NUL");
    nothing_was_made(&rack).await;
}

#[tokio::test]
async fn bodies_that_are_too_large_or_of_another_type() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let large = with(floating_ip_body("a"), json!({"description": "x".repeat(2 << 20)}));
    let reply = send_json(&rack, large.to_string().as_bytes()).await;
    reply.refused_about(400, "request body exceeded maximum size of 1048576 bytes");
    let body = with(floating_ip_body("a"), json!({"address_allocator": auto("v4")})).to_string();
    for (content_type, part) in [
        ("text/plain", "unsupported content-type: text/plain"),
        ("application/x-www-form-urlencoded", "expected content type \"application/json\""),
        ("\u{e9}", "content"),
    ] {
        let reply = send(&rack, FIPS, content_type, body.as_bytes()).await;
        reply.refused_about(400, part);
    }
    nothing_was_made(&rack).await;
    // A type with parameters is the same type.
    let reply = send(&rack, FIPS, "application/json; charset=utf-8", body.as_bytes()).await;
    reply.expect(201);
}

/// A field that selects an address is never passed over, wherever it is misspelt.
#[tokio::test]
async fn misspelt_selectors() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let instance = rack.stopped_instance("demo", "web").await;
    let fip = |changes: Value| with(floating_ip_body("a"), changes);
    for (body, part) in [
        (fip(json!({"adress_allocator": {}})), "unknown field `adress_allocator`"),
        (
            fip(json!({"address_allocator": {"type": "auto", "pool_selecter": {}}})),
            "`pool_selecter`",
        ),
        (
            fip(json!({"address_allocator": {
                "type": "auto", "pool_selector": {"type": "auto", "ip_versoin": "v6"},
            }})),
            "`ip_versoin`",
        ),
        (
            fip(json!({"address_allocator": {
                "type": "auto", "pool_selector": {"type": "explicit", "pol": "default"},
            }})),
            "`pol`",
        ),
        (
            fip(json!({"address_allocator": {"type": "explicit", "address": "10.0.0.1"}})),
            "`address`",
        ),
        (fip(json!({"address_allocator": {"type": "manual"}})), "unknown variant `manual`"),
        (fip(json!({"address_allocator": {"type": "explicit", "ip": 7}})), "address_allocator"),
        (fip(json!({"address_allocator": "auto"})), "address_allocator"),
    ] {
        rack.post(FIPS, body).await.refused_about(400, part);
    }
    let ephemeral =
        format!("/v1/instances/{}/external-ips/ephemeral", instance["id"].as_str().expect("an id"));
    for body in
        [json!({"pool_selecter": {}}), json!({"pool_selector": {"type": "auto", "pool": "x"}})]
    {
        rack.post(&ephemeral, body).await.refused_about(400, "unknown field `pool");
    }
    nothing_was_made(&rack).await;
    assert_eq!(rack.external_ips(&instance).await, Vec::<Value>::new());
}

#[tokio::test]
async fn queries_that_an_operation_does_not_have() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let fip = rack.floating_ip("demo", "front").await;
    let id = fip["id"].as_str().expect("an id");
    for (path, part) in [
        ("/v1/projects?x=1", "unknown field `x`, expected one of `limit`, `page_token`, `sort_by`"),
        ("/v1/me?verbose=true", "unknown field `verbose`, there are none"),
        (&format!("{FIPS}&projekt=demo"), "unknown field `projekt`"),
        (&format!("{FIPS}&project=demo"), "duplicate field `project`"),
        ("/v1/floating-ips/front?project=demo&project=x", "duplicate field `project`"),
        ("/v1/floating-ips?project=%22demo%22", "`project`: "),
        ("/v1/floating-ips?project=%FF", "`project`: "),
        ("/v1/floating-ips?project=a%00", "`project`: "),
        ("/v1/floating-ips?project=%", "`project`: "),
        ("/v1/floating-ips", "missing field `project`"),
        (&format!("{FIPS}&limit=0"), "unable to parse query string"),
        (&format!("{FIPS}&limit=-1"), "unable to parse query string"),
        (&format!("{FIPS}&sort_by=ip_ascending"), "`sort_by`"),
    ] {
        rack.get(path).await.refused_about(400, part);
    }
    // A request that is refused has done nothing.
    let path = format!("/v1/floating-ips/{id}?force=true");
    rack.delete(&path).await.refused_about(400, "unknown field `force`");
    rack.get(&format!("/v1/floating-ips/{id}")).await.expect(200);
    // What an older version had is still a parameter of it.
    rack.at_version("0.0.1").get("/v1/ip-pools?project=demo").await.expect(200);
}

#[tokio::test]
async fn paths_and_methods() {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    // A percent-encoded name is the name.
    assert_eq!(rack.get("/v1/projects/d%65mo").await.expect(200)["name"], "demo");
    let long = format!("/v1/projects/{}", "a".repeat(8_000));
    for (path, status, part) in [
        ("/v1/projects/%FF", 400, "invalid path encoding"),
        ("/v1/projects/a%00b", 400, "bad parameter in URL path"),
        ("/v1/projects/a%2Fb", 400, "bad parameter in URL path"),
        ("/v1/projects/%C3%A9", 400, "bad parameter in URL path"),
        ("/v1/projects/Demo", 400, "bad parameter in URL path"),
        (long.as_str(), 400, "bad parameter in URL path"),
        ("/v1/nothing", 404, "Not Found"),
        ("/v1/projects/demo/nothing", 404, "Not Found"),
    ] {
        rack.get(path).await.refused_about(status, part);
    }
    for (method, path, allowed) in [
        (Method::PATCH, "/v1/projects", "GET, POST"),
        (Method::POST, "/v1/floating-ips/front?project=demo", "DELETE, GET, PUT"),
        (Method::DELETE, "/v1/floating-ips/front/attach?project=demo", "POST"),
        (Method::from_bytes(b"BREW").expect("a method"), "/v1/me", "GET"),
    ] {
        let reply = rack.send(method, path, None).await;
        let headers = reply.headers.get_all("allow").iter();
        let headers: Vec<_> = headers.map(|value| value.to_str().expect("text")).collect();
        assert_eq!(headers.join(", "), allowed, "{path}");
        reply.refused_about(405, "Method Not Allowed");
    }
}

#[tokio::test]
async fn credentials_and_versions_that_are_none() {
    let rack = TestRack::start().await;
    for (header, value, status, part) in [
        ("authorization", "Basic x", 401, "credentials missing or invalid"),
        ("authorization", "Bearer", 400, "bad authentication credentials"),
        ("authorization", "Bearer oxide-token-no", 401, "credentials missing or invalid"),
        ("api-version", "abc", 400, "bad value for header \"api-version\""),
        ("api-version", "9999999999.0.0", 400, "server does not support this API version"),
    ] {
        let client =
            if header == "authorization" { rack.without_token() } else { rack.without_version() };
        let request = client.request(Method::GET, "/v1/me").header(header, value);
        let reply = Reply::read(format!("{header}: {value}"), request).await;
        reply.refused_about(status, part);
    }
}

/// A client may say which encodings it takes; what it does not take it does not get.
#[tokio::test]
async fn encodings() {
    let rack = TestRack::start().await;
    for encoding in ["gzip", "br", "identity", "nonsense", "gzip;q=0, *;q=0"] {
        let request = rack.request(Method::GET, "/v1/me").header("accept-encoding", encoding);
        let reply = Reply::read(encoding.to_string(), request).await;
        let given = reply.headers.get("content-encoding");
        assert!(given.is_none_or(|given| given == encoding), "{encoding}: {given:?}");
        reply.expect(200);
    }
}
