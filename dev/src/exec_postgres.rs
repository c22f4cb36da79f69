//! `nexus-dev exec-postgres`: becomes the PostgreSQL server of a rack.
//!
//! The command line in the ready file must bring the server back when it is run again, also as
//! root and after a kill. So it is this small program, which waits for what a killed server left
//! running, gives up root's rights, and then replaces itself by the server: the process id stays.

use crate::proc_fs;
use anyhow::{Context, Result, ensure};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// What `nexus-dev exec-postgres` is told.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// PostgreSQL's `postgres` program.
    #[arg(long)]
    program: PathBuf,
    /// The directory with the data; the server runs as the owner of it.
    #[arg(long)]
    data_dir: PathBuf,
}

/// Replaces this process by the server; returns only if that fails.
pub fn run(args: &Args) -> Result<()> {
    let dir = &args.data_dir;
    let owner = dir.metadata().with_context(|| format!("cannot find {}", dir.display()))?;
    let mut command = Command::new(&args.program);
    command.arg("-D").arg(dir).current_dir("/").env("LC_ALL", "C");
    if rustix::process::geteuid().is_root() {
        ensure!(
            owner.uid() != 0,
            "PostgreSQL does not run as root, but {} is root's",
            dir.display()
        );
        command.uid(owner.uid()).gid(owner.gid());
    }
    wait_for_leftovers(dir);
    let error = command.exec();
    Err(error).with_context(|| format!("cannot run {}", args.program.display()))
}

/// A killed server's sessions notice within moments that it is gone. Until they have ended a new
/// server refuses to start on the same data. If they stay, its own message says so best.
fn wait_for_leftovers(dir: &Path) {
    const BOUND: Duration = Duration::from_secs(20);
    const STEP: Duration = Duration::from_millis(20);
    let server = std::fs::read_to_string(dir.join("postmaster.pid")).ok();
    let server = server.and_then(|text| text.lines().next()?.trim().parse().ok());
    if server.is_some_and(proc_fs::is_running) {
        return;
    }
    let since = Instant::now();
    while since.elapsed() < BOUND && !proc_fs::working_in(dir).is_empty() {
        std::thread::sleep(STEP);
    }
}
