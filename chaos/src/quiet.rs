//! The end: everything comes to rest, and then the system must agree with itself.

use crate::plan::{NEXUSES, Packet, SWITCHES};
use crate::probe::{Probed, Prober};
use crate::request::{ADDRESSES, FLOATING_IPS, INSTANCES, Request};
use crate::rig::Rig;
use anyhow::{Context, Result};
use nexus_dev::rack::Options;
use nexus_tests::Client;
use nexus_tests::settled::disagreement;
use reqwest::Method;
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::process::Command;

/// How long everything may take to come to rest after the last fault.
const BOUND: Duration = Duration::from_secs(60);
/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(500);
/// Who looks, in the history.
const WHO: &str = "auditor";

/// Waits until nothing is going on and the checker agrees. Returns what is still wrong when the
/// time is up.
pub async fn wait(rig: &Rig) -> Result<Vec<String>> {
    let since = Instant::now();
    loop {
        let mut wrong = unfinished_sagas(&rig.operator(0)).await;
        if wrong.is_empty() {
            wrong = check(rig).await?;
        }
        if wrong.is_empty() || since.elapsed() > BOUND {
            return Ok(wrong);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Reads everything once more, and sends a packet to every address through every switch.
pub async fn read_all(rig: &Rig) -> Probed {
    for nexus in 0..NEXUSES {
        for fip in 0..FLOATING_IPS {
            rig.request(WHO, nexus, Request::FipView { fip }).await;
        }
        for instance in 0..INSTANCES {
            rig.request(WHO, nexus, Request::InstanceView { instance }).await;
            rig.request(WHO, nexus, Request::Addresses { instance }).await;
        }
        rig.request(WHO, nexus, Request::Ranges).await;
        rig.request(WHO, nexus, Request::Links).await;
    }
    let mut prober = Prober::new(rig);
    for address in 0..ADDRESSES {
        for switch in 0..SWITCHES {
            prober.send(Packet::In { switch, address }).await;
        }
    }
    prober.probed
}

/// The sagas that are not finished, in words.
async fn unfinished_sagas(operator: &Client) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut path = "/sagas?limit=1000".to_string();
    loop {
        let page = match operator.try_send(Method::GET, &path, None).await {
            Ok(reply) if reply.status == 200 => reply.body,
            Ok(reply) => return vec![format!("the list of sagas is {}", reply.status)],
            Err(error) => return vec![format!("the list of sagas is not answered: {error}")],
        };
        let sagas = page["items"].as_array().into_iter().flatten();
        let unfinished = |saga: &&Value| {
            !matches!(saga["state"]["state"].as_str(), Some("succeeded" | "failed"))
        };
        let told = |saga: &Value| {
            format!("saga {} {} is {}", saga["name"], saga["id"], saga["state"]["state"])
        };
        wrong.extend(sagas.filter(unfinished).map(told));
        match page["next_page"].as_str() {
            Some(token) => path = format!("/sagas?limit=1000&page_token={token}"),
            None => return wrong,
        }
    }
}

/// What the checker finds, a line for each. The checker is `nexus-dev check` where there is one.
async fn check(rig: &Rig) -> Result<Vec<String>> {
    let program = Options::new()?.programs.join("nexus-dev");
    if has_checker(&program).await? {
        run_checker(&program, rig.ready_file()).await
    } else {
        compare(rig).await
    }
}

async fn has_checker(program: &Path) -> Result<bool> {
    let output = Command::new(program).arg("--help").stdin(Stdio::null()).output().await?;
    let help = String::from_utf8_lossy(&output.stdout);
    Ok(help.lines().any(|line| line.split_whitespace().next() == Some("check")))
}

async fn run_checker(program: &Path, ready_file: &Path) -> Result<Vec<String>> {
    let mut command = Command::new(program);
    command.arg("check").arg("--ready-file").arg(ready_file).stdin(Stdio::null());
    let output = command.output().await.context("cannot run the checker")?;
    if output.status.success() {
        return Ok(Vec::new());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let lines = said.lines().filter(|line| !line.trim().is_empty()).map(str::to_string);
    let lines: Vec<_> = lines.collect();
    Ok(if lines.is_empty() { vec![format!("the checker ended: {}", output.status)] } else { lines })
}

/// Compares what the API tells with switches and sleds.
async fn compare(rig: &Rig) -> Result<Vec<String>> {
    let client = rig.external(0);
    let (switches, sleds) = rig.sims();
    // The tests' harness panics where there is no answer; here that is something to wait for.
    let found = tokio::spawn(async move { disagreement(&client, &switches, &sleds).await }).await;
    Ok(match found {
        Ok(Ok(())) => Vec::new(),
        Ok(Err(wrong)) => wrong,
        Err(_) => vec!["a part of the rack does not answer".to_string()],
    })
}
