//! What clients connect to.
//!
//! dropshot listens and serves by itself, but lets nobody say how many connections it takes, how
//! long a client may take over its request, or which certificate the next connection sees. So the
//! public address is this module's: it takes connections, ends TLS, reads whole requests, and
//! hands them to dropshot, which listens on a loopback port and answers nobody else
//! ([`backend`]).
//!
//! * [`certificate`]: the certificate, and its replacement while the server runs;
//! * [`connections`]: how many there may be, and who makes room;
//! * [`connection`]: one of them, and how long it may do nothing;
//! * [`exchange`], [`body`]: one request and its answer;
//! * [`slots`]: how many requests may be handled at a time.

mod backend;
mod body;
mod certificate;
mod connection;
mod connections;
mod exchange;
mod slots;

pub(super) use backend::{FORWARDED_FOR, Pass, only_with};
pub(super) use body::BodyLimits;
pub(super) use certificate::Certificate;

use super::measure;
use crate::config::LimitsConfig;
use crate::metrics::Metrics;
use backend::Backend;
use connections::{Connections, client_at};
use nexus_common::Error;
use slog::{Logger, debug, info, warn};
use slots::Slots;
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
    api: &'static str,
    backend: Backend,
    tls: Option<TlsAcceptor>,
    local_addr: SocketAddr,
    limits: LimitsConfig,
    body_limits: BodyLimits,
    connections: Arc<Connections>,
    requests: Slots,
    large_bodies: Slots,
    metrics: Arc<Metrics>,
    stop: CancellationToken,
    log: Logger,
}

/// What a front is to be.
pub(super) struct Settings<'a> {
    /// The API's name, for metrics.
    pub api: &'static str,
    pub bind: SocketAddr,
    /// Without one it speaks plain HTTP.
    pub certificate: Option<&'a Certificate>,
    pub limits: LimitsConfig,
    pub body_limits: BodyLimits,
    pub metrics: Arc<Metrics>,
    pub log: Logger,
}

/// A public address that is being served.
pub(super) struct Front {
    local_addr: SocketAddr,
    stop: CancellationToken,
    accepting: JoinHandle<()>,
}

impl Front {
    /// Listens, and hands what comes to `backend`.
    pub fn start(settings: Settings<'_>, backend: SocketAddr, pass: &Pass) -> anyhow::Result<Self> {
        let Settings { api, bind, certificate, limits, body_limits, metrics, log } = settings;
        let listener = std::net::TcpListener::bind(bind)?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let local_addr = listener.local_addr()?;
        let stop = CancellationToken::new();
        let wait = Duration::from_millis(limits.queue_timeout_ms);
        let server = Arc::new(Server {
            api,
            backend: Backend::new(backend, pass)?,
            tls: certificate.map(Certificate::acceptor).transpose()?,
            local_addr,
            limits,
            body_limits,
            connections: Connections::new(limits),
            requests: Slots::new(limits.requests, wait),
            large_bodies: Slots::new(body::LARGE, wait),
            metrics,
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
        let Some(seat) = self.connections.admit(client_at(peer.ip())) else {
            debug!(self.log, "no place for another connection"; "remote_addr" => peer);
            return self.ended_early("refused");
        };
        let server = self.clone();
        connections.spawn(async move {
            let gauge = server.metrics.http.connections.at([server.api]);
            gauge.inc();
            connection::serve(server, socket, peer, Arc::new(seat)).await;
            gauge.dec();
        });
    }

    /// Counts a connection that is ended by us, for this reason.
    fn ended_early(&self, why: &str) {
        self.metrics.http.connections_ended.at([self.api, why]).inc();
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

    /// Refuses a request in the form of the API's errors, under an id that the log has, too.
    fn refuse(&self, error: Error) -> http::Response<dropshot::Body> {
        let id = uuid::Uuid::new_v4().to_string();
        let status = error.status();
        info!(self.log, "request refused"; "req_id" => &id, "response_code" => status.as_u16(),
            "error_message_internal" => %error);
        measure::refused(&self.metrics, self.api, status);
        dropshot::HttpError::from(error).into_response(&id)
    }
}
