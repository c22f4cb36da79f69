//! The injector: makes go wrong what its plan says, and puts it right.

use crate::plan::{Fault, Trouble, TroubleKind, rounds};
use crate::rig::Rig;
use anyhow::{Context, Result};
use nexus_dev::part::Part;
use reqwest::Method;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// How often the start of a killed part is tried.
const STARTS: usize = 3;

/// Makes trouble for this long, and for one round at least; then takes all faults back.
pub async fn run(rig: &Rig, seed: u64, duration: Duration) -> Result<()> {
    let since = Instant::now();
    for (index, round) in rounds(seed).enumerate() {
        for Trouble { pause, kind } in round {
            if index > 0 && since.elapsed() > duration {
                break;
            }
            tokio::time::sleep(pause).await;
            trouble(rig, kind).await?;
        }
        if since.elapsed() > duration {
            break;
        }
    }
    clear(rig).await
}

async fn trouble(rig: &Rig, kind: TroubleKind) -> Result<()> {
    match kind {
        TroubleKind::Fault(fault) => set(rig, fault).await,
        TroubleKind::Clear => clear(rig).await,
        TroubleKind::Kill { part, down } => kill(rig, part, down).await,
        TroubleKind::Crash { sled, number } => crash(rig, sled, number).await,
    }
}

async fn set(rig: &Rig, fault: Fault) -> Result<()> {
    let Fault { part, operation, kind, delay, after_apply, times } = fault;
    let start = rig.history.now();
    let body = json!({
        "operation": operation,
        "fault": kind,
        "delay_ms": delay.as_millis() as u64,
        "after_apply": after_apply,
        "times": times,
    });
    rig.control(part)?.try_send(Method::POST, "/sim/faults", Some(body)).await?;
    let when = if after_apply { " after the change" } else { "" };
    rig.trouble(start, format!("fault {kind}{when} {part} {operation} times {times}"));
    Ok(())
}

/// Takes all faults back.
pub async fn clear(rig: &Rig) -> Result<()> {
    let start = rig.history.now();
    for part in rig.simulators() {
        rig.control(part)?.try_send(Method::DELETE, "/sim/faults", None).await?;
    }
    rig.trouble(start, "clear".to_string());
    Ok(())
}

async fn kill(rig: &Rig, part: Part, down: Duration) -> Result<()> {
    let start = rig.history.now();
    rig.rack.kill(part)?;
    rig.trouble(start, format!("kill {part}"));
    tokio::time::sleep(down).await;
    let start = rig.history.now();
    restart(rig, part).await?;
    rig.trouble(start, format!("restart {part}"));
    Ok(())
}

/// Starts a part again. PostgreSQL may need another try: what its killed server has left behind
/// ends a moment later.
async fn restart(rig: &Rig, part: Part) -> Result<()> {
    let mut tried = 1;
    loop {
        match rig.rack.restart(part).await {
            Ok(()) => return Ok(()),
            Err(error) if tried >= STARTS => return Err(error),
            Err(_) => tried += 1,
        }
    }
}

/// Starts again whatever has ended by itself. Returns what that was: nothing may.
pub async fn revive(rig: &Rig) -> Result<Vec<Part>> {
    let mut dead = Vec::new();
    for part in rig.rack.parts() {
        if rig.rack.process(part)?.ended().is_some() {
            restart(rig, part).await?;
            dead.push(part);
        }
    }
    Ok(dead)
}

async fn crash(rig: &Rig, sled: usize, number: usize) -> Result<()> {
    let start = rig.history.now();
    let control = rig.control(Part::SledAgent(sled))?;
    let state = control.try_send(Method::GET, "/sim/state", None).await?.body;
    let Some(vmm) = running(&state, number) else { return Ok(()) };
    let id = vmm["id"].as_str().context("a VMM has an id")?;
    control.try_send(Method::POST, &format!("/sim/vmms/{id}/crash"), None).await?;
    rig.trouble(start, format!("crash VMM of {} on sled {sled}", vmm["instance_id"]));
    Ok(())
}

/// The running VMM with this number, counted around.
pub fn running(state: &Value, number: usize) -> Option<&Value> {
    let runs = |vmm: &&Value| vmm["state"] == "running";
    let running: Vec<_> = state["vmms"].as_array()?.iter().filter(runs).collect();
    running.get(number.checked_rem(running.len())?).copied()
}
