//! One request and its answer.

use super::{Server, refusal};
use dropshot::Body;
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use nexus_common::Error;
use std::net::SocketAddr;

/// What dropshot answers.
pub(super) type Answer = Response<Incoming>;

impl Server {
    /// Answers a request, come what may.
    pub(super) async fn exchange(
        &self,
        request: Request<Incoming>,
        peer: SocketAddr,
    ) -> Response<Body> {
        match self.answer(request, peer).await {
            Ok(answer) => answer.map(Body::wrap),
            Err(error) => refusal(error, &self.log),
        }
    }

    async fn answer(&self, request: Request<Incoming>, peer: SocketAddr) -> Result<Answer, Error> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(|error| Error::invalid(error.to_string()))?;
        self.backend.send(parts, body.to_bytes(), peer, self.local_addr).await
    }
}
