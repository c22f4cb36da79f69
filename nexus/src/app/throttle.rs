//! Failed logins are throttled: after a few in a row, each further one of the same user has to wait
//! twice as long as the one before. Whether there is such a user makes no difference.

use nexus_common::Error;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Failures in a row that cost nothing.
const FREE: u32 = 5;
/// The longest wait.
const LONGEST: Duration = Duration::from_secs(30);
/// Time after which a failure is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(15 * 60);
/// The most users whose failures are remembered.
const REMEMBERED: usize = 10_000;

/// A user of a silo, by name.
pub type Who = (Uuid, String);

#[derive(Clone, Copy, Debug)]
struct Failures {
    in_a_row: u32,
    last: Instant,
}

impl Failures {
    fn wait(&self) -> Duration {
        match self.in_a_row.checked_sub(FREE) {
            None => Duration::ZERO,
            Some(over) => Duration::from_secs(1 << over.min(10)).min(LONGEST),
        }
    }
}

/// The failed logins of this process's time.
#[derive(Debug, Default)]
pub struct Throttle(Mutex<HashMap<Who, Failures>>);

impl Throttle {
    fn failures(&self) -> MutexGuard<'_, HashMap<Who, Failures>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an attempt, as failed until [`Throttle::succeeded`] says otherwise, so that attempts
    /// at the same time count each. Refuses it if it comes too soon.
    pub fn attempt(&self, who: &Who) -> Result<(), Error> {
        self.attempt_at(who, Instant::now())
    }

    fn attempt_at(&self, who: &Who, now: Instant) -> Result<(), Error> {
        let mut all = self.failures();
        if all.len() >= REMEMBERED && !all.contains_key(who) {
            all.retain(|_, failures| now - failures.last < FORGOTTEN);
            if all.len() >= REMEMBERED {
                let oldest = all.iter().min_by_key(|(_, failures)| failures.last);
                if let Some(oldest) = oldest.map(|(who, _)| who.clone()) {
                    all.remove(&oldest);
                }
            }
        }
        let failures = all.entry(who.clone()).or_insert(Failures { in_a_row: 0, last: now });
        if now - failures.last >= FORGOTTEN {
            failures.in_a_row = 0;
        }
        let over = (failures.last + failures.wait()).saturating_duration_since(now);
        if !over.is_zero() {
            let retry_after_seconds = over.as_secs() + 1;
            return Err(Error::TooManyAttempts { retry_after_seconds });
        }
        failures.in_a_row += 1;
        failures.last = now;
        Ok(())
    }

    /// Forgets the failures of a user who has logged in.
    pub fn succeeded(&self, who: &Who) {
        self.failures().remove(who);
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn who(name: &str) -> Who {
        (Uuid::nil(), name.to_string())
    }

    #[test]
    fn failures_in_a_row_cost_more_and_more() {
        let throttle = Throttle::default();
        let mut now = Instant::now();
        for _ in 0..FREE {
            throttle.attempt_at(&who("a"), now).expect("the first are free");
        }
        for wait in [1, 2, 4, 8, 16, 30, 30] {
            let refused = throttle.attempt_at(&who("a"), now).expect_err("too soon");
            assert_eq!(refused.status(), 429);
            throttle.attempt_at(&who("b-never-failed"), now).expect("another user");
            throttle.succeeded(&who("b-never-failed"));
            now += Duration::from_secs(wait);
            throttle.attempt_at(&who("a"), now).expect("late enough");
        }
        throttle.succeeded(&who("a"));
        throttle.attempt_at(&who("a"), now).expect("forgiven");
    }

    #[test]
    fn old_failures_are_forgotten() {
        let throttle = Throttle::default();
        let now = Instant::now();
        for _ in 0..FREE {
            throttle.attempt_at(&who("a"), now).expect("the first are free");
        }
        let later = now + FORGOTTEN;
        for _ in 0..FREE {
            throttle.attempt_at(&who("a"), later).expect("free again");
        }
    }

    #[test]
    fn memory_has_a_bound() {
        let throttle = Throttle::default();
        let now = Instant::now();
        for n in 0..REMEMBERED + 10 {
            throttle.attempt_at(&who(&n.to_string()), now).expect("the first is free");
        }
        assert_eq!(throttle.failures().len(), REMEMBERED);
    }
}
