//! A Nexus that a test configures itself, on the database of a rack.

use nexus_dev::part::Part;
use nexus_dev::ports;
use nexus_dev::rack::Options;
use nexus_dev::state_dir::write_private;
use nexus_tests::{TestRack, eventually};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;
use tokio::net::TcpStream;
use toml::{Table, Value};
use uuid::Uuid;

/// A running Nexus; killed when it is dropped.
pub struct OwnNexus {
    child: Child,
    dir: TempDir,
    /// Where its external API is.
    pub external: SocketAddr,
}

/// The configuration of a rack's Nexus, with an id and addresses of its own.
pub fn config(rack: &TestRack) -> Table {
    let process = rack.rack().process(Part::Nexus(0)).expect("it runs");
    let file = process.spec().argv.last().expect("a configuration").clone();
    let text = std::fs::read_to_string(file).expect("the configuration");
    let mut config: Table = text.parse().expect("it is TOML");
    config.insert("id".to_string(), Uuid::new_v4().to_string().into());
    for server in ["external", "internal", "operator"] {
        let port = ports::pick().expect("a free port");
        table(&mut config, server)
            .insert("bind_address".to_string(), format!("127.0.0.1:{port}").into());
    }
    config
}

/// A table of a configuration, made if it is missing.
pub fn table<'a>(config: &'a mut Table, name: &str) -> &'a mut Table {
    let table = config.entry(name).or_insert_with(|| Value::Table(Table::new()));
    table.as_table_mut().expect("a table")
}

/// The command that runs a Nexus with this configuration, which is written to a file first.
pub fn command(config: &Table, dir: &Path) -> Command {
    let file = dir.join("nexus.toml");
    write_private(&file, &config.to_string()).expect("the configuration is written");
    let programs = Options::new().expect("this program has a directory").programs;
    let mut command = Command::new(programs.join("nexus"));
    command.arg("--config").arg(file).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

impl OwnNexus {
    /// Starts one, and waits until it takes connections.
    pub async fn start(rack: &TestRack, change: impl FnOnce(&mut Table)) -> Self {
        let mut config = config(rack);
        change(&mut config);
        let dir = tempfile::tempdir().expect("a directory");
        let log = std::fs::File::create(dir.path().join("log")).expect("a log");
        let child = command(&config, dir.path()).stderr(log).spawn().expect("nexus starts");
        let external = config["external"]["bind_address"].as_str().expect("an address");
        let external = external.parse().expect("an address");
        let mut own = OwnNexus { child, dir, external };
        eventually("nexus takes connections", async || {
            let ended = own.child.try_wait().expect("a status");
            assert!(ended.is_none(), "nexus has ended: {}", own.log());
            TcpStream::connect(external).await
        })
        .await;
        own
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().expect("kill runs").success());
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).expect("a log")
    }

    /// Waits until this is in the log so many times.
    pub async fn logged(&self, what: &str, times: usize) {
        eventually(what, async || {
            let log = self.log();
            if log.matches(what).count() >= times { Ok(()) } else { Err(log) }
        })
        .await;
    }
}

impl Drop for OwnNexus {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
