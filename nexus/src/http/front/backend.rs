//! The way to dropshot.
//!
//! dropshot can only listen on a TCP port. Other programs of this machine can reach that port, too,
//! and what they sent there would have come past every limit and past TLS. So each request is
//! given a pass, random for each start and known to this process alone, and dropshot answers
//! nobody without it.

use super::exchange::Answer;
use crate::http::measure::UNVERSIONED;
use dropshot::{Body, DynamicVersionPolicy, HttpError, VersionPolicy};
use http::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue, TE,
    TRANSFER_ENCODING, UPGRADE,
};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Request, Uri, Version as HttpVersion};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use nexus_common::Error;
use semver::Version;
use sha2::{Digest, Sha256};
use slog::Logger;
use std::net::SocketAddr;
use std::time::Duration;

/// The header with the pass.
const PASS: HeaderName = HeaderName::from_static("x-nexus-pass");
/// Who the client is. A proxy may have named clients before it.
pub(in crate::http) const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

/// How long a connection to dropshot is kept that is not used. dropshot keeps it for longer.
const IDLE: Duration = Duration::from_secs(10);

/// What lets a request in.
#[derive(Clone)]
pub(in crate::http) struct Pass(String);

impl Pass {
    /// One that nobody else has.
    pub fn new() -> Self {
        Pass(hex::encode(rand::random::<[u8; 32]>()))
    }

    /// Whether a request has it. Digests are compared: how long that takes tells nothing.
    fn is_in(&self, headers: &HeaderMap) -> bool {
        let digest = |pass: &[u8]| Sha256::digest(pass);
        headers.get(PASS).is_some_and(|pass| digest(pass.as_bytes()) == digest(self.0.as_bytes()))
    }
}

/// A pass is a secret.
impl std::fmt::Debug for Pass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pass")
    }
}

/// A version policy that refuses what comes without the pass, and is asked first of all.
#[derive(Debug)]
struct OnlyWith {
    pass: Pass,
    policy: VersionPolicy,
}

/// The policy, for requests with this pass.
pub(in crate::http) fn only_with(pass: Pass, policy: VersionPolicy) -> VersionPolicy {
    VersionPolicy::Dynamic(Box::new(OnlyWith { pass, policy }))
}

impl DynamicVersionPolicy for OnlyWith {
    fn request_extract_version(
        &self,
        request: &Request<Body>,
        log: &Logger,
    ) -> Result<Version, HttpError> {
        if !self.pass.is_in(request.headers()) {
            return Err(Error::Forbidden.into());
        }
        match &self.policy {
            VersionPolicy::Unversioned => Ok(UNVERSIONED),
            VersionPolicy::Dynamic(policy) => policy.request_extract_version(request, log),
        }
    }
}

/// A client of dropshot.
pub(super) struct Backend {
    client: Client<HttpConnector, Full<Bytes>>,
    authority: Authority,
    pass: HeaderValue,
}

impl Backend {
    /// A client of the dropshot that listens there.
    pub fn new(address: SocketAddr, pass: &Pass) -> anyhow::Result<Self> {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE)
            .pool_timer(TokioTimer::new())
            .build(connector);
        let mut pass = HeaderValue::from_str(&pass.0)?;
        pass.set_sensitive(true);
        Ok(Backend { client, authority: address.to_string().parse()?, pass })
    }

    /// Sends a request of `peer`, who came to `local`, and returns the beginning of the answer.
    pub async fn send(
        &self,
        mut parts: http::request::Parts,
        body: Bytes,
        peer: SocketAddr,
        local: SocketAddr,
    ) -> Result<Answer, Error> {
        let headers = &mut parts.headers;
        if !headers.contains_key(HOST) {
            // HTTP/2 says it elsewhere, and HTTP/1.0 not at all.
            let host =
                parts.uri.authority().map_or_else(|| local.to_string(), Authority::to_string);
            headers.insert(HOST, HeaderValue::from_str(&host).map_err(Error::internal)?);
        }
        without_hops(headers);
        headers.remove(EXPECT);
        headers.remove(CONTENT_LENGTH);
        headers.insert(PASS, self.pass.clone());
        let clients = forwarded_for(headers, peer);
        headers.insert(FORWARDED_FOR, HeaderValue::from_str(&clients).map_err(Error::internal)?);
        let mut uri = http::uri::Parts::default();
        uri.scheme = Some(Scheme::HTTP);
        uri.authority = Some(self.authority.clone());
        let path = parts.uri.path_and_query().cloned();
        uri.path_and_query = Some(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
        parts.uri = Uri::from_parts(uri).map_err(Error::internal)?;
        parts.version = HttpVersion::HTTP_11;
        let request = Request::from_parts(parts, Full::new(body));
        let mut answer = self.client.request(request).await.map_err(Error::unavailable)?;
        without_hops(answer.headers_mut());
        Ok(answer)
    }
}

/// The clients that a request came through, the last of which came to us.
fn forwarded_for(headers: &HeaderMap, peer: SocketAddr) -> String {
    // It goes to the log, and anyone may send it.
    const CLAIM_MAX: usize = 256;
    let peer = peer.to_string();
    let claims = headers.get_all(FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok());
    let all = claims.chain([peer.as_str()]).collect::<Vec<_>>().join(", ");
    if all.len() > CLAIM_MAX { peer } else { all }
}

/// Takes away what is for the other end of one connection only.
fn without_hops(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let always = [CONNECTION, KEEP_ALIVE, PROXY_CONNECTION, TE, TRANSFER_ENCODING, UPGRADE];
    for name in always.into_iter().chain(named) {
        headers.remove(name);
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_pass_lets_in_and_nothing_else() {
        let pass = Pass::new();
        let mut headers = HeaderMap::new();
        assert!(!pass.is_in(&headers));
        headers.insert(PASS, HeaderValue::from_static("x"));
        assert!(!pass.is_in(&headers));
        headers.insert(PASS, HeaderValue::from_str(&pass.0).expect("a header"));
        assert!(pass.is_in(&headers));
        assert!(!Pass::new().is_in(&headers));
        assert!(!format!("{pass:?}").contains(&pass.0));
    }

    #[test]
    fn who_came_to_us_is_the_last_of_the_clients() {
        let peer: SocketAddr = "192.0.2.1:7".parse().expect("an address");
        let mut headers = HeaderMap::new();
        assert_eq!(forwarded_for(&headers, peer), "192.0.2.1:7");
        headers.insert(FORWARDED_FOR, HeaderValue::from_static("198.51.100.1"));
        headers.append(FORWARDED_FOR, HeaderValue::from_static("198.51.100.2"));
        assert_eq!(forwarded_for(&headers, peer), "198.51.100.1, 198.51.100.2, 192.0.2.1:7");
        let long = HeaderValue::from_str(&"x".repeat(300)).expect("a header");
        headers.insert(FORWARDED_FOR, long);
        assert_eq!(forwarded_for(&headers, peer), "192.0.2.1:7");
    }

    #[test]
    fn headers_of_one_connection_stay_on_it() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, x-mine"),
            ("x-mine", "1"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("accept", "*/*"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        without_hops(&mut headers);
        let left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(left, ["accept"]);
    }
}
