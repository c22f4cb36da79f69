//! One request and its answer.

use super::connections::{Doing, Seat, client_at};
use super::{Server, body};
use dropshot::Body;
use http::{Request, Response};
use hyper::body::{Body as HttpBody, Bytes, Frame, Incoming, SizeHint};
use nexus_common::Error;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// What dropshot answers.
pub(super) type Answer = Response<Incoming>;

/// The body of an answer, and that its connection is in the middle of it.
struct Outgoing {
    body: Incoming,
    _exchange: Doing,
}

impl HttpBody for Outgoing {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Server {
    /// Answers a request, come what may.
    pub(super) async fn exchange(
        &self,
        request: Request<Incoming>,
        peer: SocketAddr,
        seat: &Seat,
    ) -> Response<Body> {
        let exchange = seat.exchange();
        match self.answer(request, peer, seat).await {
            Ok(answer) => answer.map(|body| Body::wrap(Outgoing { body, _exchange: exchange })),
            Err(error) => self.refuse(error),
        }
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
        peer: SocketAddr,
        seat: &Seat,
    ) -> Result<Answer, Error> {
        self.check_head(&request)?;
        let client = client_at(peer.ip());
        let (parts, body) = request.into_parts();
        let limit = self.body_limits.at(parts.method.as_str(), parts.uri.path());
        let reading = body::read(body, limit, &self.large_bodies, client);
        let in_time = Duration::from_millis(self.limits.body_timeout_ms);
        let (body, _large) = tokio::time::timeout(in_time, reading).await.map_err(|_| {
            let seconds = in_time.as_secs_f64();
            Error::too_slow(format!("the request body did not come within {seconds} seconds"))
        })??;
        let _working = seat.work();
        let _slot = self.requests.take(client).await?;
        self.backend.send(parts, body, peer, self.local_addr).await
    }

    /// Refuses a request whose line and headers are too much together.
    fn check_head(&self, request: &Request<Incoming>) -> Result<(), Error> {
        let fields = request.headers().iter();
        let fields: usize = fields.map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
        let uri = request.uri();
        let length = fields + uri.path().len() + uri.query().map_or(0, |query| query.len() + 1);
        let limit = self.limits.header_bytes;
        if length <= limit {
            return Ok(());
        }
        Err(Error::head_too_large(format!(
            "the request's path and headers have {length} bytes; at most {limit} are accepted"
        )))
    }
}
