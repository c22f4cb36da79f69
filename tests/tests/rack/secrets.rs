//! No secret is in a log, in what is said of an error, on a command line, or in a file that others
//! may read.

use nexus_dev::part::Part;
use nexus_dev::rack::Stop;
use nexus_tests::tenants::PASSWORD;
use nexus_tests::{Reply, TestRack};
use reqwest::Method;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A secret where something else belongs.
const MISPLACED: &str = "misplaced-secret-4711";
const WRONG_PASSWORD: &str = "wrong-secret-4711";
const WRONG_TOKEN: &str = "oxide-token-wrong47110123456789abcdef01234567890123456789ab";

/// Uses every kind of secret, rightly and wrongly; returns them.
async fn use_everything(rack: &TestRack) -> Vec<String> {
    let text = |value: &Value| value.as_str().expect("text").to_string();
    let mut secrets: Vec<String> = [PASSWORD, MISPLACED, WRONG_PASSWORD, WRONG_TOKEN]
        .map(str::to_string)
        .into_iter()
        .chain([rack.ready().token.clone(), rack.rack().password().to_string()])
        .collect();
    rack.get("/v1/me").await.expect(200);
    rack.with_token(WRONG_TOKEN).get("/v1/me").await.expect(401);

    rack.silo("red").await;
    rack.user("red", "carl").await;
    assert_eq!(rack.try_login("red", "carl", WRONG_PASSWORD).await.status, 401);
    let cookie = rack.session("red", "carl").await;
    rack.with_cookie(&cookie, Method::GET, "/v1/me", None).await.expect(200);
    let (program, codes) = rack.device_auth(None).await;
    let body = json!({"user_code": codes["user_code"]});
    rack.with_cookie(&cookie, Method::POST, "/device/confirm", Some(body)).await.expect(204);
    let token = text(&rack.device_token(&program, &codes).await.expect(200)["access_token"]);
    rack.with_token(&token).get("/v1/me").await.expect(200);
    let session = cookie.strip_prefix("session=").expect("a session").to_string();
    secrets.extend([session, token, text(&codes["device_code"]), text(&codes["user_code"])]);

    // What is said of a mistake does not repeat it.
    let users = "/v1/system/identity-providers/local/users?silo=red";
    let login = "/v1/login/red/local";
    for (path, body) in [
        (login, json!({"username": "carl", "password": [MISPLACED]})),
        (login, json!({"username": "carl", "password": {"value": MISPLACED}})),
        (users, json!({"external_id": "eve", "password": MISPLACED})),
        (users, json!({"external_id": "eve", "password": {"mode": MISPLACED}})),
        (
            users,
            json!({"external_id": "eve", "password": {"mode": "password", "value": [MISPLACED]}}),
        ),
    ] {
        let reply = rack.post(path, body).await;
        assert_eq!(reply.status, 400, "{path}: {reply:?}");
        assert!(!reply.body.to_string().contains(MISPLACED), "{path}: {:#}", reply.body);
    }
    let header = format!("Bearer{MISPLACED}");
    let request = rack.without_token().request(Method::GET, "/v1/me");
    let reply =
        Reply::read("GET /v1/me".to_string(), request.header("authorization", header)).await;
    assert_eq!(reply.status, 400);
    assert!(!reply.body.to_string().contains(MISPLACED), "{:#}", reply.body);
    secrets
}

/// The regular files below a directory; not those behind links.
fn files(dir: &Path) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry"));
    let mut found = Vec::new();
    for entry in entries {
        // A file may go while one looks.
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            found.extend(files(&entry.path()));
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    found
}

fn has_any<'a>(content: &[u8], secrets: &'a [String]) -> Option<&'a String> {
    let text = String::from_utf8_lossy(content);
    secrets.iter().find(|secret| text.contains(secret.as_str()))
}

#[tokio::test]
async fn secrets_stay_secret() {
    let dir = tempfile::tempdir().expect("a directory");
    let ready_file = dir.path().join("ready.json");
    let rack = TestRack::with(|options| {
        options.request.database_url = None;
        options.state_dir = Some(dir.path().join("rack"));
        options.ready_file = Some(ready_file.clone());
    })
    .await;
    // Everything that can be logged.
    let process = rack.rack().process(Part::Nexus(0)).expect("it runs");
    let config = process.spec().argv.last().expect("a configuration").clone();
    let text = std::fs::read_to_string(&config).expect("the configuration");
    let text = text.replace("level = \"info\"", "level = \"trace\"");
    std::fs::write(&config, &text).expect("the configuration is written");
    rack.kill(Part::Nexus(0));
    rack.restart(Part::Nexus(0)).await;

    let mut secrets = use_everything(&rack).await;
    let state = rack.rack().state_dir().to_path_buf();
    let database = std::fs::read_to_string(state.join("database-password")).expect("a password");
    secrets.push(database.trim().to_string());
    assert!(secrets.iter().all(|secret| secret.len() >= 9), "too short to look for");

    for process in std::fs::read_dir("/proc").expect("processes").flatten() {
        let arguments = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        if let Some(secret) = has_any(&arguments, &secrets) {
            panic!("{secret} is on a command line: {}", String::from_utf8_lossy(&arguments));
        }
    }
    // Logs that are still being written are not all there.
    rack.rack().stop(Stop::Orderly);
    let logs: Vec<_> = rack.rack().processes().iter().map(|p| p.spec().log.clone()).collect();
    let mut found = Vec::new();
    for file in files(&state).into_iter().chain([ready_file]) {
        let content = std::fs::read(&file).expect("a file");
        let Some(secret) = has_any(&content, &secrets) else { continue };
        assert!(file.extension().is_none_or(|ext| ext != "log"), "{secret} is in {file:?}");
        let mode = file.metadata().expect("a file").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{file:?} has a secret, and others may read it: {mode:o}");
        found.push(file);
    }
    assert!(found.len() >= 5, "this looks in the right place: {found:?}");
    for log in logs {
        let content = std::fs::read(&log).expect("a log");
        assert!(!content.is_empty(), "{log:?} has something to look at");
        assert_eq!(has_any(&content, &secrets), None, "{log:?}");
    }
    // What the database holds, only its own user sees: the files of an `initdb` lie in there.
    let data = state.join("postgres").canonicalize().expect("the database");
    assert_eq!(data.metadata().expect("a directory").permissions().mode() & 0o077, 0);
}
