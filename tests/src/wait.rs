//! Waiting for a condition, within a bound. No test sleeps for a time and hopes.

use std::fmt::Debug;
use std::time::{Duration, Instant};

/// How long a condition may take to become true on a busy machine. Whatever has a bound of its own
/// in the rules is waited for with [`within`].
pub const BOUND: Duration = Duration::from_secs(60);

const STEP: Duration = Duration::from_millis(25);

/// Waits until `probe` answers `Ok`, and returns what it found; panics after [`BOUND`] with `what`
/// was waited for and what was found instead.
pub async fn eventually<T, E: Debug>(what: &str, probe: impl AsyncFnMut() -> Result<T, E>) -> T {
    within(BOUND, what, probe).await
}

/// As [`eventually`], with another bound.
pub async fn within<T, E: Debug>(
    bound: Duration,
    what: &str,
    mut probe: impl AsyncFnMut() -> Result<T, E>,
) -> T {
    let since = Instant::now();
    loop {
        match probe().await {
            Ok(found) => return found,
            Err(instead) => assert!(
                since.elapsed() < bound,
                "{what}: not within {} s; found instead: {instead:#?}",
                bound.as_secs()
            ),
        }
        tokio::time::sleep(STEP).await;
    }
}
