//! Every operation of the API, as everybody.
//!
//! `docs/roles.md` says what each role may do; the server must agree with every cell of it. An
//! operation without a row there, or without a request in [`requests`], fails the tests, which say
//! what to add.

pub(crate) mod requests;
mod world;

use nexus_tests::{Client, Reply, TestRack, eventually};
use requests::{Ids, Operation, Request};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use world::{ROLES, World};

const DOCS: &str = include_str!("../../../docs/roles.md");
const UNAUTHENTICATED: &str = "credentials missing or invalid";

/// What stands in a cell for an answer.
fn cell(reply: &Reply) -> String {
    match reply.status {
        401 | 403 | 404 => reply.status.to_string(),
        500.. if reply.status != 503 => format!("{} ({})", reply.status, reply.body),
        _ => "✓".to_string(),
    }
}

/// The rows of the table in the documentation, by operation.
fn documented() -> BTreeMap<String, String> {
    let rows = DOCS.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let name = row.split('`').nth(1).expect("an operation");
        (name.to_string(), row.to_string())
    })
    .collect()
}

/// The operations that somebody must be known for, each with its request.
fn guarded() -> Vec<(Operation, Request)> {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for operation in Operation::all() {
        if requests::PUBLIC.contains(&operation.id.as_str()) {
            continue;
        }
        match requests::request(&operation.id) {
            Some(request) => found.push((operation, request)),
            None => missing.push(operation.id),
        }
    }
    assert!(missing.is_empty(), "no request in walk/requests.rs for: {}", missing.join(", "));
    found
}

#[tokio::test]
async fn the_documentation_says_what_roles_may_do() {
    let rack = TestRack::start().await;
    let world = World::new(&rack).await;
    let mut rows = documented();
    let mut wrong = String::new();
    for (operation, request) in guarded() {
        let mut row = format!("| `{}` |", operation.id);
        for role in ROLES {
            let client = &world.clients[role];
            let ids = world.ids_for(&operation.id, client).await;
            let reply = request.send(client, &operation, &ids).await;
            write!(row, " {} |", cell(&reply)).expect("a string takes everything");
        }
        match rows.remove(&operation.id) {
            Some(documented) if documented == row => {}
            Some(documented) => wrong += &format!("docs: {documented}\n is: {row}\n"),
            None => wrong += &format!("not in docs/roles.md:\n{row}\n"),
        }
    }
    for (operation, _) in rows {
        wrong += &format!("in docs/roles.md, but not in the API: {operation}\n");
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[tokio::test]
async fn without_a_good_credential_nothing_is_done() {
    let rack = TestRack::start().await;
    rack.silo("red").await;
    rack.user("red", "carl").await;
    let short = rack.token("red", "carl", Some(1)).await;
    let expired = rack.with_token(short["access_token"].as_str().expect("a token"));
    eventually("the token expires", async || match expired.get("/v1/me").await.status {
        401 => Ok(()),
        other => Err(other),
    })
    .await;
    let bad = rack.with_token(&format!("oxide-token-{}", "0".repeat(40)));
    for (who, client) in [("nobody", rack.without_token()), ("bad", bad), ("expired", expired)] {
        for (operation, request) in guarded() {
            let reply = request.send(&client, &operation, &Ids::random()).await;
            let request = format!("{}: {who}", operation.id);
            assert_eq!(reply.error_code(), Some("Unauthorized"), "{request}: {reply:?}");
            assert_eq!(reply.status, 401, "{request}");
            assert_eq!(reply.body["message"], UNAUTHENTICATED, "{request}");
        }
    }
}

/// An answer without what is different each time, and without the ids that were asked for.
fn comparable(reply: &Reply, ids: &Ids) -> (u16, Vec<(String, String)>, String) {
    let mut body = reply.body.clone();
    if let Value::Object(fields) = &mut body {
        fields.remove("request_id");
    }
    let varies = ["x-request-id", "date"];
    let headers = reply.headers.iter().filter(|(name, _)| !varies.contains(&name.as_str()));
    let text = |value: &reqwest::header::HeaderValue| {
        String::from_utf8_lossy(value.as_bytes()).into_owned()
    };
    let headers = headers.map(|(name, value)| (name.to_string(), text(value))).collect();
    (reply.status, headers, ids.hide(&body.to_string()))
}

/// What another silo's administrator, and a user without a role, is told of what exists is, to the
/// byte, what they are told of what does not.
#[tokio::test]
async fn what_one_may_not_see_does_not_exist() {
    let rack = TestRack::start().await;
    let world = World::new(&rack).await;
    let mut seen = BTreeSet::new();
    for who in ["blue admin", "none"] {
        let client: &Client = &world.clients[who];
        for (operation, request) in guarded() {
            // A code is for everybody to type. A user without a role sees its own silo, who else
            // is in it, and the pools from which it may allocate.
            let visible = ["silo", "user_id", "group_id", "fresh_user", "pool"];
            let hidden =
                |id: &&str| *id != "fresh_code" && (who != "none" || !visible.contains(id));
            let named: Vec<&str> = request.ids(&operation).into_iter().filter(hidden).collect();
            if named.is_empty() {
                continue;
            }
            let real = world.ids_for(&operation.id, &rack).await;
            let none = real.with_random(&named);
            let exists = request.send(client, &operation, &real).await;
            let missing = request.send(client, &operation, &none).await;
            let (exists, missing) = (comparable(&exists, &real), comparable(&missing, &none));
            assert_eq!(exists, missing, "{who}: {}", operation.id);
            // Not every operation that takes an id hides anything: linking takes the silo's in its
            // body, after the pool was looked up.
            assert!(matches!(exists.0, 403 | 404), "{who}: {}: {}", operation.id, exists.0);
            seen.insert(operation.id);
        }
    }
    assert!(seen.len() > 40, "{} operations name an id", seen.len());
}

/// An id of another silo in a body is that of nothing, too.
#[tokio::test]
async fn bodies_reach_no_other_silo() {
    let rack = TestRack::start().await;
    let world = World::new(&rack).await;
    let blue = &world.clients["blue admin"];
    blue.project("mine").await;
    let fip = blue.floating_ip("mine", "mine").await;
    let attach = format!("/v1/floating-ips/{}/attach", fip["id"].as_str().expect("an id"));
    let real = world.ids_for("", blue).await;
    let none = Ids::random();
    let mut told = Vec::new();
    for ids in [&real, &none] {
        let parent = json!({"kind": "instance", "parent": ids.get("instance")});
        let reply = blue.post(&attach, parent).await;
        assert_eq!(reply.status, 404, "{reply:?}");
        told.push(comparable(&reply, ids));
        let selector = json!({"type": "explicit", "pool": ids.get("pool")});
        let allocator = json!({"type": "auto", "pool_selector": selector});
        let body = json!({"name": "n", "description": "", "address_allocator": allocator});
        let reply = blue.post("/v1/floating-ips?project=mine", body).await;
        assert_eq!(reply.status, 404, "{reply:?}");
        told.push(comparable(&reply, ids));
    }
    assert_eq!(told[..2], told[2..]);
}
