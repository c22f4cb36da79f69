//! Connections, and how the pool learns that one is broken.
//!
//! async-bb8-diesel's own manager never reports a connection as broken, so without a ping at each
//! checkout a pool would go on handing out connections to a database that has restarted, for
//! ever. Here, whoever sees a connection fail says so, and the pool drops it on return.

use async_bb8_diesel::{AsyncConnection, Connection, ConnectionError, ConnectionManager};
use diesel::PgConnection;
use diesel::r2d2::R2D2Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Opens connections and judges them.
pub struct Manager {
    inner: ConnectionManager<PgConnection>,
}

impl Manager {
    pub fn new(url: &str) -> Self {
        Manager { inner: ConnectionManager::new(url) }
    }
}

/// A connection of the pool.
pub struct PooledConnection {
    inner: Connection<PgConnection>,
    broken: Arc<AtomicBool>,
}

impl PooledConnection {
    /// Runs `f` where it may block. The call is not cancelled half way: a caller that goes away
    /// leaves it to finish, and the connection is marked if it came out of it unusable.
    pub async fn run<R, E, F>(&self, f: F) -> Result<R, E>
    where
        R: Send + 'static,
        E: Send + 'static,
        F: FnOnce(&mut PgConnection) -> Result<R, E> + Send + 'static,
    {
        let broken = self.broken.clone();
        // Pessimistic while it runs: a caller that is dropped now returns the connection to the
        // pool before the closure has ended.
        broken.store(true, Ordering::Relaxed);
        self.inner
            .run(move |conn| {
                let result = f(conn);
                broken.store(conn.is_broken(), Ordering::Relaxed);
                result
            })
            .await
    }
}

impl bb8::ManageConnection for Manager {
    type Connection = PooledConnection;
    type Error = ConnectionError;

    async fn connect(&self) -> Result<PooledConnection, ConnectionError> {
        let inner = self.inner.connect().await?;
        Ok(PooledConnection { inner, broken: Arc::new(AtomicBool::new(false)) })
    }

    async fn is_valid(&self, conn: &mut PooledConnection) -> Result<(), ConnectionError> {
        self.inner.is_valid(&mut conn.inner).await
    }

    fn has_broken(&self, conn: &mut PooledConnection) -> bool {
        conn.broken.load(Ordering::Relaxed)
    }
}
