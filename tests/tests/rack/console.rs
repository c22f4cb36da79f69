//! The web console's files and pages, with a stand-in for them.

mod browser;

use crate::own_nexus::{OwnNexus, table};
use nexus_tests::{Client, Reply, TestRack};
use reqwest::Method;
use serde_json::json;
use std::path::Path;
use tempfile::TempDir;

/// Every page that people see once they have logged in.
const PAGES: [&str; 14] = [
    "/",
    "/projects",
    "/projects/demo/instances",
    "/projects-new",
    "/settings",
    "/settings/profile",
    "/system/silos",
    "/lookup/i/web",
    "/images",
    "/utilization",
    "/access",
    "/device/verify",
    "/device/success",
    "/projects/demo/floating-ips?sort=name",
];

fn write(dir: &Path, name: &str, contents: impl AsRef<[u8]>) {
    let path = dir.join(name);
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    std::fs::write(path, contents).expect("a file");
}

/// Files that stand in for a console's.
fn files() -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    write(dir.path(), "index.html", "<!doctype html><title>stand-in</title><h1>stand-in</h1>");
    write(dir.path(), "assets/app.js", "plain");
    write(dir.path(), "assets/app.js.gz", "zipped");
    write(dir.path(), "assets/deep/font.woff2", "a font");
    write(dir.path(), "assets/secret.exe", "no");
    write(dir.path(), "outside.txt", "no");
    let link = dir.path().join("assets/link.txt");
    std::os::unix::fs::symlink(dir.path().join("outside.txt"), link).expect("a link");
    dir
}

async fn nexus(rack: &TestRack, dir: &Path) -> OwnNexus {
    OwnNexus::start(rack, |config| {
        let dir = dir.display().to_string();
        table(config, "console").insert("static_dir".to_string(), dir.into());
    })
    .await
}

/// A client that follows no redirects.
fn client(nexus: &OwnNexus) -> Client {
    Client::new(&format!("http://{}", nexus.external)).without_version()
}

fn header(reply: &Reply, name: &str) -> String {
    let value = reply.headers.get(name).unwrap_or_else(|| panic!("no {name}: {reply:?}"));
    value.to_str().expect("text").to_string()
}

#[tokio::test]
async fn pages_are_for_those_who_are_logged_in() {
    let rack = TestRack::start().await;
    let dir = files();
    let nexus = nexus(&rack, dir.path()).await;
    let anyone = client(&nexus);
    let me = anyone.with_token(&rack.ready().token);
    for page in PAGES {
        let reply = anyone.get(page).await;
        assert_eq!((reply.status, &reply.body), (302, &json!(null)), "{page}");
        let back: String = page.replace('/', "%2F").replace('?', "%3F").replace('=', "%3D");
        let to = format!("/login/default-silo/local?redirect_uri={back}");
        assert_eq!(header(&reply, "location"), to);

        let reply = me.get(page).await;
        assert!(header(&reply, "content-type").starts_with("text/html"));
        assert_eq!(header(&reply, "cache-control"), "no-store");
        assert_eq!(header(&reply, "x-frame-options"), "DENY");
        assert_eq!(header(&reply, "x-content-type-options"), "nosniff");
        assert!(header(&reply, "content-security-policy").starts_with("default-src 'self'; "));
        let page_body = reply.expect(200);
        assert!(page_body.as_str().expect("a page").contains("stand-in"), "{page}");
    }
    // A login page is there for everyone, whether there is such a silo or not.
    for page in ["/login/default-silo/local", "/login/no-such/local", "/login/x/saml/y"] {
        assert!(anyone.get(page).await.expect(200).as_str().expect("a page").contains("stand-in"));
    }
    // A credential that is no longer good is as good as none.
    let stale = anyone.request(Method::GET, "/projects").header("cookie", "session=0000");
    assert_eq!(Reply::read("stale".to_string(), stale).await.status, 302);
    // What is no page is no page.
    me.get("/images/one").await.refused_about(404, "Not Found");
    me.get("/nothing").await.refused_about(404, "Not Found");
}

#[tokio::test]
async fn the_way_to_the_login_page() {
    let rack = TestRack::start().await;
    rack.silo("red").await;
    let dir = files();
    let nexus = nexus(&rack, dir.path()).await;
    let anyone = client(&nexus);
    let to = async |path: &str, host: &str| {
        let request = anyone.request(Method::GET, path).header("host", host);
        let reply = Reply::read(path.to_string(), request).await;
        assert_eq!(reply.status, 302, "{path}: {reply:?}");
        header(&reply, "location")
    };
    assert_eq!(to("/login", "rack.example").await, "/login/default-silo/local");
    assert_eq!(to("/login", "red.sys.rack.example").await, "/login/red/local");
    assert_eq!(to("/login", "blue.sys.rack.example").await, "/login/default-silo/local");
    assert_eq!(
        to("/login?redirect_uri=%2Fprojects%3Fa%3Db", "red.sys.rack.example:443").await,
        "/login/red/local?redirect_uri=%2Fprojects%3Fa%3Db"
    );
    for elsewhere in ["https://evil.example/", "//evil.example", "/\\evil.example", "projects"] {
        let path = format!("/login?redirect_uri={elsewhere}");
        anyone.get(&path).await.refused_about(400, "redirect_uri must be a path on this server");
    }
}

#[tokio::test]
async fn files_are_served_and_nothing_else() {
    let rack = TestRack::start().await;
    let dir = files();
    let nexus = nexus(&rack, dir.path()).await;
    let anyone = client(&nexus);
    let get = async |path: &str, encoding: &str| {
        let request = anyone.request(Method::GET, path).header("accept-encoding", encoding);
        Reply::read(path.to_string(), request).await
    };
    let plain = get("/assets/app.js", "br").await;
    assert_eq!(header(&plain, "content-type"), "text/javascript");
    assert_eq!(header(&plain, "cache-control"), "max-age=31536000, immutable");
    assert_eq!(header(&plain, "content-length"), "5");
    assert!(!plain.headers.contains_key("content-encoding"));
    assert_eq!(plain.expect(200), "plain");
    let zipped = get("/assets/app.js", "gzip, br").await;
    assert_eq!(header(&zipped, "content-encoding"), "gzip");
    assert_eq!(header(&zipped, "content-type"), "text/javascript");
    assert_eq!(zipped.expect(200), "zipped");
    let font = get("/assets/deep/font.woff2", "gzip").await;
    assert_eq!(header(&font, "content-type"), "font/woff2");
    assert_eq!(font.expect(200), "a font");
    for path in ["secret.exe", "link.txt", "deep", "none.js", "app.js.gz", ""] {
        let reply = get(&format!("/assets/{path}"), "gzip").await;
        assert_eq!(reply.status, 404, "{path}: {reply:?}");
    }
}

/// A directory without the console's page is refused at the start, in a line that says why.
#[tokio::test]
async fn a_directory_without_a_console() {
    let rack = TestRack::start().await;
    let dir = tempfile::tempdir().expect("a directory");
    let mut config = crate::own_nexus::config(&rack);
    let empty = dir.path().display().to_string();
    table(&mut config, "console").insert("static_dir".to_string(), empty.into());
    let output = crate::own_nexus::command(&config, dir.path()).output().expect("nexus runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("no index.html"), "{said}");
    // Without any, there is no page but those that Nexus has itself.
    rack.get("/projects").await.refused_about(404, "Not Found");
}
