//! Who is let in, and what every answer has.

use nexus_tests::TestRack;
use reqwest::Method;
use serde_json::json;
use uuid::Uuid;

const NO_CREDENTIALS: &str = "credentials missing or invalid";

#[tokio::test]
async fn anyone_may_ping() {
    let rack = TestRack::start().await;
    let reply = rack.without_token().get("/v1/ping").await;
    let id = reply.headers.get("x-request-id").expect("every answer has an id").to_str();
    id.expect("text").parse::<Uuid>().expect("a UUID");
    assert_eq!(reply.expect(200), json!({"status": "ok"}));
    let internal = rack.internal().get("/v1/ping").await;
    assert_eq!(internal.expect(200), json!({"status": "ok"}));
}

#[tokio::test]
async fn the_administrator_is_known_by_the_token() {
    let rack = TestRack::start().await;
    let me = rack.get("/v1/me").await.expect(200);
    assert_eq!(me["display_name"], "admin");
    assert_eq!(me["silo_name"], "default-silo");
    assert_eq!(me["fleet_viewer"], true);
    assert_eq!(me["silo_admin"], true);
}

#[tokio::test]
async fn wrong_credentials_are_none() {
    let rack = TestRack::start().await;
    let unknown = format!("oxide-token-{}", "0".repeat(40));
    for token in [unknown.as_str(), "oxide-token-", "oxide-token-zz", "something-else"] {
        let reply = rack.with_token(token).get("/v1/me").await;
        assert_eq!(reply.error_code(), Some("Unauthorized"), "{token}");
        reply.refused(401, NO_CREDENTIALS);
    }
    let truncated = &rack.ready().token[..rack.ready().token.len() - 1];
    rack.with_token(truncated).get("/v1/me").await.refused(401, NO_CREDENTIALS);
}

/// What one may not see and what does not exist must look the same, and like nothing else.
#[tokio::test]
async fn what_does_not_exist_is_not_found() {
    let rack = TestRack::start().await;
    let id = Uuid::new_v4();
    for (path, kind) in [
        ("/v1/projects", "project"),
        ("/v1/floating-ips", "floating-ip"),
        ("/v1/instances", "instance"),
        ("/v1/disks", "disk"),
        ("/v1/snapshots", "snapshot"),
        ("/v1/images", "image"),
        ("/v1/me/ssh-keys", "ssh-key"),
        ("/v1/system/hardware/sleds", "sled"),
        ("/v1/vpcs", "vpc"),
        ("/v1/vpc-subnets", "vpc-subnet"),
        ("/v1/network-interfaces", "instance-network-interface"),
        ("/v1/system/ip-pools", "ip-pool"),
        ("/v1/ip-pools", "ip-pool"),
        ("/v1/system/silos", "silo"),
    ] {
        let reply = rack.get(&format!("{path}/{id}")).await;
        assert_eq!(reply.error_code(), Some("ObjectNotFound"), "{path}");
        reply.refused(404, &format!("not found: {kind} with id \"{id}\""));
    }
}

#[tokio::test]
async fn versions_that_are_not_served_are_refused() {
    let rack = TestRack::start().await;
    let newer = rack.at_version("9999010100.0.0").get("/v1/me").await;
    newer.refused(400, "server does not support this API version: 9999010100.0.0");
    let garbage = rack.at_version("newest").get("/v1/me").await;
    garbage.refused_about(400, "bad value for header \"api-version\"");
    rack.without_version().get("/v1/me").await.expect(200);
    rack.internal().without_version().get("/v1/ping").await.refused_about(400, "api-version");
}

#[tokio::test]
async fn what_is_not_served_says_so() {
    let rack = TestRack::start().await;
    rack.get("/v1/no-such-thing").await.refused(404, "Not Found");
    rack.delete("/v1/me").await.refused(405, "Method Not Allowed");
    // What others serve under the same API, and this does not (yet).
    for path in ["/v1/system/hardware/racks", "/v1/system/networking/bgp-status"] {
        let reply = rack.without_token().get(path).await;
        assert_eq!(reply.error_code(), Some("NotImplemented"));
        reply.refused(501, "this operation is not implemented here");
    }
}

#[tokio::test]
async fn bodies_have_a_bound() {
    let rack = TestRack::start().await;
    let body = json!({"name": "p", "description": "x".repeat(2 << 20)});
    let reply = rack.post("/v1/projects", body).await;
    reply.refused(400, "request body exceeded maximum size of 1048576 bytes");
}

/// A request that cannot be read is refused as such, whoever sends it.
#[tokio::test]
async fn what_is_malformed_is_said_before_who_is_asked() {
    let rack = TestRack::start().await;
    let nobody = rack.without_token();
    let body = json!({"name": "a_b", "description": ""});
    nobody
        .post("/v1/projects", body)
        .await
        .refused_about(400, "unable to parse JSON body: name contains invalid character: \"_\"");
    nobody.get("/v1/floating-ips").await.refused_about(400, "missing field `project`");
    nobody.get("/v1/projects?limit=0").await.refused_about(400, "unable to parse query string");
    nobody.get("/v1/projects/a_b").await.refused_about(400, "bad parameter in URL path");
    let text = nobody.request(Method::POST, "/v1/projects").body("{\"name\": ").send().await;
    assert_eq!(text.expect("an answer").status().as_u16(), 400);
}

#[tokio::test]
async fn a_person_who_comes_by_is_told_what_this_is() {
    let rack = TestRack::start().await;
    for path in ["/", "/device/verify"] {
        let reply = rack.without_token().get(path).await;
        let header = |name: &str| reply.headers[name].to_str().expect("text").to_string();
        assert!(header("content-type").starts_with("text/html"));
        assert!(header("content-security-policy").contains("frame-ancestors 'none'"));
        let page = reply.expect(200);
        assert!(page.as_str().is_some_and(|page| page.contains("<h1>")), "{path}: {page}");
    }
    let root = rack.without_token().get("/").await.expect(200);
    let root = root.as_str().expect("a page");
    for part in ["/v1/", "docs/", "/metrics"] {
        assert!(root.contains(part), "where is {part}?");
    }
}
