//! The audit log: who changed what.

use chrono::{DateTime, SecondsFormat, Utc};
use nexus_dev::part::Part;
use nexus_tests::make::floating_ip_body;
use nexus_tests::{Reply, TestRack, eventually};
use reqwest::Method;
use serde_json::{Value, json};

const LOG: &str = "/v1/system/audit-log";

fn since(start: DateTime<Utc>) -> String {
    format!("{LOG}?start_time={}", start.to_rfc3339_opts(SecondsFormat::Micros, true))
}

/// The entries of an operation, when there are so many.
async fn entries(
    rack: &TestRack,
    start: DateTime<Utc>,
    operation: &str,
    count: usize,
) -> Vec<Value> {
    eventually(&format!("{count} entries of {operation}"), async || {
        let all = rack.all(&since(start)).await;
        let mine: Vec<_> =
            all.into_iter().filter(|entry| entry["operation_id"] == operation).collect();
        if mine.len() == count { Ok(mine) } else { Err(mine) }
    })
    .await
}

#[tokio::test]
async fn a_change_has_an_entry() {
    let rack = TestRack::start().await;
    let start = Utc::now();
    let me = rack.get("/v1/me").await.expect(200);
    let body = json!({"name": "demo", "description": ""});
    let request = rack.request(Method::POST, "/v1/projects").header("user-agent", "a-test/1.0");
    let made = Reply::read("create".to_string(), request.json(&body)).await;
    let request_id = made.headers["x-request-id"].to_str().expect("text").to_string();
    made.expect(201);
    rack.post("/v1/projects", body).await.refused(400, "already exists: project \"demo\"");
    rack.get("/v1/projects/demo").await.expect(200);

    let entries = entries(&rack, start, "project_create", 2).await;
    let [made, refused] = &entries[..] else { panic!("two entries") };
    assert_eq!(made["request_id"], request_id.as_str());
    assert_eq!(
        (&made["request_uri"], &made["user_agent"]),
        (&json!("/v1/projects"), &json!("a-test/1.0"))
    );
    assert_eq!(
        (&made["source_ip"], &made["auth_method"]),
        (&json!("127.0.0.1"), &json!("access_token"))
    );
    let actor = json!({"kind": "silo_user", "silo_user_id": me["id"], "silo_id": me["silo_id"]});
    assert_eq!(made["actor"], actor);
    assert_eq!(made["result"], json!({"kind": "success", "http_status_code": 201}));
    assert_eq!(
        refused["result"],
        json!({
            "kind": "error", "http_status_code": 400, "error_code": "ObjectAlreadyExists",
            "error_message": "already exists: project \"demo\"",
        })
    );
    // The credential is named, and not told.
    let tokens = rack.all("/v1/me/access-tokens").await;
    assert!(tokens.iter().any(|token| token["id"] == made["credential_id"]), "{made}");
    let all = rack.all(&since(start)).await;
    assert!(!json!(all).to_string().contains(&rack.ready().token));
    // Looking is nothing to be written down.
    assert!(all.iter().all(|entry| entry["operation_id"] != "project_view"));
}

#[tokio::test]
async fn logins_are_in_it() {
    let rack = TestRack::start().await;
    rack.silo("red").await;
    rack.user("red", "carl").await;
    let start = Utc::now();
    let anyone = rack.without_token();
    let body = json!({"username": "carl", "password": "wrong"});
    anyone.post("/v1/login/red/local", body).await.refused(401, "credentials missing or invalid");
    let client = rack.login("red", "carl").await;
    client.post("/v1/projects", json!({"name": "x", "description": ""})).await.one_of(&[403]);
    // Who does not say who they are is refused, and leaves no entry.
    anyone.post("/v1/projects", json!({"name": "x", "description": ""})).await.one_of(&[401]);

    let logins = entries(&rack, start, "login_local", 2).await;
    assert_eq!(logins[0]["actor"], json!({"kind": "unauthenticated"}));
    assert_eq!(logins[0]["result"]["http_status_code"], 401);
    assert_eq!(logins[1]["result"], json!({"kind": "success", "http_status_code": 204}));
    let refused = entries(&rack, start, "project_create", 1).await;
    assert_eq!(refused[0]["result"]["http_status_code"], 403);
    assert!(!json!(logins).to_string().contains("wrong"));
    client.get(LOG).await.one_of(&[400]);
    client.get(&since(start)).await.refused(403, "Forbidden");
}

/// Pages go by the time at which requests were answered, either way, and between two times.
#[tokio::test]
async fn it_is_read_by_time() {
    let rack = TestRack::start().await;
    let start = Utc::now();
    rack.project("demo").await;
    for n in 0..9 {
        rack.floating_ip("demo", &format!("f{n}")).await;
    }
    let made = entries(&rack, start, "floating_ip_create", 9).await;
    let all = rack.all(&since(start)).await;
    let times: Vec<_> = all.iter().map(|entry| entry["time_completed"].to_string()).collect();
    assert!(times.is_sorted(), "{times:?}");
    for limit in [1, 4, 100] {
        let path = format!("{}&limit={limit}", since(start));
        assert_eq!(rack.all(&path).await, all, "pages of {limit}");
        let mut back = rack.all(&format!("{path}&sort_by=time_and_id_descending")).await;
        back.reverse();
        assert_eq!(back, all, "pages of {limit}, backwards");
    }
    let time = |entry: &Value| entry["time_completed"].as_str().expect("a time").to_string();
    let between = format!("{LOG}?start_time={}&end_time={}", time(&made[2]), time(&made[5]));
    assert_eq!(rack.all(&between).await, made[2..5]);
    rack.get(LOG).await.refused_about(400, "missing field `start_time`");
    rack.get(&format!("{LOG}?start_time=yesterday")).await.refused_about(400, "unable to parse");
}

/// A request whose Nexus died has an entry, and in the end it says that nobody knows.
#[tokio::test]
async fn an_outcome_that_nobody_knows() {
    let rack = TestRack::with(|options| options.request.nexus = Some(2)).await;
    let start = Utc::now();
    rack.project("demo").await;
    let web = rack.running_instance("demo", "web").await;
    let fip = rack.floating_ip("demo", "f").await;
    for sled in rack.sleds() {
        sled.fault(json!({"operation": "vmm_put_external_ip", "fault": "hang", "times": 0})).await;
    }
    let dying = rack.nexus(1);
    let id = fip["id"].as_str().expect("an id").to_string();
    let body = nexus_tests::make::attach_body(&web);
    tokio::spawn(async move {
        let path = format!("/v1/floating-ips/{id}/attach");
        dying.try_send(Method::POST, &path, Some(body)).await
    });
    let open = "SELECT count(*) FROM audit_log \
                WHERE operation_id = 'floating_ip_attach' AND time_completed IS NULL";
    eventually("the entry is there before anything is done", async || {
        let count = rack.database().sql(open).await;
        if count == "1" { Ok(()) } else { Err(count) }
    })
    .await;
    rack.kill(Part::Nexus(1));
    for sled in rack.sleds() {
        sled.clear_faults().await;
    }
    let old = "UPDATE audit_log SET time_started = time_started - interval '2 hours' \
               WHERE time_completed IS NULL";
    rack.database().sql(old).await;
    let task = json!({"bgtask_names": ["audit_collector"]});
    rack.operator().post("/bgtasks/activate", task).await.expect(204);
    let lost = entries(&rack, start, "floating_ip_attach", 1).await;
    assert_eq!(lost[0]["result"], json!({"kind": "unknown"}));
    rack.restart(Part::Nexus(1)).await;
    rack.settled().await;
}

/// Entries are kept for a while, and what cannot be written down is not done.
#[tokio::test]
async fn entries_are_kept_for_a_while_and_none_is_left_out() {
    let rack = TestRack::start().await;
    let start = Utc::now();
    rack.project("demo").await;
    entries(&rack, start, "project_create", 1).await;
    let old = "UPDATE audit_log SET time_completed = time_completed - interval '91 days'";
    rack.database().sql(old).await;
    let task = json!({"bgtask_names": ["audit_collector"]});
    rack.operator().post("/bgtasks/activate", task).await.expect(204);
    eventually("old entries are gone", async || {
        let count = rack.database().sql("SELECT count(*) FROM audit_log").await;
        if count == "0" { Ok(()) } else { Err(count) }
    })
    .await;
    rack.database().sql("ALTER TABLE audit_log RENAME TO audit_log_away").await;
    rack.post("/v1/floating-ips?project=demo", floating_ip_body("f")).await.one_of(&[500]);
    rack.database().sql("ALTER TABLE audit_log_away RENAME TO audit_log").await;
    assert_eq!(rack.all("/v1/floating-ips?project=demo").await, Vec::<Value>::new());
}
