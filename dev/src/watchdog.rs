//! A small process that cleans up after a rack whose owner was killed.
//!
//! A killed process (SIGKILL, out of memory) can stop nothing any more, and its children live on.
//! So every rack starts `nexus-dev watchdog`, tells it through a pipe which processes and
//! directories are its own, and holds the pipe open. When the pipe closes, for whatever reason,
//! the watchdog ends the processes and removes the directories that it still knows of; after an
//! orderly stop there are none.
//!
//! It also holds the lock of the state directory, so that a new rack cannot start there before the
//! old one is cleared away.

use crate::proc_fs;
use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// One line on the watchdog's pipe.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Order {
    /// End this process when the pipe closes.
    Watch { pid: u32, gently: bool, runs_as: Vec<String> },
    /// That process has ended.
    Forget { pid: u32 },
    /// Remove this directory when the pipe closes.
    Remove { dir: PathBuf },
    /// Leave that directory alone.
    Keep { dir: PathBuf },
}

/// The owner's end of the pipe.
#[derive(Debug)]
pub struct Watchdog {
    child: Child,
    pipe: Mutex<Option<ChildStdin>>,
}

impl Watchdog {
    /// Starts the watchdog: `program` is `nexus-dev`. It keeps `hold` open as long as it runs.
    pub fn start(program: &Path, hold: Option<File>) -> Result<Self> {
        let mut child = Command::new(program)
            .arg("watchdog")
            .stdin(Stdio::piped())
            .stdout(hold.map_or_else(Stdio::null, Stdio::from))
            .stderr(Stdio::null())
            .current_dir("/")
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let pipe = Mutex::new(child.stdin.take());
        Ok(Watchdog { child, pipe })
    }

    /// Has a process ended when the owner is gone; `gently` for one with data to save.
    pub fn watch(&self, pid: u32, gently: bool) {
        self.watch_command(pid, gently, &[]);
    }

    /// As [`Watchdog::watch`]; if the process has been started again by its command line, that one
    /// goes too.
    pub fn watch_command(&self, pid: u32, gently: bool, runs_as: &[String]) {
        self.order(&Order::Watch { pid, gently, runs_as: runs_as.to_vec() });
    }

    /// Takes back [`Watchdog::watch`].
    pub fn forget(&self, pid: u32) {
        self.order(&Order::Forget { pid });
    }

    /// Has a directory removed when the owner is gone.
    pub fn remove(&self, dir: &Path) {
        self.order(&Order::Remove { dir: dir.to_path_buf() });
    }

    /// Takes back [`Watchdog::remove`].
    pub fn keep(&self, dir: &Path) {
        self.order(&Order::Keep { dir: dir.to_path_buf() });
    }

    fn order(&self, order: &Order) {
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(pipe), Ok(mut line)) = (pipe.as_mut(), serde_json::to_vec(order)) {
            line.push(b'\n');
            // A watchdog that someone has killed guards nothing; the rack runs all the same.
            let _ = pipe.write_all(&line);
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.pipe.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = self.child.wait();
    }
}

/// What the watchdog would have to clear away.
#[derive(Debug, Default)]
struct Charge {
    processes: BTreeMap<u32, Watched>,
    dirs: Vec<PathBuf>,
}

/// A process that is to end.
#[derive(Clone, Debug)]
struct Watched {
    /// Tells it from a later process of the same id.
    started: Option<u64>,
    gently: bool,
    runs_as: Vec<String>,
}

impl Watched {
    fn new(pid: u32, gently: bool, runs_as: Vec<String>) -> Self {
        Watched { started: proc_fs::start_time(pid), gently, runs_as }
    }

    fn runs(&self, pid: u32) -> bool {
        proc_fs::is_running(pid) && proc_fs::start_time(pid) == self.started
    }
}

/// The watchdog itself: reads orders until the pipe closes, then clears away what is left.
pub fn run(orders: impl BufRead) {
    let mut charge = Charge::default();
    for line in orders.lines().map_while(Result::ok) {
        if let Ok(order) = serde_json::from_str(&line) {
            charge.take(order);
        }
    }
    charge.clear();
}

impl Charge {
    fn take(&mut self, order: Order) {
        match order {
            Order::Watch { pid, gently, runs_as } => {
                self.processes.insert(pid, Watched::new(pid, gently, runs_as));
            }
            Order::Forget { pid } => {
                self.processes.remove(&pid);
            }
            Order::Remove { dir } => self.dirs.push(dir),
            Order::Keep { dir } => self.dirs.retain(|kept| *kept != dir),
        }
    }

    /// Ends the database last: what uses it must not see it go first.
    fn clear(mut self) {
        self.add_started_again();
        let (gentle, rough): (Vec<_>, Vec<_>) =
            self.processes.into_iter().partition(|(_, watched)| watched.gently);
        end(&rough, Signal::KILL);
        end(&gentle, Signal::INT);
        end(&gentle, Signal::KILL);
        for dir in self.dirs {
            let _ = std::fs::remove_dir_all(dir);
        }
    }

    fn add_started_again(&mut self) {
        for Watched { gently, runs_as, .. } in self.processes.clone().into_values() {
            for pid in proc_fs::with_argv(&runs_as) {
                self.processes
                    .entry(pid)
                    .or_insert_with(|| Watched::new(pid, gently, runs_as.clone()));
            }
        }
    }
}

fn end(processes: &[(u32, Watched)], signal: Signal) {
    const BOUND: Duration = Duration::from_secs(10);
    const STEP: Duration = Duration::from_millis(20);
    for (pid, watched) in processes {
        if let Some(target) = i32::try_from(*pid).ok().and_then(Pid::from_raw)
            && watched.runs(*pid)
        {
            let _ = kill_process(target, signal);
        }
    }
    let since = Instant::now();
    while since.elapsed() < BOUND && processes.iter().any(|(pid, watched)| watched.runs(*pid)) {
        std::thread::sleep(STEP);
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn orders(orders: &[Order]) -> Vec<u8> {
        let lines = orders.iter().map(|order| serde_json::to_string(order).expect("an order"));
        lines.collect::<Vec<_>>().join("\n").into_bytes()
    }

    #[test]
    fn what_is_left_when_the_pipe_closes_is_cleared_away() {
        let dir = tempfile::tempdir().expect("a directory");
        let (gone, kept) = (dir.path().join("gone"), dir.path().join("kept"));
        std::fs::create_dir(&gone).expect("a directory");
        std::fs::create_dir(&kept).expect("a directory");
        let sleep = |time: &str| Command::new("sleep").arg(time).spawn().expect("sleep starts");
        let argv = |time: &str| vec!["sleep".to_string(), time.to_string()];
        // Two of the same command line: the second stands for one that was started again.
        let (mut watched, mut again) = (sleep("60.0625"), sleep("60.0625"));
        let mut forgotten = sleep("60.125");
        run(&*orders(&[
            Order::Watch { pid: watched.id(), gently: false, runs_as: argv("60.0625") },
            Order::Watch { pid: forgotten.id(), gently: true, runs_as: argv("60.125") },
            Order::Forget { pid: forgotten.id() },
            Order::Remove { dir: gone.clone() },
            Order::Remove { dir: kept.clone() },
            Order::Keep { dir: kept.clone() },
        ]));
        assert!(!watched.wait().expect("it has ended").success());
        assert!(!again.wait().expect("it has ended").success());
        assert!(forgotten.try_wait().expect("a status").is_none());
        forgotten.kill().expect("it is ours");
        forgotten.wait().expect("it ends");
        assert!(!gone.exists() && kept.exists());
    }
}
