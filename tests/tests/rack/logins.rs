//! How people and programs get in, and how they are kept out again.

use nexus_dev::part::Part;
use nexus_tests::tenants::PASSWORD;
use nexus_tests::{Client, Reply, TestRack, eventually};
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

const DENIED: &str = "credentials missing or invalid";

async fn me(client: &Client, cookie: &str) -> Reply {
    client.with_cookie(cookie, Method::GET, "/v1/me", None).await
}

async fn rack_with_carl() -> (TestRack, Value) {
    let rack = TestRack::start().await;
    rack.silo("red").await;
    let carl = rack.user("red", "carl").await;
    (rack, carl)
}

#[tokio::test]
async fn a_session_begins_and_ends() {
    let (rack, carl) = rack_with_carl().await;
    let reply = rack.try_login("red", "carl", PASSWORD).await;
    let cookie = reply.headers["set-cookie"].to_str().expect("text").to_string();
    reply.expect(204);
    let (pair, attributes) = cookie.split_once("; ").expect("a cookie has attributes");
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Lax; Max-Age=86400");
    let token = pair.strip_prefix("session=").expect("the session's cookie");
    assert_eq!((token.len(), hex_only(token)), (40, true));
    assert_eq!(me(&rack, pair).await.expect(200)["id"], carl["id"]);
    let sessions = format!("/v1/users/{}/sessions", carl["id"].as_str().expect("an id"));
    let listed = rack.with_cookie(pair, Method::GET, &sessions, None).await.expect(200);
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));
    let out = rack.with_cookie(pair, Method::POST, "/v1/logout", None).await;
    let forget = "session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0";
    assert_eq!(out.headers["set-cookie"].to_str().expect("text"), forget);
    out.expect(204);
    me(&rack, pair).await.refused(401, DENIED);
    rack.without_token().call("/v1/logout").await.expect(204);
    // Secrets are nowhere.
    let log =
        std::fs::read_to_string(&rack.rack().process(Part::Nexus(0)).expect("it runs").spec().log);
    let log = log.expect("the server has a log");
    assert!(!log.contains(token) && !log.contains(PASSWORD), "a secret is in the log");
}

fn hex_only(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

#[tokio::test]
async fn a_wrong_password_and_a_wrong_user_are_the_same() {
    let (rack, _) = rack_with_carl().await;
    for (user, password) in [("carl", "wrong"), ("nobody", PASSWORD), ("carl", "")] {
        let reply = rack.try_login("red", user, password).await;
        assert!(!reply.headers.contains_key("set-cookie"));
        assert_eq!(reply.error_code(), Some("Unauthorized"));
        reply.refused(401, DENIED);
    }
    let reply = rack.try_login("none", "carl", PASSWORD).await;
    reply.refused(404, "not found: silo with name \"none\"");
}

/// Fails to log in until that is refused.
async fn throttled(rack: &TestRack, user: &str) -> Reply {
    let mut failures = 0;
    loop {
        let reply = rack.try_login("red", user, "wrong").await;
        if reply.status == 429 {
            return reply;
        }
        reply.refused(401, DENIED);
        failures += 1;
        assert!(failures < 50, "{user} is never throttled");
    }
}

#[tokio::test]
async fn failed_logins_are_throttled() {
    let (rack, _) = rack_with_carl().await;
    for user in ["carl", "nobody"] {
        let refused = throttled(&rack, user).await;
        assert!(refused.headers.contains_key("retry-after"));
        assert_eq!(refused.error_code(), Some("TooManyRequests"));
    }
    // Nor does the right password help before the time is over; then it does. On a slow machine
    // the time may be over at once.
    let mut heard = 0;
    loop {
        throttled(&rack, "carl").await;
        if rack.try_login("red", "carl", PASSWORD).await.status == 429 {
            break;
        }
        heard += 1;
        assert!(heard < 10, "the right password always helps");
    }
    eventually("the right password is heard", async || {
        match rack.try_login("red", "carl", PASSWORD).await.status {
            204 => Ok(()),
            other => Err(other),
        }
    })
    .await;
    // Others have not noticed.
    rack.user("red", "dora").await;
    rack.try_login("red", "dora", PASSWORD).await.expect(204);
}

#[tokio::test]
async fn other_sites_get_nowhere_with_a_cookie() {
    let (rack, _) = rack_with_carl().await;
    let cookie = rack.session("red", "carl").await;
    let nobody = rack.without_token();
    for (header, value) in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "http://evil"),
    ] {
        for (method, path) in [(Method::GET, "/v1/me"), (Method::POST, "/v1/logout")] {
            let request = nobody.request(method, path).header("cookie", &cookie);
            let reply = Reply::read(path.to_string(), request.header(header, value)).await;
            reply.refused(403, "Forbidden");
        }
    }
    let request = nobody.request(Method::GET, "/v1/me").header("cookie", &cookie);
    let own = rack.url().to_string();
    Reply::read("GET /v1/me".to_string(), request.header("origin", own)).await.expect(200);
}

#[tokio::test]
async fn sessions_end_by_themselves() {
    let (rack, _) = rack_with_carl().await;
    let process = rack.rack().process(Part::Nexus(0)).expect("it runs");
    let config = process.spec().argv.last().expect("a configuration").clone();
    let text = std::fs::read_to_string(&config).expect("the configuration");
    let set = |idle: u32, absolute: u32| {
        let console = format!(
            "\n[console]\nsession_idle_timeout_secs = {idle}\nsession_absolute_timeout_secs = \
             {absolute}\n"
        );
        std::fs::write(&config, format!("{text}{console}")).expect("the configuration is written");
    };
    for (idle, absolute) in [(1, 3600), (3600, 1)] {
        set(idle, absolute);
        rack.kill(Part::Nexus(0));
        rack.restart(Part::Nexus(0)).await;
        let cookie = rack.session("red", "carl").await;
        eventually("the session ends", async || {
            // Looking is using: an idle session is left alone for longer than it lives.
            tokio::time::sleep(std::time::Duration::from_millis(1_200)).await;
            match me(&rack, &cookie).await.status {
                401 => Ok(()),
                other => Err(other),
            }
        })
        .await;
    }
}

#[tokio::test]
async fn a_program_is_let_in() {
    let (rack, carl) = rack_with_carl().await;
    let (program, codes) = rack.device_auth(None).await;
    let text = |key: &str| codes[key].as_str().expect("text").to_string();
    assert_eq!(text("verification_uri"), format!("{}/device/verify", rack.url()));
    assert_eq!(codes["expires_in"], 300);
    assert_eq!(text("device_code").len(), 40);
    let user_code = text("user_code");
    let letters = |part: &str| part.len() == 4 && part.bytes().all(|b| b.is_ascii_uppercase());
    assert!(user_code.split('-').all(letters) && user_code.len() == 9, "{user_code}");
    let pending = json!({"error": "authorization_pending"});
    assert_eq!(rack.device_token(&program, &codes).await.expect(400), pending);
    let cookie = rack.session("red", "carl").await;
    let confirm = async |code: &str| {
        let body = json!({"user_code": code});
        rack.with_cookie(&cookie, Method::POST, "/device/confirm", Some(body)).await
    };
    confirm("BBBB-BBBB").await.refused_about(404, "not found: device-auth-request");
    confirm(&user_code).await.expect(204);
    confirm(&user_code).await.refused_about(404, "not found: device-auth-request");
    // Only the program that asked gets the token, and once.
    let other = Uuid::new_v4().to_string();
    assert_eq!(rack.device_token(&other, &codes).await.expect(400), pending);
    let token = rack.device_token(&program, &codes).await.expect(200);
    assert_eq!((&token["token_type"], &token["time_expires"]), (&json!("bearer"), &Value::Null));
    let secret = token["access_token"].as_str().expect("a token");
    assert_eq!(secret.len(), "oxide-token-".len() + 40);
    assert_eq!(rack.device_token(&program, &codes).await.expect(400), pending);
    let as_carl = rack.with_token(secret);
    assert_eq!(as_carl.get("/v1/me").await.expect(200)["id"], carl["id"]);
    let bad = [("grant_type", "password"), ("device_code", "x"), ("client_id", other.as_str())];
    let reply = rack.form("/device/token", &bad).await;
    assert_eq!(reply.expect(400), json!({"error": "unsupported_grant_type"}));
    // A token that is deleted is none.
    let tokens = as_carl.all("/v1/me/access-tokens").await;
    assert_eq!(tokens.len(), 1);
    assert_eq!(tokens[0]["id"], token["token_id"]);
    let own = format!("/v1/me/access-tokens/{}", token["token_id"].as_str().expect("an id"));
    // It is nobody else's to delete.
    assert_eq!(rack.delete(&own).await.status, 404);
    as_carl.delete(&own).await.expect(204);
    as_carl.get("/v1/me").await.refused(401, DENIED);
    let log =
        std::fs::read_to_string(&rack.rack().process(Part::Nexus(0)).expect("it runs").spec().log);
    let log = log.expect("the server has a log");
    assert!(!log.contains(secret) && !log.contains(&text("device_code")), "a secret is in the log");
}

#[tokio::test]
async fn tokens_live_no_longer_than_the_silo_allows() {
    let (rack, carl) = rack_with_carl().await;
    rack.grant("/v1/system/silos/red/policy", &carl, "admin").await;
    let cookie = rack.session("red", "carl").await;
    let settings = "/v1/auth-settings";
    let set = async |seconds: Value| {
        let body = json!({"device_token_max_ttl_seconds": seconds});
        rack.with_cookie(&cookie, Method::PUT, settings, Some(body)).await
    };
    let view = rack.with_cookie(&cookie, Method::GET, settings, None).await.expect(200);
    assert_eq!(view["device_token_max_ttl_seconds"], Value::Null);
    assert_eq!(set(json!(3600)).await.expect(200)["device_token_max_ttl_seconds"], 3600);
    assert_eq!(set(json!(0)).await.status, 400);
    let unset = rack.with_cookie(&cookie, Method::PUT, settings, Some(json!({}))).await;
    unset.refused_about(400, "device_token_max_ttl_seconds");
    let token = rack.token("red", "carl", None).await;
    assert!(token["time_expires"].is_string(), "{token}");
    let (_, codes) = rack.device_auth(Some(3601)).await;
    let body = json!({"user_code": codes["user_code"]});
    rack.with_cookie(&cookie, Method::POST, "/device/confirm", Some(body)).await.refused(
        400,
        "Requested TTL 3601 seconds exceeds maximum allowed TTL for this silo of 3600 seconds",
    );
    // A token lets in no program for longer than it lives itself.
    let as_carl = rack.with_token(token["access_token"].as_str().expect("a token"));
    let (_, codes) = rack.device_auth(Some(3600)).await;
    let body = json!({"user_code": codes["user_code"]});
    as_carl
        .post("/device/confirm", body)
        .await
        .refused_about(400, "would exceed the expiration time of the token");
    // Logged out by an administrator, the user has nothing left.
    let logout = format!("/v1/users/{}/logout", carl["id"].as_str().expect("an id"));
    as_carl.call(&logout).await.expect(204);
    as_carl.get("/v1/me").await.refused(401, DENIED);
    me(&rack, &cookie).await.refused(401, DENIED);
}
