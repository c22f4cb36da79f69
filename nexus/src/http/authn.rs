//! Who makes a request.
//!
//! A request may carry the cookie of a session or an API token; of both, the cookie decides. A
//! credential that is no longer good is refused, not overlooked.
//!
//! A browser sends the cookie with whatever request any page makes it send. `SameSite=Lax` keeps
//! it from most requests of other sites; [`refuse_cross_site`] refuses the rest.

use super::audit;
use crate::app::{Nexus, OpContext};
use dropshot::{HttpError, RequestContext, RequestInfo};
use http::header::{AUTHORIZATION, COOKIE, HOST, HeaderMap, HeaderName, ORIGIN};
use nexus_common::Error;
use std::sync::Arc;

/// The prefix of tokens of ours; other bearer tokens are none at all.
const TOKEN_PREFIX: &str = crate::app::TOKEN_PREFIX;
/// The cookie that holds the token of a session.
pub(super) const SESSION_COOKIE: &str = "session";
/// What browsers say of where a request comes from.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

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

/// The token in the session cookie of a request, if it has one.
pub(super) fn session(headers: &HeaderMap) -> Option<&str> {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|header| header.to_str().ok())
        .flat_map(|header| header.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .find(|(name, value)| *name == SESSION_COOKIE && !value.is_empty())
        .map(|(_, value)| value)
}

/// Refuses a request that a page of another site made a browser send.
pub(super) fn refuse_cross_site(request: &RequestInfo) -> Result<(), Error> {
    let authority = request.uri().authority().map(|authority| authority.as_str());
    if is_cross_site(request.headers(), authority) { Err(Error::Forbidden) } else { Ok(()) }
}

/// `authority` is the host that HTTP/2 names in place of the header.
fn is_cross_site(headers: &HeaderMap, authority: Option<&str>) -> bool {
    let text = |name| headers.get(name).and_then(|value: &http::HeaderValue| value.to_str().ok());
    if headers.contains_key(&SEC_FETCH_SITE) {
        return !matches!(text(SEC_FETCH_SITE), Some("same-origin" | "none"));
    }
    // Browsers that do not say it name the page's origin, at least where a request changes
    // something.
    let Some(origin) = headers.get(ORIGIN) else { return false };
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    match (origin, text(HOST).or(authority)) {
        (Some((_, origin)), Some(host)) => !origin.eq_ignore_ascii_case(host),
        _ => true,
    }
}

/// Whether a request comes from somebody whose credential is good. That a page of another site leads
/// here does not matter to who only looks.
pub(super) async fn is_known(rqctx: &RequestContext<Arc<Nexus>>) -> Result<bool, HttpError> {
    let nexus = rqctx.context();
    let actor = match (session(rqctx.request.headers()), token(rqctx)?) {
        (Some(session), _) => nexus.authenticate_session(session).await,
        (None, Some(token)) => nexus.authenticate_token(&token).await,
        (None, None) => return Ok(false),
    };
    match actor {
        Ok(_) => Ok(true),
        Err(Error::Unauthenticated { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The context of a request: its user, or nobody. A credential that is nobody's is refused.
pub(super) async fn opctx(rqctx: &RequestContext<Arc<Nexus>>) -> Result<OpContext, HttpError> {
    let nexus = rqctx.context();
    let actor = match session(rqctx.request.headers()) {
        Some(token) => {
            refuse_cross_site(&rqctx.request)?;
            Some(nexus.authenticate_session(token).await?)
        }
        None => match token(rqctx)? {
            Some(token) => Some(nexus.authenticate_token(&token).await?),
            None => None,
        },
    };
    // Who does not say who they are is refused what is worth an entry.
    if actor.is_some() {
        audit::begin(actor.as_ref()).await?;
    }
    Ok(OpContext::new(actor, rqctx.log.clone()))
}

#[cfg(test)]
mod test {
    use super::*;

    fn headers(of: &[(&'static str, &'static str)]) -> HeaderMap {
        let parse = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), http::HeaderValue::from_static(value))
        };
        of.iter().map(parse).collect()
    }

    #[test]
    fn the_session_is_found_among_cookies() {
        let find = |cookie| session(&headers(&[("cookie", cookie)])).map(str::to_string);
        assert_eq!(find("session=abc"), Some("abc".to_string()));
        assert_eq!(find("a=b; session=abc; c=d"), Some("abc".to_string()));
        assert_eq!(find("session="), None);
        assert_eq!(find("mysession=abc"), None);
        assert_eq!(session(&HeaderMap::new()), None);
    }

    #[test]
    fn other_sites_are_recognized() {
        for (of, expected) in [
            (&[][..], false),
            (&[("sec-fetch-site", "same-origin")], false),
            (&[("sec-fetch-site", "none")], false),
            (&[("sec-fetch-site", "same-site")], true),
            (&[("sec-fetch-site", "cross-site")], true),
            (&[("origin", "https://rack.example"), ("host", "rack.example")], false),
            (&[("origin", "https://evil.example"), ("host", "rack.example")], true),
            (&[("origin", "https://rack.example:8443"), ("host", "rack.example")], true),
            (&[("origin", "null"), ("host", "rack.example")], true),
        ] {
            assert_eq!(is_cross_site(&headers(of), None), expected, "{of:?}");
        }
    }
}
