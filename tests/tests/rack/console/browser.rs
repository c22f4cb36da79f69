//! A console in a browser: whether it can do there what it has to.

use super::{PAGES, nexus, write};
use nexus_tests::TestRack;
use nexus_tests::tenants::PASSWORD;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::process::Command;
use tokio::time::timeout;

/// What the stand-in does on each page: it notes where it is and what the browser refused, logs in
/// where that is asked for, and goes on to the next page; in the end it shows its notes.
const SCRIPT: &str = r#"
"use strict";
const refused = [];
document.addEventListener("securitypolicyviolation", (event) => {
  refused.push(event.violatedDirective + " " + event.blockedURI);
});
const kept = (key) => JSON.parse(sessionStorage.getItem(key) || "[]");
const keep = (key, value) => sessionStorage.setItem(key, JSON.stringify(value));
const here = () => location.pathname + location.search;
const call = (path, body) => fetch(path, {
  method: body ? "POST" : "GET",
  headers: {"content-type": "application/json", "api-version": "2026072800.0.0"},
  body: body && JSON.stringify(body),
});
async function run() {
  const note = {path: here(), style: getComputedStyle(document.body).color, cookie: document.cookie};
  const notes = kept("notes");
  if (location.pathname.endsWith("/local")) {
    const silo = location.pathname.split("/")[2];
    note.login = (await call(`/v1/login/${silo}/local`, WHO)).status;
    note.refused = refused;
    keep("notes", [...notes, note]);
    location.assign(new URLSearchParams(location.search).get("redirect_uri"));
    return;
  }
  const me = await call("/v1/me");
  note.me = me.ok ? (await me.json()).display_name : me.status;
  note.refused = refused;
  keep("notes", [...notes, note]);
  const next = PAGES[notes.length];
  if (next) {
    location.assign(next);
  } else {
    document.getElementById("notes").textContent = JSON.stringify(kept("notes"));
  }
}
run();
"#;

const PAGE: &str = r#"<!doctype html>
<html><head><meta charset="utf-8"><title>stand-in</title>
<link rel="stylesheet" href="/assets/app.css">
<style>pre { white-space: pre-wrap }</style></head>
<body><img src="/assets/dot.svg" alt=""><pre id="notes"></pre><script src="/assets/app.js"></script></body></html>"#;

const DOT: &str = r#"<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>"#;

/// The page as it is when its scripts have done all that they do.
async fn dump(url: &str, profile: &std::path::Path) -> String {
    let browser = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--disable-dev-shm-usage", "--virtual-time-budget=60000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(url)
        .kill_on_drop(true)
        .output();
    let output = timeout(Duration::from_secs(120), browser).await.expect("the browser ends");
    let output = output.expect("chromium is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// From a page that asks for a login, through the login, to every page: each is there, the cookie
/// is no script's to see, and the browser has nothing to refuse.
#[tokio::test]
async fn a_console_works_in_a_browser() {
    let rack = TestRack::start().await;
    rack.user("default-silo", "carl").await;
    let dir = tempfile::tempdir().expect("a directory");
    let who = json!({"username": "carl", "password": PASSWORD});
    let script = format!("const WHO = {who}; const PAGES = {};\n{SCRIPT}", json!(PAGES));
    write(dir.path(), "index.html", PAGE);
    write(dir.path(), "assets/app.js", script);
    write(dir.path(), "assets/app.css", "body { color: rgb(1, 2, 3) }");
    write(dir.path(), "assets/dot.svg", DOT);
    let nexus = nexus(&rack, dir.path()).await;
    let profile = tempfile::tempdir().expect("a directory");
    let page = dump(&format!("http://{}{}", nexus.external, PAGES[0]), profile.path()).await;
    let notes =
        page.split_once("<pre id=\"notes\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let (notes, _) = notes.unwrap_or_else(|| panic!("no notes: {page}"));
    let notes: Vec<Value> = serde_json::from_str(&notes.replace("&amp;", "&"))
        .unwrap_or_else(|error| panic!("{error}: {page}"));
    let paths: Vec<_> = notes.iter().map(|note| note["path"].as_str().expect("a path")).collect();
    let login = "/login/default-silo/local?redirect_uri=%2F";
    assert_eq!(paths[0], login);
    assert_eq!(paths[1..], PAGES);
    assert_eq!(notes[0]["login"], 204);
    for note in &notes {
        assert_eq!(note["refused"], json!([]), "{note}");
        assert_eq!(
            (&note["cookie"], &note["style"]),
            (&json!(""), &json!("rgb(1, 2, 3)")),
            "{note}"
        );
    }
    for note in &notes[1..] {
        assert_eq!(note["me"], "carl", "{note}");
    }
}
