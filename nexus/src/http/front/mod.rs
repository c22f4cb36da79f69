//! What clients connect to.
//!
//! dropshot listens and serves by itself, but lets nobody say how many connections it takes, how
//! long a client may take over its request, or which certificate the next connection sees. So the
//! public address is this module's: it takes connections, ends TLS, reads whole requests, and
//! hands them to dropshot, which listens on a loopback port and answers nobody else
//! ([`backend`]).
//!
//! * [`certificate`]: the certificate, and its replacement while the server runs;
//! * [`connection`]: one connection;
//! * [`exchange`]: one request and its answer.

mod backend;
mod certificate;
mod connection;
mod exchange;

pub(super) use backend::{FORWARDED_FOR, Pass, only_with};
pub(super) use certificate::Certificate;

use backend::Backend;
use nexus_common::Error;
use slog::{Logger, info, warn};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// The wait after a failure to take a connection that is no fault of the client: there are too
/// many open files, say.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What all connections of a server share.
struct Server {
    backend: Backend,
    tls: Option<TlsAcceptor>,
    local_addr: SocketAddr,
    stop: CancellationToken,
    log: Logger,
}

/// A public address that is being served.
pub(super) struct Front {
    local_addr: SocketAddr,
    stop: CancellationToken,
    accepting: JoinHandle<()>,
}

impl Front {
    /// Listens, and hands what comes to `backend`.
    pub fn start(
        bind: SocketAddr,
        backend: SocketAddr,
        pass: &Pass,
        certificate: Option<&Certificate>,
        log: Logger,
    ) -> anyhow::Result<Self> {
        let listener = std::net::TcpListener::bind(bind)?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let local_addr = listener.local_addr()?;
        let stop = CancellationToken::new();
        let server = Arc::new(Server {
            backend: Backend::new(backend, pass)?,
            tls: certificate.map(Certificate::acceptor).transpose()?,
            local_addr,
            stop: stop.clone(),
            log,
        });
        info!(server.log, "listening"; "local_addr" => %local_addr, "tls" => server.tls.is_some());
        let accepting = tokio::spawn(server.accept(listener));
        Ok(Front { local_addr, stop, accepting })
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Stops taking connections, and waits for the requests that are being handled.
    pub async fn close(self) -> Result<(), String> {
        self.stop.cancel();
        self.accepting.await.map_err(|error| error.to_string())
    }
}

impl Server {
    /// Takes connections until it is told to stop, then waits for those that are there.
    async fn accept(self: Arc<Self>, listener: TcpListener) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                () = self.stop.cancelled() => break,
                // Ended connections are forgotten as they end.
                Some(_) = connections.join_next() => {}
                accepted = listener.accept() => match accepted {
                    Ok((socket, peer)) => self.admit(socket, peer, &mut connections),
                    Err(error) => self.not_accepted(&error).await,
                },
            }
        }
        drop(listener);
        while connections.join_next().await.is_some() {}
    }

    fn admit(self: &Arc<Self>, socket: TcpStream, peer: SocketAddr, connections: &mut JoinSet<()>) {
        connections.spawn(connection::serve(self.clone(), socket, peer));
    }

    async fn not_accepted(&self, error: &std::io::Error) {
        use ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
        // The client has gone, which is its own affair.
        if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
            return;
        }
        warn!(self.log, "cannot take a connection"; "error" => %error);
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }
}

/// A refusal in the form of the API's errors, under an id of its own that the log has, too.
fn refusal(error: Error, log: &Logger) -> http::Response<dropshot::Body> {
    let id = uuid::Uuid::new_v4().to_string();
    info!(log, "request refused"; "req_id" => &id, "response_code" => error.status().as_u16(),
        "error_message_internal" => %error);
    dropshot::HttpError::from(error).into_response(&id)
}
