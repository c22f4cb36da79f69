//! Trying again: in undo actions until it works, in actions a bounded number of times.

use super::{SagaContext, failed};
use crate::dataplane::sled::SledError;
use crate::db::attach::Location;
use nexus_common::Error;
use rand::Rng;
use slog::warn;
use std::future::Future;
use std::time::Duration;
use steno::ActionError;

/// The longest pause between two tries of an undo.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// Pause after the `n`th try: doubling from 50 ms, with jitter.
fn pause(n: u32) -> Duration {
    let bound = Duration::from_millis(50 << n.min(10)).min(MAX_PAUSE);
    rand::rng().random_range(bound / 2..=bound)
}

/// Runs an undo step until it succeeds. steno gives a saga up at the first undo that fails, and
/// would leave the rest undone; so an undo does not fail, it goes on trying, and says so.
pub(super) async fn until_done<T, F, Fut>(ctx: &SagaContext, what: &str, mut step: F) -> T
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, Error>>,
{
    for n in 0.. {
        ctx.ownership.confirm(&ctx.datastore, n > 0).await;
        match step().await {
            Ok(value) => return value,
            Err(error) => {
                warn!(ctx.log, "undo is tried again";
                    "saga" => %ctx.saga.id, "step" => what, "try" => n + 1, "error" => %error);
                tokio::time::sleep(pause(n)).await;
            }
        }
    }
    unreachable!("the loop has no end")
}

/// Runs a transaction of an action until its outcome is known. A connection that breaks may do so
/// after the transaction was committed; if the action failed then, it would not be undone, as
/// steno undoes what completed. Every such transaction may run twice.
pub(super) async fn decided<T, F, Fut>(
    ctx: &SagaContext,
    what: &str,
    mut step: F,
) -> Result<T, ActionError>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, Error>>,
{
    for n in 0.. {
        match step().await {
            Err(error @ Error::Unavailable { .. }) => {
                warn!(ctx.log, "transaction of a saga is run again";
                    "saga" => %ctx.saga.id, "step" => what, "try" => n + 1, "error" => %error);
                tokio::time::sleep(pause(n)).await;
                ctx.ownership.confirm(&ctx.datastore, true).await;
            }
            result => return result.map_err(failed),
        }
    }
    unreachable!("the loop has no end")
}

/// How a call to a sled about a VMM ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SledOutcome<T> {
    Done(T),
    /// The VMM is no more, on the sled or by our own record; so is its port.
    VmmGone,
    /// Not done after all the tries.
    GaveUp(SledError),
}

/// Calls a sled about a VMM, up to `tries` times, unless it turns out that the VMM is no more.
/// Refusals (4xx) are final.
pub(super) async fn call_sled<T, F, Fut>(
    ctx: &SagaContext,
    at: Location,
    instance_id: uuid::Uuid,
    tries: Option<u32>,
    mut call: F,
) -> SledOutcome<T>
where
    F: FnMut(crate::dataplane::sled::SledAgent) -> Fut,
    Fut: Future<Output = Result<T, SledError>>,
{
    for n in 0.. {
        ctx.ownership.confirm(&ctx.datastore, n > 0).await;
        let error = match ctx.dataplane.sleds.agent(at.sled_id).await {
            Ok(agent) => match call(agent.clone()).await {
                Ok(value) => return SledOutcome::Done(value),
                Err(SledError::Gone) => return SledOutcome::VmmGone,
                Err(error @ SledError::Refused(_)) => return SledOutcome::GaveUp(error),
                Err(error) => {
                    // The agent has no words for "no such VMM" in some calls: it is asked.
                    if matches!(agent.vmm_state(at.vmm_id).await, Err(SledError::Gone)) {
                        return SledOutcome::VmmGone;
                    }
                    error
                }
            },
            Err(error) => SledError::Failed(error.to_string()),
        };
        if !is_current(ctx, at, instance_id).await {
            return SledOutcome::VmmGone;
        }
        if tries.is_some_and(|tries| n + 1 >= tries) {
            return SledOutcome::GaveUp(error);
        }
        warn!(ctx.log, "sled is called again";
            "saga" => %ctx.saga.id, "sled" => %at.sled_id, "try" => n + 1, "error" => %error);
        tokio::time::sleep(pause(n)).await;
    }
    unreachable!("the loop has no end")
}

/// Whether a VMM is, as far as the database knows, still there and its instance's.
async fn is_current(ctx: &SagaContext, at: Location, instance_id: uuid::Uuid) -> bool {
    match ctx.datastore.vmm_fetch(at.vmm_id).await {
        Ok(vmm) => {
            vmm.time_deleted.is_none() && !vmm.state.is_terminal() && vmm.instance_id == instance_id
        }
        Err(Error::NotFound { .. }) => false,
        // The database cannot be asked: assume that nothing has changed.
        Err(_) => true,
    }
}
