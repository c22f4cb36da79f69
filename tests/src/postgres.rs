//! One PostgreSQL server for all tests of a process, and a database for each test.
//!
//! The schema is made once, in a template; a test's database is a copy of it, which takes a few
//! dozen milliseconds. The server logs every statement that it executes: `cargo xtask sql-rules`
//! reads that.
//!
//! A test process drops no statics and may be killed, so the server is watched by a process of its
//! own, which ends it and removes its data when the test process is gone.

use crate::wait::eventually;
use nexus_dev::ports;
use nexus_dev::postgres::{Cluster, Settings};
use nexus_dev::process::Process;
use nexus_dev::rack::Options;
use nexus_dev::state_dir::{StateDir, write_private};
use nexus_dev::watchdog::Watchdog;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::process::Command;
use tokio::sync::OnceCell;

/// The database that the others are copies of.
const TEMPLATE: &str = "template_nexus";

/// The database for what concerns others.
const MAINTENANCE: &str = "postgres";

/// The tests' server.
#[derive(Debug)]
pub struct TestPostgres {
    cluster: Cluster,
    process: Process,
    state: StateDir,
    _watchdog: Watchdog,
}

impl TestPostgres {
    /// The server of this process; the first to ask starts it.
    pub async fn shared() -> &'static Self {
        static SHARED: OnceCell<TestPostgres> = OnceCell::const_new();
        SHARED.get_or_init(TestPostgres::start).await
    }

    async fn start() -> Self {
        let programs = Options::new().expect("this program has a directory").programs;
        let nexus_dev = programs.join("nexus-dev");
        let state = StateDir::open(None).expect("a temporary directory");
        let watchdog = Watchdog::start(&nexus_dev, None).expect("a watchdog");
        watchdog.remove(state.path());
        let settings = Settings {
            port: ports::pick().expect("a free port"),
            password: state.secret("password", |hex| hex).expect("a password"),
            durable: false,
            more: [
                ("log_statement", "all"),
                ("log_line_prefix", "%m [%p] %d "),
                ("max_connections", "400"),
            ]
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .to_vec(),
        };
        let cluster = Cluster::open(&state, settings, &watchdog).await.expect("a database server");
        let process = Process::start(cluster.spec(&nexus_dev, log())).expect("PostgreSQL starts");
        watchdog.watch(process.pid(), true);
        let server = TestPostgres { cluster, process, state, _watchdog: watchdog };
        eventually("PostgreSQL serves", async || {
            let serving = server.cluster.serving() == Some(server.process.pid());
            if serving { Ok(()) } else { Err(server.process.last_words()) }
        })
        .await;
        server.make_template(&programs).await;
        server
    }

    async fn make_template(&self, programs: &Path) {
        self.sql(MAINTENANCE, &format!("CREATE DATABASE {TEMPLATE}")).await;
        let url_file = self.state.file("template-url");
        write_private(&url_file, &self.cluster.url(TEMPLATE)).expect("a file");
        let output = Command::new(programs.join("nexus"))
            .args(["db", "migrate", "--database-url-file"])
            .arg(&url_file)
            .output()
            .await
            .expect("nexus runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the schema cannot be made: {said}");
    }

    /// A database of one's own, with the schema and nothing else.
    pub async fn database(&'static self) -> TestDatabase {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        self.sql(MAINTENANCE, &format!("CREATE DATABASE {name} TEMPLATE {TEMPLATE}")).await;
        TestDatabase { server: self, name }
    }

    /// A database without the schema.
    pub async fn empty_database(&'static self) -> TestDatabase {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let name = format!("empty_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        self.sql(MAINTENANCE, &format!("CREATE DATABASE {name}")).await;
        TestDatabase { server: self, name }
    }

    fn psql(&self, database: &str, statement: &str) -> std::process::Command {
        let mut psql = std::process::Command::new(self.cluster.program("psql"));
        psql.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", statement])
            .arg(self.cluster.url(database))
            // A look from outside takes no part in the conflicts of serializable transactions.
            .env("PGOPTIONS", r"-c default_transaction_isolation=read\ committed")
            .stdin(Stdio::null());
        psql
    }

    async fn sql(&self, database: &str, statement: &str) -> String {
        let output = Command::from(self.psql(database, statement)).output().await;
        let output = output.expect("psql runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{statement}: {said}");
        String::from_utf8_lossy(&output.stdout).trim().to_string()
    }
}

/// A database for one test, removed at its end.
#[derive(Debug)]
pub struct TestDatabase {
    server: &'static TestPostgres,
    name: String,
}

impl TestDatabase {
    /// Its URL.
    pub fn url(&self) -> String {
        self.server.cluster.url(&self.name)
    }

    /// Executes a statement, and returns what `psql` prints: a line for each row, with `|` between
    /// the columns. To look behind the API, where a test must.
    pub async fn sql(&self, statement: &str) -> String {
        self.server.sql(&self.name, statement).await
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let statement = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        // The whole server goes soon; a copy that stays until then does no harm.
        let _ = self.server.psql(MAINTENANCE, &statement).stderr(Stdio::null()).status();
    }
}

/// A log of this process's own, where `cargo xtask sql-rules` looks for it.
fn log() -> PathBuf {
    let program = std::env::current_exe().expect("this program has a path");
    let target = program.ancestors().nth(3).expect("cargo puts tests in target/debug/deps");
    let dir = target.join("tmp").join("sql-log");
    std::fs::create_dir_all(&dir).expect("a directory for the log");
    dir.join(format!("{}.log", std::process::id()))
}
