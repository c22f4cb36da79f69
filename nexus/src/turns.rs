//! Turns: within this process, work on one thing at a time, for each of many things.
//!
//! Correctness never rests on this, since other processes do not queue here; it saves conflicts.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OwnedMutexGuard;

/// Queues that nobody waits in are dropped once there are so many.
const IDLE_QUEUES: usize = 1024;

type Queue = Arc<tokio::sync::Mutex<()>>;

/// A queue for each key.
#[derive(Debug)]
pub struct Turns<K> {
    queues: Mutex<HashMap<K, Queue>>,
}

impl<K> Default for Turns<K> {
    fn default() -> Self {
        Turns { queues: Mutex::default() }
    }
}

impl<K: Eq + Hash> Turns<K> {
    /// Waits for this key's turn, which lasts for as long as the guard is kept.
    pub async fn wait(&self, key: K) -> OwnedMutexGuard<()> {
        let queue = {
            let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
            if queues.len() >= IDLE_QUEUES {
                queues.retain(|_, queue| Arc::strong_count(queue) > 1);
            }
            queues.entry(key).or_default().clone()
        };
        queue.lock_owned().await
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[tokio::test]
    async fn one_at_a_time_for_each_key() {
        let turns = Turns::default();
        let first = turns.wait("a").await;
        let _other = turns.wait("b").await;
        let mut second = Box::pin(turns.wait("a"));
        assert!(futures::poll!(&mut second).is_pending());
        drop(first);
        second.await;
    }

    #[tokio::test]
    async fn idle_queues_are_dropped_and_others_kept() {
        let turns = Turns::default();
        let _held = turns.wait(usize::MAX).await;
        for key in 0..IDLE_QUEUES {
            drop(turns.wait(key).await);
        }
        assert!(turns.queues.lock().expect("no panic").len() <= IDLE_QUEUES);
        let mut again = Box::pin(turns.wait(usize::MAX));
        assert!(futures::poll!(&mut again).is_pending(), "the same queue as before");
    }
}
