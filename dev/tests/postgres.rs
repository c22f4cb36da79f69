//! The private PostgreSQL, started, killed and brought back as a driver of the rack would do it.

#![allow(clippy::expect_used, reason = "a test that cannot go on panics")]

use nexus_dev::part::Part;
use nexus_dev::ports;
use nexus_dev::postgres::{Cluster, ROLE, Settings, with_settings};
use nexus_dev::process::Process;
use nexus_dev::state_dir::StateDir;
use nexus_dev::watchdog::Watchdog;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const NEXUS_DEV: &str = env!("CARGO_BIN_EXE_nexus-dev");

struct Server {
    cluster: Cluster,
    process: Process,
}

impl Server {
    fn start(cluster: Cluster, state: &StateDir, watchdog: &Watchdog) -> Self {
        let spec = cluster.spec(Path::new(NEXUS_DEV), state.file("postgres.log"));
        assert_eq!(spec.name, Part::Postgres.to_string());
        let process = Process::start(spec).expect("it starts");
        watchdog.watch(process.pid(), true);
        let server = Server { cluster, process };
        server.wait();
        server
    }

    /// Waits until the process accepts connections: the process that was started, not another.
    fn wait(&self) {
        let since = Instant::now();
        while self.cluster.serving() != Some(self.process.pid()) {
            assert!(self.process.ended().is_none(), "{}", self.process.last_words());
            assert!(since.elapsed() < Duration::from_secs(60), "{}", self.process.last_words());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn sql(&self, statement: &str) -> String {
        self.sql_at(&self.cluster.url(ROLE), statement)
    }

    fn sql_at(&self, url: &str, statement: &str) -> String {
        let output = Command::new(self.cluster.program("psql"))
            .args(["-X", "-At", "-v", "ON_ERROR_STOP=1", "-c", statement])
            .arg(url)
            .output()
            .expect("psql runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_string()
    }
}

async fn open(state: &StateDir, watchdog: &Watchdog) -> Cluster {
    let settings = Settings {
        port: state
            .secret("port", |_| ports::pick().expect("a port").to_string())
            .expect("a file")
            .parse()
            .expect("a port"),
        password: state.secret("database-password", |hex| hex).expect("a file"),
        durable: true,
        more: Vec::new(),
    };
    Cluster::open(state, settings, watchdog).await.expect("a cluster")
}

async fn lives(state: &StateDir) {
    let watchdog = Watchdog::start(Path::new(NEXUS_DEV), None).expect("a watchdog");
    let server = Server::start(open(state, &watchdog).await, state, &watchdog);
    assert_eq!(server.sql("SHOW transaction_isolation"), "serializable");
    assert_eq!(server.sql("SHOW enable_seqscan"), "off");
    server.sql("CREATE TABLE kept (n INT8 PRIMARY KEY)");
    server.sql("INSERT INTO kept VALUES (7)");

    // A crash with a session open, and the command line of the ready file run again at once.
    let mut session = Command::new(server.cluster.program("psql"))
        .args(["-X", "-c", "SELECT pg_sleep(60)"])
        .arg(server.cluster.url(ROLE))
        .spawn()
        .expect("psql runs");
    let since = Instant::now();
    while server.sql("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sl%'")
        != "1"
    {
        assert!(since.elapsed() < Duration::from_secs(30), "the session never shows");
    }
    server.process.kill();
    let server = Server::start(server.cluster, state, &watchdog);
    session.wait().expect("its session is gone");
    assert_eq!(server.sql("SELECT n FROM kept"), "7");

    // An orderly stop, and the same directory opened anew.
    let url = server.cluster.url(ROLE);
    nexus_dev::process::stop_all(&[std::sync::Arc::new(server.process)]);
    let server = Server::start(open(state, &watchdog).await, state, &watchdog);
    assert_eq!(server.cluster.url(ROLE), url);
    assert_eq!(server.sql("SELECT n FROM kept"), "7");
    server.process.kill();
    server.cluster.remove_outside();
}

#[tokio::test]
async fn a_server_comes_back_with_its_data() {
    let state = StateDir::open(None).expect("a directory");
    lives(&state).await;
}

/// A directory that only its owner may enter, as `mktemp -d` makes it: where that owner is root,
/// PostgreSQL's user cannot reach it.
#[tokio::test]
async fn a_private_state_directory_will_do() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::set_permissions(dir.path(), Permissions::from_mode(0o700)).expect("ours");
    let state = StateDir::open(Some(dir.path())).expect("a state directory");
    lives(&state).await;
}

#[tokio::test]
async fn only_the_password_lets_in() {
    let state = StateDir::open(None).expect("a directory");
    let watchdog = Watchdog::start(Path::new(NEXUS_DEV), None).expect("a watchdog");
    let server = Server::start(open(&state, &watchdog).await, &state, &watchdog);
    let url = server.cluster.url(ROLE);
    let (head, tail) = url.split_once('@').expect("a URL with a password");
    let (head, _) = head.rsplit_once(':').expect("a URL with a password");
    let output = Command::new(server.cluster.program("psql"))
        .args(["-X", "-c", "SELECT 1"])
        .arg(format!("{head}:wrong@{tail}"))
        .output()
        .expect("psql runs");
    assert!(!output.status.success());
    server.process.kill();
}

/// Whoever dies with a server running leaves nothing behind: the pipe to the watchdog closes.
#[tokio::test]
async fn a_server_does_not_outlive_its_owner() {
    let state = StateDir::open(None).expect("a directory");
    let watchdog = Watchdog::start(Path::new(NEXUS_DEV), None).expect("a watchdog");
    let server = Server::start(open(&state, &watchdog).await, &state, &watchdog);
    // Returns when the watchdog has done its work.
    drop(watchdog);
    let status = server.process.wait(Duration::from_secs(1)).expect("it has ended");
    assert!(status.success(), "ended gently: {status}");
}

/// A role that someone else has made has no settings: they come with the connection.
#[tokio::test]
async fn the_settings_can_come_with_the_url() {
    let state = StateDir::open(None).expect("a directory");
    let watchdog = Watchdog::start(Path::new(NEXUS_DEV), None).expect("a watchdog");
    let server = Server::start(open(&state, &watchdog).await, &state, &watchdog);
    server.sql(&format!("ALTER ROLE {ROLE} RESET ALL"));
    assert_eq!(server.sql("SHOW transaction_isolation"), "read committed");
    let url = with_settings(&server.cluster.url(ROLE));
    assert_eq!(server.sql_at(&url, "SHOW transaction_isolation"), "serializable");
    assert_eq!(server.sql_at(&url, "SHOW enable_seqscan"), "off");
    server.process.kill();
}
