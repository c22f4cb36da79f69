//! One connection, from its first byte to its last.

use super::Server;
use super::connections::Seat;
use crate::config::HEADER_BYTES_MAX;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use slog::debug;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// The most requests at a time on a connection of HTTP/2.
const STREAMS: u32 = 32;

/// How long a connection may take to end that is told to.
const PARTING: Duration = Duration::from_secs(1);

/// Serves a connection until it ends, another takes its place, or its client is too slow.
pub(super) async fn serve(
    server: Arc<Server>,
    socket: TcpStream,
    peer: SocketAddr,
    seat: Arc<Seat>,
) {
    // Answers are small, and a client waits for each.
    let _ = socket.set_nodelay(true);
    let Some(tls) = server.tls.clone() else { return http(server, socket, peer, seat).await };
    let handshake = tokio::time::timeout(seat.patience(), tls.accept(socket));
    let ended = tokio::select! {
        ended = handshake => ended,
        () = seat.evicted() => return server.ended_early("crowded"),
        () = server.stop.cancelled() => return,
    };
    match ended {
        Ok(Ok(stream)) => http(server, stream, peer, seat).await,
        Ok(Err(error)) => {
            debug!(server.log, "no TLS connection"; "remote_addr" => peer, "error" => %error);
        }
        Err(_) => server.ended_early("quiet"),
    }
}

fn builder(server: &Server) -> auto::Builder<TokioExecutor> {
    // What is a little too large is refused in words, by `Server::check_head`.
    let room = HEADER_BYTES_MAX.max(server.limits.header_bytes);
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // How long it may take is up to `Seat::patience`.
    builder.http1().timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(room);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(u32::try_from(room).unwrap_or(u32::MAX));
    builder
}

async fn http<IO>(server: Arc<Server>, io: IO, peer: SocketAddr, seat: Arc<Seat>)
where
    IO: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let service = service_fn(|request| {
        let (server, seat) = (server.clone(), seat.clone());
        async move { Ok::<_, Infallible>(server.exchange(request, peer, &seat).await) }
    });
    let builder = builder(&server);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(io), service));
    let mut stopping = false;
    let ended = loop {
        let patience = seat.patience();
        tokio::select! {
            ended = connection.as_mut() => break ended,
            () = seat.evicted() => return server.ended_early("crowded"),
            () = server.stop.cancelled(), if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
            () = tokio::time::sleep(patience) => {
                if seat.patience().is_zero() {
                    server.ended_early("quiet");
                    connection.as_mut().graceful_shutdown();
                    let _ = tokio::time::timeout(PARTING, connection).await;
                    return;
                }
            }
        }
    };
    if let Err(error) = ended {
        debug!(server.log, "a connection broke"; "remote_addr" => peer, "error" => error);
    }
}
