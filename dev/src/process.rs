//! A process of the rack: started with a log of its own, watched, and ended within a bound.
//!
//! Each one leads its own process group, so that Ctrl-C at a terminal reaches only whoever started
//! the rack, and the rack can then end its processes in the right order. A thread waits for each;
//! it reaps under the same lock that [`Process::signal`] takes, so a signal can never hit another
//! process that was given the same pid since.

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What is needed to start a process, and to start it again.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The name in the ready file: `postgres`, `dpd-0`, `sled-agent-1`, `nexus-0`.
    pub name: String,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The command line of the program by which it replaces itself, where it does.
    pub becomes: Option<Vec<String>>,
    /// Where its output goes.
    pub log: PathBuf,
    /// The signal that asks it to end.
    pub stop_signal: Signal,
    /// How long it may take to end before it is killed.
    pub patience: Duration,
}

impl Spec {
    /// The command line under which it is seen running.
    pub fn runs_as(&self) -> &[String] {
        self.becomes.as_ref().unwrap_or(&self.argv)
    }
}

/// A running process, or what is known of one that has ended.
#[derive(Debug)]
pub struct Process {
    spec: Spec,
    pid: Pid,
    end: Arc<End>,
}

#[derive(Debug, Default)]
struct End {
    status: Mutex<Option<ExitStatus>>,
    changed: Condvar,
}

impl Process {
    /// Starts a process. Its output is appended to its log.
    pub fn start(spec: Spec) -> Result<Self> {
        let log = File::options()
            .create(true)
            .append(true)
            .open(&spec.log)
            .with_context(|| format!("cannot open the log {}", spec.log.display()))?;
        let (program, arguments) = spec.argv.split_first().context("empty command line")?;
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {}: {program}", spec.name))?;
        let pid = Pid::from_child(&child);
        let end = Arc::new(End::default());
        let reaper = Arc::clone(&end);
        std::thread::Builder::new()
            .name(format!("wait-{}", spec.name))
            .spawn(move || reaper.reap(child))?;
        Ok(Process { spec, pid, end })
    }

    /// What it was started from.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Its name in the ready file.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// Its process id, also after it has ended.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// How it ended; none while it runs.
    pub fn ended(&self) -> Option<ExitStatus> {
        *self.end.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a signal, if it has not ended.
    pub fn signal(&self, signal: Signal) {
        let status = self.end.status.lock().unwrap_or_else(PoisonError::into_inner);
        if status.is_none() {
            // Fails only for a process that has just ended, which is as good.
            let _ = kill_process(self.pid, signal);
        }
    }

    /// Waits until it has ended, or until `bound` has passed.
    pub fn wait(&self, bound: Duration) -> Option<ExitStatus> {
        let status = self.end.status.lock().unwrap_or_else(PoisonError::into_inner);
        let (status, _) = self
            .end
            .changed
            .wait_timeout_while(status, bound, |status| status.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        *status
    }

    /// Ends it at once, as a crash would, and waits until it is gone.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
        self.wait(GONE);
    }

    /// The last thing it wrote: what to show when it ended unasked.
    pub fn last_words(&self) -> String {
        last_words(&self.spec.log)
    }
}

/// How long a killed process may take to disappear.
const GONE: Duration = Duration::from_secs(10);

/// Asks all of `processes` to end, then waits for each within its patience, and kills what stays.
pub fn stop_all(processes: &[Arc<Process>]) {
    for process in processes {
        process.signal(process.spec.stop_signal);
    }
    let asked = Instant::now();
    for process in processes {
        let left = process.spec.patience.saturating_sub(asked.elapsed());
        if process.wait(left).is_none() {
            process.kill();
        }
    }
}

impl End {
    fn reap(&self, mut child: Child) {
        // Waits without reaping: until the lock is held, the pid must not become free.
        let pid = Pid::from_child(&child);
        while let Err(rustix::io::Errno::INTR) =
            waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
        {}
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        *status = Some(child.wait().unwrap_or_default());
        self.changed.notify_all();
    }
}

/// The most telling of the last lines of a log: PostgreSQL's `FATAL` line where there is one,
/// else the last line that is not empty.
pub fn last_words(log: &Path) -> String {
    const ENOUGH: usize = 64;
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut lines = text.lines().rev().map(str::trim).filter(|line| !line.is_empty()).take(ENOUGH);
    let Some(last) = lines.next() else { return "it left no message".to_string() };
    let told = lines.find(|line| line.contains("FATAL:")).filter(|_| !last.contains("FATAL:"));
    told.unwrap_or(last).chars().take(400).collect()
}

#[cfg(test)]
mod test {
    use super::*;

    fn shell(script: &str, log: &Path) -> Process {
        Process::start(Spec {
            name: "sh".to_string(),
            argv: ["/bin/sh", "-c", script].map(str::to_string).to_vec(),
            becomes: None,
            log: log.to_path_buf(),
            stop_signal: Signal::TERM,
            patience: Duration::from_millis(200),
        })
        .expect("/bin/sh starts")
    }

    #[test]
    fn an_end_is_noticed_and_its_last_words_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        let log = dir.path().join("log");
        let process = shell("echo first; echo last >&2; exit 3", &log);
        let status = process.wait(Duration::from_secs(10)).expect("it ends");
        assert_eq!(status.code(), Some(3));
        assert_eq!(process.last_words(), "last");
    }

    #[test]
    fn who_does_not_end_when_asked_is_killed() {
        let dir = tempfile::tempdir().expect("a directory");
        let log = dir.path().join("log");
        let process = Arc::new(shell("trap '' TERM; echo deaf; while :; do sleep 1; done", &log));
        let heard = Instant::now();
        while !std::fs::read_to_string(&log).expect("a log").contains("deaf") {
            assert!(heard.elapsed() < Duration::from_secs(10), "the trap is never set");
            std::thread::yield_now();
        }
        stop_all(&[Arc::clone(&process)]);
        assert!(process.ended().is_some());
    }

    #[test]
    fn postgresqls_reason_is_more_telling_than_its_last_line() {
        let dir = tempfile::tempdir().expect("a directory");
        let log = dir.path().join("log");
        std::fs::write(&log, "LOG: starting\nFATAL:  no space\nLOG: shut down\n\n").expect("log");
        assert_eq!(last_words(&log), "FATAL:  no space");
    }
}
