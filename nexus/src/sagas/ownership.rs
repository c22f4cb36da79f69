//! Whether this process may still act for a saga.
//!
//! A Nexus owns its sagas for as long as its lease lasts. One that was too slow to renew the lease
//! may find that another has taken a saga over, and must not act for it any more: not in the
//! database, where every transaction of a saga checks in itself that the saga is still owned, and
//! not towards the sleds, where the rule is: *no call without a lease, and no call after the lease
//! had run out, or after a call that failed, without asking the database who owns the saga.*
//!
//! steno has no way to give a saga up half way. So when a saga turns out to be lost, its token is
//! cancelled: the action that runs is dropped, every further action and undo of this process's
//! copy ends at once without doing anything, and no record is written. The copy is gone from
//! memory within moments, and the saga goes on where it was taken to.

use crate::db::Datastore;
use crate::db::saga::SagaRef;
use slog::{Logger, warn};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Pause before the database is asked again who owns a saga.
const RETRY: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, Debug)]
struct Term {
    until: Instant,
    /// How often the lease had run out before it was renewed.
    lapses: u64,
}

impl Term {
    fn remaining(self, now: Instant) -> Duration {
        self.until.saturating_duration_since(now)
    }

    /// The term after a renewal that was asked for at `asked` and is heard of at `now`.
    fn renewed(self, asked: Instant, now: Instant, length: Duration) -> Term {
        let lapsed = self.remaining(now).is_zero();
        Term { until: self.until.max(asked + length), lapses: self.lapses + u64::from(lapsed) }
    }
}

/// This process's lease, by its own clock: the database's clock decides when others may take its
/// sagas, and it starts later than this one.
#[derive(Debug)]
pub struct Lease(watch::Sender<Term>);

impl Lease {
    /// A lease that was asked for at `asked` and has been granted.
    pub(super) fn granted(asked: Instant, length: Duration) -> Self {
        Lease(watch::Sender::new(Term { until: asked + length, lapses: 0 }))
    }

    /// Takes note that the lease has been renewed; it was asked for at `asked`.
    pub(super) fn renewed(&self, asked: Instant, length: Duration) {
        self.0.send_modify(|term| *term = term.renewed(asked, Instant::now(), length));
    }

    /// How long the lease lasts if it is not renewed; zero if it has run out.
    pub fn remaining(&self) -> Duration {
        self.0.borrow().remaining(Instant::now())
    }

    /// Waits until the lease is held. Returns how often it has lapsed by then.
    async fn held(&self) -> u64 {
        let mut terms = self.0.subscribe();
        loop {
            let term = *terms.borrow_and_update();
            if !term.remaining(Instant::now()).is_zero() {
                return term.lapses;
            }
            // The sender is `self`, so it is there.
            let _ = terms.changed().await;
        }
    }

    fn lapses(&self) -> u64 {
        self.0.borrow().lapses
    }
}

/// This process's hold on one saga.
#[derive(Debug)]
pub struct Ownership {
    pub saga: SagaRef,
    lease: Arc<Lease>,
    /// Lapses of the lease when the saga was last known to be ours.
    confirmed: AtomicU64,
    lost: CancellationToken,
    log: Logger,
}

impl Ownership {
    pub(super) fn new(saga: SagaRef, lease: Arc<Lease>, log: Logger) -> Self {
        let confirmed = AtomicU64::new(lease.lapses());
        Ownership { saga, lease, confirmed, lost: CancellationToken::new(), log }
    }

    /// Returns when this process may act for the saga towards the outside; never, if it may not
    /// any more (whoever waits is dropped then). The database is asked if the lease had run out,
    /// and if `again` says that something has gone wrong since.
    pub(super) async fn confirm(&self, datastore: &Datastore, again: bool) {
        loop {
            let lapses = self.lease.held().await;
            if !again && self.confirmed.load(Ordering::Relaxed) == lapses {
                return;
            }
            match datastore.saga_is_owned(self.saga).await {
                Ok(true) => {
                    self.confirmed.store(lapses, Ordering::Relaxed);
                    if !self.lease.remaining().is_zero() {
                        return;
                    }
                }
                Ok(false) => {
                    self.lose();
                    std::future::pending::<()>().await;
                }
                Err(_) => tokio::time::sleep(RETRY).await,
            }
        }
    }

    /// The saga has been taken over by another process.
    pub(super) fn lose(&self) {
        if !self.lost.is_cancelled() {
            warn!(self.log, "saga was taken over; it goes on elsewhere"; "saga" => %self.saga.id);
            self.lost.cancel();
        }
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost.is_cancelled()
    }

    /// Returns when the saga has been lost.
    pub(super) async fn lost(&self) {
        self.lost.cancelled().await;
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const LENGTH: Duration = Duration::from_secs(5);

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn a_lease_runs_out_and_is_renewed() {
        let start = Instant::now();
        let term = Term { until: start + LENGTH, lapses: 0 };
        let term = term.renewed(start + seconds(4), start + seconds(4), LENGTH);
        assert_eq!(term.remaining(start + seconds(8)), seconds(1), "renewed in time");
        assert_eq!(term.remaining(start + seconds(10)), Duration::ZERO);
        assert_eq!(term.lapses, 0);
        let term = term.renewed(start + seconds(10), start + seconds(10), LENGTH);
        assert_eq!(term.lapses, 1, "it had lapsed");
        assert_eq!(term.remaining(start + seconds(12)), seconds(3));
    }

    #[test]
    fn a_renewal_counts_from_when_it_was_asked_for() {
        let start = Instant::now();
        let term = Term { until: start + LENGTH, lapses: 0 };
        let term = term.renewed(start + seconds(1), start + seconds(4), LENGTH);
        assert_eq!(term.remaining(start + seconds(4)), seconds(2));
        let late = term.renewed(start, start + seconds(5), LENGTH);
        assert_eq!(late.until, term.until, "an older answer does not shorten it");
    }

    #[tokio::test]
    async fn who_waits_for_the_lease_goes_on_when_it_is_renewed() {
        let over = Instant::now();
        let lease = Arc::new(Lease(watch::Sender::new(Term { until: over, lapses: 0 })));
        let waiting = tokio::spawn({
            let lease = lease.clone();
            async move { lease.held().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        lease.renewed(Instant::now(), LENGTH);
        assert_eq!(waiting.await.expect("it ends"), 1);
    }
}
