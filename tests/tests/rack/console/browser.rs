//! A console in a browser: whether it can do there what it has to.

use super::{PAGES, nexus, write};
use nexus_tests::TestRack;
use nexus_tests::tenants::PASSWORD;
use nexus_tests::wait::within;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, Command};

/// What the stand-in does on each page: it notes where it is and what the browser refused, logs in
/// where that is asked for, and goes on to the next page. A note is the description of a project
/// that it makes, which is what it can do that is seen from outside.
const SCRIPT: &str = r#"
"use strict";
const refused = [];
document.addEventListener("securitypolicyviolation", (event) => {
  refused.push(event.violatedDirective + " " + event.blockedURI);
});
const call = (path, body) => fetch(path, {
  method: body ? "POST" : "GET",
  headers: {"content-type": "application/json", "api-version": "2026072800.0.0"},
  body: body && JSON.stringify(body),
});
async function note(seen) {
  const done = Number(sessionStorage.getItem("done") || "0");
  sessionStorage.setItem("done", done + 1);
  const path = location.pathname + location.search;
  const color = getComputedStyle(document.body).color;
  const description = JSON.stringify({path, color, cookie: document.cookie, refused, ...seen});
  await call("/v1/projects", {name: "note-" + String(done).padStart(2, "0"), description});
  return done;
}
async function run() {
  if (location.pathname.endsWith("/local")) {
    const silo = location.pathname.split("/")[2];
    const login = (await call(`/v1/login/${silo}/local`, WHO)).status;
    await note({login});
    location.assign(new URLSearchParams(location.search).get("redirect_uri"));
    return;
  }
  const me = await call("/v1/me");
  const done = await note({me: me.ok ? (await me.json()).display_name : me.status});
  if (PAGES[done]) {
    location.assign(PAGES[done]);
  }
}
run();
"#;

const PAGE: &str = r#"<!doctype html>
<html><head><meta charset="utf-8"><title>stand-in</title>
<link rel="stylesheet" href="/assets/app.css">
<style>pre { white-space: pre-wrap }</style></head>
<body><img src="/assets/dot.svg" alt=""><script src="/assets/app.js"></script></body></html>"#;

const DOT: &str = r#"<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>"#;

/// A browser that has opened this; it ends when it is dropped.
fn open(url: &str, profile: &Path) -> Child {
    Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        // Without a port for a debugger it would end as soon as the first page is there.
        .args(["--disable-dev-shm-usage", "--remote-debugging-port=0"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(url)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("chromium is installed")
}

/// From a page that asks for a login, through the login, to every page: each is there, the cookie
/// is no script's to see, and the browser has nothing to refuse.
#[tokio::test]
async fn a_console_works_in_a_browser() {
    let rack = TestRack::start().await;
    let carl = rack.user("default-silo", "carl").await;
    rack.grant("/v1/policy", &carl, "collaborator").await;
    let dir = tempfile::tempdir().expect("a directory");
    let who = json!({"username": "carl", "password": PASSWORD});
    let script = format!("const WHO = {who}; const PAGES = {};\n{SCRIPT}", json!(PAGES));
    write(dir.path(), "index.html", PAGE);
    write(dir.path(), "assets/app.js", script);
    write(dir.path(), "assets/app.css", "body { color: rgb(1, 2, 3) }");
    write(dir.path(), "assets/dot.svg", DOT);
    let nexus = nexus(&rack, dir.path()).await;
    let profile = tempfile::tempdir().expect("a directory");
    let browser = open(&format!("http://{}{}", nexus.external, PAGES[0]), profile.path());
    let notes = within(Duration::from_secs(60), "the browser has been everywhere", async || {
        let notes = rack.all("/v1/projects?sort_by=name_ascending").await;
        if notes.len() > PAGES.len() { Ok(notes) } else { Err(notes) }
    })
    .await;
    drop(browser);
    let note = |project: &Value| {
        let text = project["description"].as_str().expect("a description");
        serde_json::from_str(text).expect("a note")
    };
    let notes: Vec<Value> = notes.iter().map(note).collect();
    let paths: Vec<_> = notes.iter().map(|note| note["path"].as_str().expect("a path")).collect();
    let login = "/login/default-silo/local?redirect_uri=%2F";
    assert_eq!(paths[0], login);
    assert_eq!(paths[1..], PAGES);
    assert_eq!(notes[0]["login"], 204);
    for note in &notes {
        assert_eq!(note["refused"], json!([]), "{note}");
        assert_eq!(
            (&note["cookie"], &note["color"]),
            (&json!(""), &json!("rgb(1, 2, 3)")),
            "{note}"
        );
    }
    for note in &notes[1..] {
        assert_eq!(note["me"], "carl", "{note}");
    }
}
