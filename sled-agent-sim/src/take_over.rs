//! Takes over an instance from another sled, as the target of a migration.

use crate::agent::Agent;
use crate::model::{TARGET_BOUND, TakeOver};
use crate::peer::{MIGRATION_PATH, MigrationRequest, Wanted};
use chrono::Utc;
use slog::{info, warn};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the source hears of the target.
const BEAT: Duration = Duration::from_millis(500);

/// How long the target waits until it asks a source again that did not answer.
const RETRY: Duration = Duration::from_millis(100);

/// The migration cannot go on.
struct Failed(String);

/// Does it, and lets the model know how it ended.
pub async fn run(agent: Arc<Agent>, job: TakeOver) {
    let result = take_over(&agent, &job).await;
    if let Err(Failed(reason)) = &result {
        warn!(agent.log, "a migration failed"; "vmm" => %job.vmm, "reason" => reason);
        // Whether it hears this or not: it keeps the instance if it hears nothing more.
        let _ = ask(&agent, &job, Wanted::Keep).await;
    } else {
        info!(agent.log, "took over an instance"; "vmm" => %job.vmm, "instance" => %job.instance_id);
    }
    agent.with(|sled| sled.taken_over(&job, result.is_ok(), Utc::now()));
}

async fn take_over(agent: &Arc<Agent>, job: &TakeOver) -> Result<(), Failed> {
    let end = Instant::now() + job.after;
    loop {
        insist(agent, job, Wanted::Prepare).await?;
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        tokio::time::sleep(BEAT.min(left)).await;
    }
    insist(agent, job, Wanted::HandOver).await
}

/// Asks the source until it answers, as long as there is hope: the source does not wait for ever,
/// and the target must still want it.
async fn insist(agent: &Arc<Agent>, job: &TakeOver, wanted: Wanted) -> Result<(), Failed> {
    let start = Instant::now();
    loop {
        if !agent.with(|sled| sled.is_taking_over(job)) {
            return Err(Failed("the target has come to an end".to_string()));
        }
        let failure = match ask(agent, job, wanted).await {
            Ok(status) if status.is_success() => return Ok(()),
            Ok(status) if status.is_client_error() => {
                return Err(Failed(format!("the source refuses: {status}")));
            }
            Ok(status) => Failed(format!("the source fails: {status}")),
            Err(failure) => failure,
        };
        if start.elapsed() > TARGET_BOUND {
            return Err(failure);
        }
        tokio::time::sleep(RETRY).await;
    }
}

async fn ask(agent: &Agent, job: &TakeOver, wanted: Wanted) -> Result<reqwest::StatusCode, Failed> {
    let peer = agent.config.peer(job.source.ip());
    let Some(peer) = peer else {
        return Err(Failed(format!("there is no sled with VMMs at {}", job.source.ip())));
    };
    let request = MigrationRequest {
        migration_id: job.migration_id,
        instance_id: job.instance_id,
        propolis_addr: job.source,
        wanted,
    };
    let url = format!("{}{MIGRATION_PATH}", peer.sim_url.trim_end_matches('/'));
    let answer = agent.http.post(url).json(&request).send().await;
    answer.map(|answer| answer.status()).map_err(|error| Failed(error.to_string()))
}
