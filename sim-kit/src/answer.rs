//! Answers that a simulator can break off.
//!
//! A daemon that dies in the middle of a call closes the connection without an answer, and its
//! client cannot know how far the call came. Dropshot has no words for that: a handler returns an
//! answer or an error, and both are answers. What it does pass through is a body, and a body that
//! fails before its first byte makes hyper close the connection before it has sent anything.

use dropshot::{ApiEndpointResponse, Body, HttpCodedResponse, HttpError, HttpResponse};
use http::{Response, StatusCode};
use hyper::body::{Body as HttpBody, Bytes, Frame};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What the handler of a simulated operation returns: an answer, or the end of the connection.
///
/// In an API's document it is what `R` is.
#[derive(Debug)]
pub enum Answer<R> {
    /// This answer.
    Given(R),
    /// None: the connection is closed.
    BrokenOff,
}

impl<R: HttpCodedResponse> HttpResponse for Answer<R> {
    fn to_result(self) -> Result<Response<Body>, HttpError> {
        match self {
            Answer::Given(response) => response.into(),
            Answer::BrokenOff => Ok(Response::new(Body::wrap(BreaksOff))),
        }
    }

    fn response_metadata() -> ApiEndpointResponse {
        R::response_metadata()
    }

    fn status_code(&self) -> StatusCode {
        R::STATUS_CODE
    }
}

/// A body that fails at once.
struct BreaksOff;

impl HttpBody for BreaksOff {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        Poll::Ready(Some(Err(io::Error::other("broken off by a fault"))))
    }
}
