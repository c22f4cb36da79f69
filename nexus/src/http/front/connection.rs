//! One connection, from its first byte to its last.

use super::Server;
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

/// How long a client may take over the TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Serves a connection until it ends.
pub(super) async fn serve(server: Arc<Server>, socket: TcpStream, peer: SocketAddr) {
    // Answers are small, and a client waits for each.
    let _ = socket.set_nodelay(true);
    let Some(tls) = server.tls.clone() else { return http(server, socket, peer).await };
    match tokio::time::timeout(HANDSHAKE, tls.accept(socket)).await {
        Ok(Ok(stream)) => http(server, stream, peer).await,
        Ok(Err(error)) => {
            debug!(server.log, "no TLS connection"; "remote_addr" => peer, "error" => %error);
        }
        Err(_) => debug!(server.log, "no TLS connection in time"; "remote_addr" => peer),
    }
}

async fn http<IO>(server: Arc<Server>, io: IO, peer: SocketAddr)
where
    IO: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new());
    builder.http2().timer(TokioTimer::new());
    let service = service_fn(|request| {
        let server = server.clone();
        async move { Ok::<_, Infallible>(server.exchange(request, peer).await) }
    });
    let mut connection = pin!(builder.serve_connection(TokioIo::new(io), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = server.stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        debug!(server.log, "a connection broke"; "remote_addr" => peer, "error" => error);
    }
}
