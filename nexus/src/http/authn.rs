//! Who makes a request.

use crate::app::{Nexus, OpContext};
use dropshot::{HttpError, RequestContext};
use http::header::AUTHORIZATION;
use nexus_common::Error;
use std::sync::Arc;

/// The prefix of tokens of ours; other bearer tokens are none at all.
const TOKEN_PREFIX: &str = crate::app::TOKEN_PREFIX;

/// The bearer token of a request, if it has one of ours.
fn token(rqctx: &RequestContext<Arc<Nexus>>) -> Result<Option<String>, HttpError> {
    let Some(header) = rqctx.request.headers().get(AUTHORIZATION) else { return Ok(None) };
    let bad = |why: &str| {
        HttpError::from(Error::invalid(format!("bad authentication credentials: {why}")))
    };
    let header = header.to_str().map_err(|_| bad("the header is not ASCII"))?;
    let (scheme, token) = header.split_once(' ').ok_or_else(|| bad("the header has one word"))?;
    let ours = scheme.eq_ignore_ascii_case("bearer") && token.starts_with(TOKEN_PREFIX);
    Ok(ours.then(|| token.to_string()))
}

/// The context of a request: its user, or nobody. A token that is nobody's is refused.
pub(super) async fn opctx(rqctx: &RequestContext<Arc<Nexus>>) -> Result<OpContext, HttpError> {
    let actor = match token(rqctx)? {
        Some(token) => Some(rqctx.context().authenticate_token(&token).await?),
        None => None,
    };
    Ok(OpContext::new(actor, rqctx.log.clone()))
}
