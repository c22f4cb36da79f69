//! Chaos: a rack under random load while random parts of it fail, and a judge.
//!
//! Several clients make requests, an injector of faults lets simulators misbehave and kills
//! processes, and a prober sends packets. All choices come from a [seed](plan). What happens is
//! kept in a [history], and the [checks](check) tell whether it can be true of a system that never
//! gives an address to the wrong machine. In the end the faults stop, everything must come to
//! [rest](quiet), and the system must agree with itself.
//!
//! The same seed makes the same plan. It does not make the same history: that depends on how the
//! threads of a dozen processes run, which is where the races come from.

#![warn(missing_docs)]

pub mod check;
pub mod clients;
pub mod faults;
pub mod history;
pub mod plan;
pub mod probe;
pub mod quiet;
pub mod register;
pub mod report;
pub mod request;
pub mod rig;

use anyhow::{Context, Result};
use futures::future::join_all;
use history::Entry;
use nexus_dev::layout::NatMode;
use nexus_dev::rack::Stop;
use probe::Probed;
use report::Report;
use rig::Rig;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How a run is to be.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Decides what happens.
    pub seed: u64,
    /// How long there is trouble. A round of it is always finished.
    pub duration: Duration,
    /// Clients that make requests at the same time.
    pub clients: usize,
    /// How the switches get NAT.
    pub nat: NatMode,
}

impl Settings {
    /// The way in which the switches get NAT where nobody chose one: each for half of the seeds.
    pub fn nat_of(seed: u64) -> NatMode {
        if seed.is_multiple_of(2) { NatMode::Push } else { NatMode::Pull }
    }
}

/// The outcome of a run.
#[derive(Debug)]
pub struct Outcome {
    /// What happened.
    pub report: Report,
    /// Where the logs and the history are kept, if something went wrong.
    pub kept: Option<PathBuf>,
}

/// Starts a rack, torments it, and judges it. What goes on is told on standard output.
pub async fn run(settings: Settings) -> Result<Outcome> {
    let nat = match settings.nat {
        NatMode::Push => "pushed",
        NatMode::Pull => "pulled",
    };
    println!("chaos: seed {}, NAT is {nat}", settings.seed);
    let dir = tempfile::Builder::new().prefix("nexus-chaos-").tempdir()?;
    // PostgreSQL's user must be able to pass through.
    std::fs::set_permissions(dir.path(), Permissions::from_mode(0o711))?;
    let judged = match torment(settings, dir.path()).await {
        Ok(report) if report.count_violations() == 0 => {
            return Ok(Outcome { report, kept: None });
        }
        judged => judged,
    };
    let kept = dir.keep();
    let report = judged.with_context(|| format!("everything is kept in {}", kept.display()))?;
    Ok(Outcome { report, kept: Some(kept) })
}

async fn torment(settings: Settings, dir: &Path) -> Result<Report> {
    let rig = Rig::start(dir, settings.nat).await.context("the rack does not start")?;
    let (trouble, probed) = load(&rig, settings).await;
    trouble?;
    let dead = faults::revive(&rig).await?;
    let mut faulty: Vec<_> = dead.iter().map(|part| format!("{part} ended by itself")).collect();
    println!("chaos: the faults are over; waiting for rest");
    faulty.extend(quiet::wait(&rig).await);
    let last = quiet::read_all(&rig).await;
    let probed = Probed {
        sent: probed.sent + last.sent,
        passed: probed.passed + last.passed,
        unknown: probed.unknown + last.unknown,
    };
    let entries = rig.history.entries();
    write_history(&dir.join("history.txt"), &entries)?;
    let resumed = resumed_sagas(&rig);
    tokio::task::block_in_place(|| rig.rack.stop(Stop::Abrupt));
    Ok(Report::of(&entries, probed, resumed, faulty))
}

/// Load and faults together, until the faults are over.
async fn load(rig: &Rig, settings: Settings) -> (Result<()>, Probed) {
    let stop = AtomicBool::new(false);
    let Settings { seed, duration, clients, nat: _ } = settings;
    let trouble = async {
        let trouble = faults::run(rig, seed, duration).await;
        stop.store(true, Ordering::Relaxed);
        trouble
    };
    let clients = join_all((0..clients).map(|index| clients::run(rig, seed, index, &stop)));
    let prober = probe::run(rig, seed, &stop);
    let (trouble, _, probed, ()) = tokio::join!(trouble, clients, prober, progress(rig, &stop));
    (trouble, probed)
}

/// Tells now and then that something goes on.
async fn progress(rig: &Rig, stop: &AtomicBool) {
    const STEP: Duration = Duration::from_millis(250);
    const STEPS: usize = 40;
    let mut steps = 0;
    while !stop.load(Ordering::Relaxed) {
        tokio::time::sleep(STEP).await;
        steps += 1;
        if steps % STEPS == 0 {
            let seconds = rig.history.now() / 1_000_000;
            println!("chaos: {seconds} s, {} events", rig.history.len());
        }
    }
}

fn write_history(file: &Path, entries: &[Entry]) -> Result<()> {
    let lines: Vec<_> = entries.iter().map(ToString::to_string).collect();
    std::fs::write(file, lines.join("\n")).context("cannot write the history")
}

/// How many sagas were resumed, as the logs tell.
fn resumed_sagas(rig: &Rig) -> usize {
    let logs = rig.ready.processes.iter().filter(|process| process.name.starts_with("nexus"));
    let read = logs.filter_map(|process| std::fs::read(&process.log).ok());
    read.map(|log| String::from_utf8_lossy(&log).matches("saga is resumed").count()).sum()
}
