//! The body of a request: read whole, within a size and a time, before anyone waits for it.

use super::slots::{Slot, Slots};
use crate::http::operation::Operation;
use dropshot::{ApiDescription, ServerContext};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Bytes, Incoming};
use nexus_common::Error;
use std::net::IpAddr;

/// What every body may take up. Beyond, bodies are held at most [`LARGE`] at a time.
const SMALL: usize = 16 << 10;
/// The most bodies that are larger than [`SMALL`] and held at the same time.
pub(super) const LARGE: usize = 64;
/// What is read, and thrown away, beyond a limit: a client that is still sending does not listen.
const EXCESS: usize = 4 << 20;

/// How many bytes the bodies of an API's requests may have.
#[derive(Debug)]
pub(in crate::http) struct BodyLimits {
    usual: usize,
    special: Vec<(Operation, usize)>,
}

impl BodyLimits {
    /// The usual limit, and those of operations that have their own.
    pub fn of<C: ServerContext>(api: ApiDescription<C>, usual: usize) -> Self {
        let router = api.into_router();
        let special = router
            .endpoints(None)
            .filter_map(|(path, method, endpoint)| {
                Some((Operation::new(&method, &path), endpoint.request_body_max_bytes?))
            })
            .collect();
        BodyLimits { usual, special }
    }

    /// The limit of a request.
    pub fn at(&self, method: &str, path: &str) -> usize {
        let special = self.special.iter().filter(|(operation, _)| operation.is(method, path));
        special.map(|(_, limit)| *limit).max().unwrap_or(self.usual)
    }
}

/// Reads a body of at most so many bytes. A large one holds a slot for as long as it is kept.
pub(super) async fn read(
    mut body: Incoming,
    limit: usize,
    large: &Slots,
    client: IpAddr,
) -> Result<(Bytes, Option<Slot>), Error> {
    let too_large =
        || Error::invalid(format!("request body exceeded maximum size of {limit} bytes"));
    if body.is_end_stream() {
        return Ok((Bytes::new(), None));
    }
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > limit + EXCESS {
        return Err(too_large());
    }
    let (mut kept, mut size, mut slot) = (Vec::new(), 0, None);
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|error| Error::invalid(format!("the body broke off: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        size += data.len();
        if size > limit + EXCESS {
            break;
        }
        if size > limit {
            kept = Vec::new();
            continue;
        }
        if size > SMALL && slot.is_none() {
            slot = Some(large.take(client).await?);
        }
        kept.extend_from_slice(&data);
    }
    if size > limit { Err(too_large()) } else { Ok((kept.into(), slot)) }
}
