//! How everything reaches the database: one helper for transactions, one for single statements.
//!
//! A transaction is one closure on one connection, run where it may block, never a chain of
//! awaits: a future that is dropped half way would hand a connection with an open transaction
//! back to the pool. The closure may run several times, so it does nothing outside of the
//! database. It is run again on a serialization failure (SQLSTATE 40001), a deadlock, or a lost
//! race for a unique value, with jittered backoff, until [`TRIES`] and [`DEADLINE`] are both used
//! up; then the caller gets a 503.

use super::Datastore;
use super::connection::Manager;
use super::error::{TxError, TxResult, Verdict, judge};
use diesel::PgConnection;
use nexus_common::Error;
use rand::Rng;
use slog::{debug, warn};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Tries before a transaction may be given up.
const TRIES: u32 = 100;
/// Time before a transaction may be given up.
const DEADLINE: Duration = Duration::from_secs(5);
/// The longest pause between two tries.
const MAX_PAUSE: Duration = Duration::from_millis(50);

impl Datastore {
    /// Runs a serializable transaction. `name` is for the log and the metrics.
    pub async fn transaction<T, F>(&self, name: &'static str, f: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Fn(&mut PgConnection) -> TxResult<T> + Send + Sync + 'static,
    {
        self.retrying(name, move |conn| conn.build_transaction().serializable().run(|conn| f(conn)))
            .await
    }

    /// Runs a single statement, which is its own transaction at the connection's isolation level.
    pub async fn statement<T, F>(&self, name: &'static str, f: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Fn(&mut PgConnection) -> TxResult<T> + Send + Sync + 'static,
    {
        self.retrying(name, f).await
    }

    async fn retrying<T, F>(&self, name: &'static str, f: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Fn(&mut PgConnection) -> TxResult<T> + Send + Sync + 'static,
    {
        let f = Arc::new(f);
        let conn = self.checkout().await?;
        let ended = |outcome| self.metrics.database.transactions.at([name, outcome]).inc();
        let started = Instant::now();
        for attempt in 1.. {
            let f = f.clone();
            let error = match conn.run(move |conn| f(conn)).await {
                Ok(value) => {
                    ended("ok");
                    return Ok(value);
                }
                Err(TxError::Refused(error)) => {
                    ended("refused");
                    return Err(error);
                }
                Err(TxError::Database(error)) => error,
            };
            match judge(&error) {
                Verdict::Retry if attempt < TRIES || started.elapsed() < DEADLINE => {
                    self.metrics.database.retries.at([name]).inc();
                    debug!(self.log, "transaction is run again";
                        "transaction" => name, "attempt" => attempt, "error" => %error);
                    tokio::time::sleep(pause(attempt)).await;
                }
                Verdict::Retry => {
                    warn!(self.log, "transaction given up after conflicts";
                        "transaction" => name, "attempts" => attempt, "error" => %error);
                    ended("given_up");
                    return Err(Error::unavailable(format!("{name}: {error}")));
                }
                Verdict::Lost => {
                    ended("lost");
                    return Err(Error::unavailable(format!("{name}: {error}")));
                }
                Verdict::Failed => {
                    ended("failed");
                    return Err(Error::internal(format!("{name}: {error}")));
                }
            }
        }
        // Only for the compiler: the loop above has no end.
        Err(Error::internal(name))
    }

    async fn checkout(&self) -> Result<bb8::PooledConnection<'_, Manager>, Error> {
        self.pool.get().await.map_err(|error| {
            self.metrics.database.no_connection.at([]).inc();
            Error::unavailable(format!("no database connection could be had: {error}"))
        })
    }
}

/// Full jitter below a bound that doubles with each try.
fn pause(attempt: u32) -> Duration {
    let bound = Duration::from_millis(1 << attempt.min(10)).min(MAX_PAUSE);
    rand::rng().random_range(Duration::ZERO..=bound)
}
