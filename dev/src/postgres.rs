//! A private PostgreSQL: made, configured, and started for one rack or one run of tests.
//!
//! It listens on the loopback address only, asks everyone for a random password, and runs as an
//! unprivileged user where we are root. Its data is in the state directory, unless that user
//! cannot reach it there (a directory below root's home): then it is in a directory of its own,
//! with a symbolic link in the state directory.
//!
//! Two settings belong to the role, because the SQL of Nexus relies on them: transactions are
//! SERIALIZABLE, and sequential scans are avoided. The second is about more than speed. A
//! sequential scan takes a predicate lock on the whole table, so on the small tables of a new rack
//! any two transactions would seem to conflict.

use crate::os_user::OsUser;
use crate::process::Spec;
use crate::state_dir::StateDir;
use crate::watchdog::Watchdog;
use anyhow::{Context, Result, bail, ensure};
use rustix::process::Signal;
use std::fmt::Write as _;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// The role that owns everything, and the name of its database.
pub const ROLE: &str = "nexus";

/// The URL of a database that is not ours, with the settings that a private server's role has. A URL
/// that brings options of its own is left as it is: its owner has decided.
pub fn with_settings(url: &str) -> String {
    const SETTINGS: &str =
        "options=-c%20default_transaction_isolation%3Dserializable%20-c%20enable_seqscan%3Doff";
    let (_, query) = url.split_once('?').unwrap_or((url, ""));
    if query.split('&').any(|parameter| parameter.starts_with("options=")) {
        return url.to_string();
    }
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}{SETTINGS}")
}

/// The directory that holds the server's programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Programs {
    dir: PathBuf,
}

impl Programs {
    /// Finds the programs in `PATH`, or where Debian puts them (the newest version there).
    pub fn find() -> Result<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let in_path = std::env::split_paths(&path)
            .filter(|dir| dir.join("postgres").exists())
            // A link such as /usr/local/bin/postgres leads to where all the programs are.
            .filter_map(|dir| {
                Some(dir.join("initdb").canonicalize().ok()?.parent()?.to_path_buf())
            });
        let debian = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
        let mut debian: Vec<_> = debian.filter_map(|entry| Some(entry.ok()?.path())).collect();
        let version = |dir: &PathBuf| dir.file_name()?.to_str()?.parse::<u32>().ok();
        debian.sort_by_key(|dir| std::cmp::Reverse(version(dir)));
        in_path
            .chain(debian.into_iter().map(|dir| dir.join("bin")))
            .find(|dir| dir.join("initdb").exists() && dir.join("postgres").exists())
            .map(|dir| Programs { dir })
            .context(
                "PostgreSQL's server programs were not found: install them (on Debian and Ubuntu, \
                 `apt-get install postgresql`)",
            )
    }

    /// The path of one of the programs.
    pub fn program(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

/// How a private server is to be.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The port on the loopback address.
    pub port: u16,
    /// The password of [`ROLE`].
    pub password: String,
    /// Whether what was committed must survive a crash of the machine.
    pub durable: bool,
    /// More lines for `postgresql.conf`.
    pub more: Vec<(String, String)>,
}

/// A private server's data, ready to be served.
#[derive(Debug)]
pub struct Cluster {
    programs: Programs,
    dir: PathBuf,
    outside: bool,
    settings: Settings,
}

impl Cluster {
    /// Finds the data in a state directory, or makes it, and writes the configuration.
    pub async fn open(state: &StateDir, settings: Settings, watchdog: &Watchdog) -> Result<Self> {
        let programs = Programs::find()?;
        let link = state.file("postgres");
        if link.symlink_metadata().is_err() {
            initialize(&programs, state, &settings, watchdog).await?;
        }
        let dir = link.canonicalize().context("PostgreSQL's data directory is gone")?;
        let outside = !dir.starts_with(state.path());
        if outside && state.is_temporary() {
            watchdog.remove(&dir);
        }
        let cluster = Cluster { programs, dir, outside, settings };
        cluster.configure()?;
        Ok(cluster)
    }

    /// The URL of a database of this server.
    pub fn url(&self, database: &str) -> String {
        let Settings { port, password, .. } = &self.settings;
        format!("postgresql://{ROLE}:{password}@127.0.0.1:{port}/{database}")
    }

    /// The path of a client program that goes with this server.
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.program(name)
    }

    /// How to start the server; `nexus_dev` is the program of that name, `log` where it logs.
    pub fn spec(&self, nexus_dev: &Path, log: PathBuf) -> Spec {
        let postgres = self.programs.program("postgres").display().to_string();
        let dir = self.dir.display().to_string();
        Spec {
            name: "postgres".to_string(),
            argv: vec![
                nexus_dev.display().to_string(),
                "exec-postgres".to_string(),
                "--program".to_string(),
                postgres.clone(),
                "--data-dir".to_string(),
                dir.clone(),
            ],
            becomes: Some(vec![postgres, "-D".to_string(), dir]),
            log,
            // A fast shutdown: ends sessions, writes everything out.
            stop_signal: Signal::INT,
            patience: Duration::from_secs(60),
        }
    }

    /// The process id of the server, once it accepts connections.
    pub fn serving(&self) -> Option<u32> {
        let text = std::fs::read_to_string(self.dir.join("postmaster.pid")).ok()?;
        let lines: Vec<_> = text.lines().map(str::trim).collect();
        if *lines.get(7)? == "ready" { lines.first()?.parse().ok() } else { None }
    }

    /// Removes the data, if it is not in the state directory and so does not go with it.
    pub fn remove_outside(&self) {
        if self.outside {
            let _ = std::fs::remove_dir_all(&self.dir);
        }
    }

    fn configure(&self) -> Result<()> {
        let Settings { port, durable, more, .. } = &self.settings;
        let mut conf = format!(
            "listen_addresses = '127.0.0.1'\n\
             port = {port}\n\
             unix_socket_directories = ''\n\
             max_connections = 200\n\
             password_encryption = scram-sha-256\n\
             timezone = 'UTC'\n\
             log_timezone = 'UTC'\n\
             # More row-level predicate locks before they become locks of a whole table.\n\
             max_pred_locks_per_transaction = 256\n\
             max_parallel_workers_per_gather = 0\n"
        );
        if !durable {
            conf.push_str("fsync = off\nsynchronous_commit = off\nfull_page_writes = off\n");
        }
        for (name, value) in more {
            writeln!(conf, "{name} = '{}'", value.replace('\'', "''"))?;
        }
        self.write("postgresql.conf", &conf)?;
        self.write("pg_hba.conf", "host all all 127.0.0.1/32 scram-sha-256\n")
    }

    fn write(&self, name: &str, content: &str) -> Result<()> {
        let path = self.dir.join(name);
        crate::state_dir::write_private(&path, content)?;
        give_to_owner_of(&self.dir, &path)
    }
}

/// PostgreSQL accepts only files of the user that it runs as, which is the owner of its data.
fn give_to_owner_of(dir: &Path, path: &Path) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    let owner = dir.metadata()?;
    if owner.uid() != path.metadata()?.uid() {
        chown(path, Some(owner.uid()), Some(owner.gid()))?;
    }
    Ok(())
}

/// Makes the data directory. It gets its final name last, so one that was left half made is never
/// taken for a whole one.
async fn initialize(
    programs: &Programs,
    state: &StateDir,
    settings: &Settings,
    watchdog: &Watchdog,
) -> Result<()> {
    let user = OsUser::unprivileged()?;
    let inside = user.as_ref().is_none_or(|user| user.can_reach(state.path()));
    let dir = if inside { fresh_dir(&state.file("postgres.partial"))? } else { outside_dir()? };
    if !inside {
        watchdog.remove(&dir);
    }
    if let Some(user) = &user {
        chown(&dir, Some(user.uid), Some(user.gid))?;
    }
    make_cluster(programs, &dir, user.as_ref(), settings.durable).await?;
    make_role_and_database(programs, &dir, user.as_ref(), &settings.password).await?;
    let place = state.file("postgres");
    if inside {
        std::fs::rename(&dir, &place)?;
    } else {
        symlink(&dir, &place)?;
        watchdog.keep(&dir);
    }
    Ok(())
}

fn fresh_dir(dir: &Path) -> Result<PathBuf> {
    let _ = std::fs::remove_dir_all(dir);
    std::fs::create_dir(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    std::fs::set_permissions(dir, Permissions::from_mode(0o700))?;
    Ok(dir.to_path_buf())
}

fn outside_dir() -> Result<PathBuf> {
    const PREFIX: &str = "nexus-postgres-";
    let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in("/var/tmp");
    let dir = dir.or_else(|_| tempfile::Builder::new().prefix(PREFIX).tempdir());
    let dir = dir.context("cannot make a directory for PostgreSQL's data")?.keep();
    std::fs::set_permissions(&dir, Permissions::from_mode(0o700))?;
    Ok(dir)
}

async fn make_cluster(
    programs: &Programs,
    dir: &Path,
    user: Option<&OsUser>,
    durable: bool,
) -> Result<()> {
    let mut initdb = command(&programs.program("initdb"), user);
    initdb.arg("-D").arg(dir).args(["--username", ROLE, "--encoding", "UTF8"]);
    // Text sorts by its bytes, as in CockroachDB.
    initdb.args(["--locale", "C", "--no-instructions"]);
    // Both files that these speak of are replaced before the server runs.
    initdb.args(["--auth", "reject"]);
    if !durable {
        initdb.arg("--no-sync");
    }
    let output = initdb.output().await.context("cannot run initdb")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    ensure!(output.status.success(), "initdb failed: {last}");
    Ok(())
}

/// Gives the role its password and settings, in single-user mode: there is never a moment at which
/// the server accepts connections without a password.
async fn make_role_and_database(
    programs: &Programs,
    dir: &Path,
    user: Option<&OsUser>,
    password: &str,
) -> Result<()> {
    let script = format!(
        "ALTER ROLE {ROLE} PASSWORD '{password}'\n\
         ALTER ROLE {ROLE} SET default_transaction_isolation = 'serializable'\n\
         ALTER ROLE {ROLE} SET enable_seqscan = off\n\
         CREATE DATABASE {ROLE}\n"
    );
    let mut child = command(&programs.program("postgres"), user)
        .arg("--single")
        .arg("-D")
        .arg(dir)
        .args(["-c", "password_encryption=scram-sha-256", "postgres"])
        .stdin(Stdio::piped())
        .spawn()
        .context("cannot run postgres")?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(script.as_bytes()).await?;
    }
    let output = child.wait_with_output().await?;
    let said = String::from_utf8_lossy(&output.stderr);
    if let Some(error) = said.lines().find(|l| l.contains("ERROR:") || l.contains("FATAL:")) {
        bail!("cannot set up the database: {error}");
    }
    ensure!(output.status.success(), "cannot set up the database: {}", output.status);
    Ok(())
}

/// A command run as `user`, that ends if its future is dropped.
fn command(program: &Path, user: Option<&OsUser>) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Messages are searched for English words.
    command.env("LC_ALL", "C").kill_on_drop(true).process_group(0);
    if let Some(user) = user {
        command.uid(user.uid).gid(user.gid);
    }
    command
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn settings_are_added_once() {
        let plain = with_settings("postgresql://a@b/c");
        assert!(plain.starts_with("postgresql://a@b/c?options=-c%20default_transaction"));
        assert_eq!(with_settings(&plain), plain);
        let more = with_settings("postgresql://a@b/c?connect_timeout=1");
        assert!(more.starts_with("postgresql://a@b/c?connect_timeout=1&options="));
        let decided = "postgresql://a@b/c?x=1&options=-csearch_path%3Dd";
        assert_eq!(with_settings(decided), decided);
    }
}
