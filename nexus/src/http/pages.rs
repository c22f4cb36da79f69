//! The few pages that people see where no console is installed.

use super::authn::SESSION_COOKIE;
use crate::app::{CODE_LIFETIME_SECONDS, DeviceCodes, Nexus};
use dropshot::{
    Body, HttpError, HttpResponseHeaders, HttpResponseUpdatedNoContent, RequestContext,
};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderValue, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{Response, StatusCode};
use nexus_common::Error;
use serde::Serialize;
use std::sync::Arc;

/// A page. `nonce` lets its own script run, and no other.
fn page(html: String, nonce: Option<&str>) -> Result<Response<Body>, HttpError> {
    let script = nonce.map_or("'none'".to_string(), |nonce| format!("'nonce-{nonce}'"));
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; connect-src 'self'; script-src {script}; \
         form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
    );
    Ok(Response::builder()
        .header(CONTENT_TYPE, "text/html; charset=utf-8")
        .header(CONTENT_SECURITY_POLICY, policy)
        .header(X_CONTENT_TYPE_OPTIONS, "nosniff")
        .header(X_FRAME_OPTIONS, "DENY")
        .header(CACHE_CONTROL, "no-store")
        .body(html.into())?)
}

/// What this is, and where everything else is.
pub(super) fn root() -> Result<Response<Body>, HttpError> {
    page(include_str!("pages/root.html").to_string(), None)
}

/// Where a person lets a program in.
pub(super) fn device_verify() -> Result<Response<Body>, HttpError> {
    let nonce = hex::encode(rand::random::<[u8; 16]>());
    page(include_str!("pages/device_verify.html").replace("{nonce}", &nonce), Some(&nonce))
}

/// An answer that keeps to RFC 6749 and not to the form of the API.
pub(super) fn oauth(
    status: StatusCode,
    body: &impl Serialize,
) -> Result<Response<Body>, HttpError> {
    let body = serde_json::to_string(body).map_err(Error::internal)?;
    Ok(Response::builder()
        .status(status)
        .header(CONTENT_TYPE, "application/json")
        .header(CACHE_CONTROL, "no-store")
        .body(body.into())?)
}

#[derive(Serialize)]
struct DeviceAuthResponse {
    device_code: String,
    user_code: String,
    verification_uri: String,
    expires_in: i64,
}

/// What a program is told that asks to be let in: its codes, and where the person must go.
pub(super) fn device_codes(
    rqctx: &RequestContext<Arc<Nexus>>,
    codes: DeviceCodes,
) -> Result<Response<Body>, HttpError> {
    let host = rqctx.request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let host = host.or(rqctx.request.uri().authority().map(|authority| authority.as_str()));
    let host = host.map_or_else(|| rqctx.server.local_addr.to_string(), str::to_string);
    let scheme = if is_https(rqctx) { "https" } else { "http" };
    let body = DeviceAuthResponse {
        device_code: codes.device_code,
        user_code: codes.user_code,
        verification_uri: format!("{scheme}://{host}/device/verify"),
        expires_in: CODE_LIFETIME_SECONDS,
    };
    oauth(StatusCode::OK, &body)
}

/// Whether browsers reach this server by HTTPS.
fn is_https(rqctx: &RequestContext<Arc<Nexus>>) -> bool {
    let config = &rqctx.context().config;
    config.external.tls.is_some() || config.console.behind_tls
}

/// Success, and a session's token for the browser to keep for so many seconds; 0 to forget it.
pub(super) fn session_cookie(
    rqctx: &RequestContext<Arc<Nexus>>,
    token: &str,
    max_age: u32,
) -> Result<HttpResponseHeaders<HttpResponseUpdatedNoContent>, HttpError> {
    let secure = if is_https(rqctx) && max_age > 0 { " Secure;" } else { "" };
    let cookie = format!(
        "{SESSION_COOKIE}={token}; Path=/; HttpOnly; SameSite=Lax;{secure} Max-Age={max_age}"
    );
    let mut cookie = HeaderValue::from_str(&cookie).map_err(Error::internal)?;
    cookie.set_sensitive(true);
    let mut answer = HttpResponseHeaders::new_unnamed(HttpResponseUpdatedNoContent());
    answer.headers_mut().insert(SET_COOKIE, cookie);
    Ok(answer)
}
