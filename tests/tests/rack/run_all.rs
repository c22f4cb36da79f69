//! The program `nexus-dev`, as a user starts it.

use nexus_dev::proc_fs;
use nexus_dev::rack::Options;
use nexus_dev::ready::Ready;
use nexus_tests::{Client, eventually};
use serde_json::json;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn nexus_dev() -> PathBuf {
    Options::new().expect("this program has a directory").programs.join("nexus-dev")
}

fn run_all(arguments: &[&str]) -> Command {
    let mut command = Command::new(nexus_dev());
    command.arg("run-all").args(arguments).stdin(Stdio::null());
    command
}

/// A rack started from the command line; killed if the test gives up on it.
struct Running {
    child: Child,
    ready: Ready,
}

impl Running {
    async fn start(state_dir: &Path, arguments: &[&str]) -> Self {
        let file = state_dir.with_extension("ready.json");
        let _ = std::fs::remove_file(&file);
        let mut child = run_all(arguments)
            .arg("--state-dir")
            .arg(state_dir)
            .arg("--ready-file")
            .arg(&file)
            .stdout(Stdio::null())
            .spawn()
            .expect("nexus-dev starts");
        let text = eventually("the ready file is there", async || {
            assert!(child.try_wait().expect("a status").is_none(), "nexus-dev has ended");
            std::fs::read_to_string(&file)
        })
        .await;
        let ready = serde_json::from_str(&text).expect("the ready file is JSON");
        Running { child, ready }
    }

    fn client(&self) -> Client {
        Client::new(&self.ready.external_api[0]).with_token(&self.ready.token)
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status().expect("kill runs");
        assert!(sent.success());
    }

    /// Ends it, and checks that nothing of it is left.
    async fn end(&mut self, signal: &str) {
        self.signal(signal);
        self.child.wait().expect("it ends");
        let pids: Vec<_> = self.ready.processes.iter().map(|p| (&p.name, p.pid)).collect();
        eventually("no process is left", async || {
            let left: Vec<_> = pids.iter().filter(|(_, pid)| proc_fs::is_running(*pid)).collect();
            if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
        })
        .await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn a_rack_is_resumed_with_everything() {
    let dir = tempfile::tempdir().expect("a directory");
    let state_dir = dir.path().join("rack");
    let mut first = Running::start(&state_dir, &["--port", "0"]).await;
    let ready = &first.ready;
    assert_eq!((ready.sled_agents.len(), ready.switches.len()), (2, 2));
    let names: Vec<_> = ready.processes.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["postgres", "dpd-0", "dpd-1", "sled-agent-0", "sled-agent-1", "nexus-0"]);
    assert!(ready.processes.iter().all(|p| proc_fs::is_running(p.pid) && p.log.exists()));
    let client = first.client();
    client.project("demo").await;
    let fip = client.floating_ip("demo", "f").await;
    let path = "/v1/system/ip-pools/default-v6";
    client.delete(&format!("{path}/silos/default-silo")).await.expect(204);
    let range = json!({"first": "2001:db8::", "last": "2001:db8::ffff:ffff:ffff:ffff"});
    client.post(&format!("{path}/ranges/remove"), range).await.expect(204);
    client.delete(path).await.expect(204);

    // One rack at a time.
    let output = run_all(&[]).arg("--state-dir").arg(&state_dir).output().expect("it runs");
    one_line_about(&output, "is already running a rack");

    first.end("-TERM").await;
    let second = Running::start(&state_dir, &[]).await;
    assert_eq!(second.ready.external_api, first.ready.external_api);
    assert_eq!(second.ready.token, first.ready.token);
    assert_eq!(second.ready.database_url, first.ready.database_url);
    let client = second.client();
    assert_eq!(client.floating_ip_now(&fip).await, fip);
    client.get(path).await.expect(404);
}

#[tokio::test]
async fn ctrl_c_and_even_a_kill_leave_nothing_behind() {
    let dir = tempfile::tempdir().expect("a directory");
    let state_dir = dir.path().join("rack");
    let mut first = Running::start(&state_dir, &["--port", "0", "--no-seed-pool"]).await;
    assert!(first.client().all("/v1/ip-pools").await.is_empty());
    first.end("-INT").await;
    let mut second = Running::start(&state_dir, &[]).await;
    assert!(second.client().all("/v1/ip-pools").await.is_empty(), "it was decided at the start");
    second.end("-KILL").await;
    let mut third = Running::start(&state_dir, &[]).await;
    third.client().get("/v1/ping").await.expect(200);
    third.end("-TERM").await;
}

/// Whoever kills a part may start it again by its command line. That is part of the rack, too.
#[tokio::test]
async fn parts_come_back_by_their_command_lines() {
    let dir = tempfile::tempdir().expect("a directory");
    let state_dir = dir.path().join("rack");
    let mut rack = Running::start(&state_dir, &["--port", "0", "--sleds", "1"]).await;
    let client = rack.client();
    client.project("demo").await;
    let mut again = Vec::new();
    for name in ["postgres", "nexus-0", "dpd-1", "sled-agent-0"] {
        let part = rack.ready.processes.iter().find(|p| p.name == name).expect("a part");
        let status = Command::new("kill").args(["-KILL", &part.pid.to_string()]).status();
        assert!(status.expect("kill runs").success());
        eventually(
            "it is gone",
            async || {
                if proc_fs::is_running(part.pid) { Err(name) } else { Ok(()) }
            },
        )
        .await;
        let log = std::fs::File::options().append(true).open(&part.log).expect("its log");
        let child = Command::new(&part.argv[0])
            .args(&part.argv[1..])
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a handle"))
            .stderr(log)
            .spawn()
            .expect("it starts");
        again.push(child);
    }
    eventually("the rack answers again", async || {
        let reply = client.try_send(reqwest::Method::GET, "/v1/projects/demo", None).await;
        match reply {
            Ok(reply) if reply.status == 200 => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
    rack.end("-TERM").await;
    for mut child in again {
        let since = Instant::now();
        while child.try_wait().expect("a status").is_none() {
            assert!(since.elapsed() < Duration::from_secs(30), "a part was left behind");
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn what_goes_wrong_is_said_in_one_line() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port().to_string();
    let output = run_all(&["--port", &port]).output().expect("it runs");
    one_line_about(&output, &format!("port {port}"));

    let url = format!("postgresql://nobody:x@127.0.0.1:{port}/nowhere?connect_timeout=1");
    let output = run_all(&["--port", "0", "--database-url", &url]).output().expect("it runs");
    one_line_about(&output, "nexus db migrate");

    let output = run_all(&["--sleds", "0"]).output().expect("it runs");
    assert!(!output.status.success());
}

#[track_caller]
fn one_line_about(output: &Output, what: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains(what), "{said}");
}
