//! The lease under which this process runs sagas, as far as this process knows.

use super::{Counter, Series};
use prometheus_client::registry::Registry;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Until when the lease lasts, and how often it could not be renewed.
#[derive(Debug)]
pub struct Lease {
    until: Mutex<Option<Instant>>,
    /// Renewals that failed.
    pub failures: Series<Counter, 0>,
}

impl Lease {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let failures = Series::register(
            registry,
            "saga_lease_renewal_failures",
            "Renewals of the lease on sagas that failed",
            [],
            Counter::default,
        );
        Lease { until: Mutex::default(), failures }
    }

    /// The lease was renewed for `length`, as asked for at `asked`.
    pub fn renewed(&self, asked: Instant, length: Duration) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = asked.checked_add(length);
    }

    /// The time that is left; zero if the lease is over.
    pub fn left(&self) -> Duration {
        let until = *self.until.lock().unwrap_or_else(PoisonError::into_inner);
        until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()))
    }
}
