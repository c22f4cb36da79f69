//! The datastore: all SQL, a file for each family of tables.
//!
//! A method here is one transaction, or one statement. What it decides, it decides inside that
//! transaction, at SERIALIZABLE, so that a check and the change that rests on it cannot come
//! apart; what it returns is a row, or an error in the project's words. Which actor may ask is
//! not known here, and nothing here talks to anything but the database.

pub mod address;
pub mod attach;
pub mod audit;
pub mod auth;
pub mod check;
mod connection;
pub mod credential;
pub mod disk;
pub mod error;
pub mod external_ip;
pub mod firewall;
pub mod image;
pub mod instance;
pub mod instance_disk;
pub mod ip_pool;
pub mod migrate;
pub mod nat;
pub mod network;
pub mod nic;
pub mod nic_change;
pub mod paging;
pub mod policy;
pub mod port;
pub mod project;
pub mod quotas;
pub mod saga;
pub mod silo;
pub mod silo_user;
pub mod sled;
pub mod snapshot;
pub mod ssh_key;
pub mod subnet;
pub mod transaction;
pub mod vmm;
pub mod vpc;

use crate::config::DatabaseConfig;
use crate::metrics::Metrics;
use chrono::{DateTime, Timelike, Utc};
use connection::Manager;
use nexus_common::Error;
use std::sync::Arc;
use std::time::Duration;

/// What every method of the datastore hangs on.
pub struct Datastore {
    pool: bb8::Pool<Manager>,
    max_connections: u32,
    metrics: Arc<Metrics>,
    log: slog::Logger,
    /// Keeps the allocations of one pool apart within this process, to save retries.
    pool_turns: address::PoolTurns,
    /// Keeps writers of NAT entries apart within this process: they all update one counter.
    nat_queue: tokio::sync::Mutex<()>,
}

impl std::fmt::Debug for Datastore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Datastore").finish_non_exhaustive()
    }
}

impl Datastore {
    /// Makes the connection pool. Connections are opened as they are needed, so this succeeds
    /// while the database is down.
    pub async fn connect(
        config: &DatabaseConfig,
        metrics: Arc<Metrics>,
        log: slog::Logger,
    ) -> Result<Self, Error> {
        let pool = bb8::Pool::builder()
            .max_size(config.max_connections)
            .connection_timeout(Duration::from_millis(config.acquire_timeout_ms))
            // A ping on each checkout costs half of the throughput; a connection that broke is
            // marked by whoever saw it break (see `connection`).
            .test_on_check_out(false)
            .build(Manager::new(&config.url))
            .await
            .map_err(Error::internal)?;
        Ok(Datastore {
            pool,
            max_connections: config.max_connections,
            metrics,
            log,
            pool_turns: Default::default(),
            nat_queue: Default::default(),
        })
    }

    /// The connections as they are now.
    pub fn connections(&self) -> Connections {
        let state = self.pool.state();
        Connections {
            in_use: state.connections.saturating_sub(state.idle_connections),
            idle: state.idle_connections,
            max: self.max_connections,
        }
    }
}

/// How many connections to the database there are, and may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    pub in_use: u32,
    pub idle: u32,
    pub max: u32,
}

/// The time, to the microsecond: what the database keeps, so that an answer made from a new row
/// equals one made from the stored row.
pub(crate) fn now() -> DateTime<Utc> {
    let now = Utc::now();
    now.with_nanosecond(now.nanosecond() / 1000 * 1000).unwrap_or(now)
}
