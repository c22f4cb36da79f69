//! A rack for a chore that needs one.

use crate::cargo;
use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const START_PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(50);

/// A rack of the programs that the build has made. It ends when it is dropped.
pub struct Rack {
    process: Child,
}

impl Rack {
    /// Starts a rack, whose ready file is there then.
    pub fn start(ready: &Path, default_api_version: Option<&str>) -> Result<Self> {
        let _ = std::fs::remove_file(ready);
        let program: PathBuf = cargo::program("nexus-dev")?;
        let mut command = Command::new(&program);
        command.args(["run-all", "--port", "0", "--ready-file"]).arg(ready);
        if let Some(version) = default_api_version {
            command.args(["--default-api-version", version]);
        }
        let process = command.stdout(Stdio::null()).spawn();
        let process = process.with_context(|| format!("cannot run {}", program.display()))?;
        let mut rack = Rack { process };
        let since = Instant::now();
        while !ready.exists() {
            if let Some(status) = rack.process.try_wait()? {
                bail!("the rack did not start ({status})");
            }
            ensure!(since.elapsed() < START_PATIENCE, "the rack does not start");
            std::thread::sleep(PAUSE);
        }
        Ok(rack)
    }
}

impl Drop for Rack {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = kill_process(Pid::from_child(&self.process), Signal::TERM);
        let _ = self.process.wait();
    }
}
