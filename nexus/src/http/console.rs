//! The operator's build of the web console, if there is one: its files, and the pages that it
//! shows itself.
//!
//! Every page is the same file; which one it is, the console finds out from the path. Whoever is
//! not logged in is led to the login page, and back afterwards.

use super::authn::is_known;
use crate::app::Nexus;
use dropshot::{Body, HttpError, RequestContext};
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST,
    HeaderMap, LOCATION, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{Response, StatusCode, Uri};
use nexus_common::{Error, Name};
use std::path::{Path, PathBuf};
use std::sync::Arc;

type Ctx = RequestContext<Arc<Nexus>>;

const POLICY: &str = "default-src 'self'; style-src 'unsafe-inline' 'self'; frame-src 'none'; \
                      object-src 'none'; form-action 'none'; frame-ancestors 'none'";

/// What separates a silo's name from the rest of a host's, as in `SILO.sys.EXAMPLE.COM`.
const SILO_SUFFIX: &str = ".sys.";

fn not_found(why: &str) -> HttpError {
    HttpError::for_not_found(None, why.to_string())
}

fn static_dir(rqctx: &Ctx) -> Result<&Path, HttpError> {
    let dir = rqctx.context().config.console.static_dir.as_deref();
    dir.ok_or_else(|| not_found("no console is installed"))
}

/// Whether there is a console.
pub(super) fn is_installed(rqctx: &Ctx) -> bool {
    static_dir(rqctx).is_ok()
}

fn file(
    contents: Vec<u8>,
    content_type: &str,
    cache: &str,
    encoding: Option<&str>,
) -> Result<Response<Body>, HttpError> {
    let mut response = Response::builder()
        .header(CONTENT_TYPE, content_type)
        .header(CONTENT_SECURITY_POLICY, POLICY)
        .header(X_CONTENT_TYPE_OPTIONS, "nosniff")
        .header(X_FRAME_OPTIONS, "DENY")
        .header(CACHE_CONTROL, cache);
    if let Some(encoding) = encoding {
        response = response.header(CONTENT_ENCODING, encoding);
    }
    Ok(response.body(contents.into())?)
}

async fn index(rqctx: &Ctx) -> Result<Response<Body>, HttpError> {
    let path = static_dir(rqctx)?.join("index.html");
    let contents = tokio::fs::read(&path).await.map_err(Error::internal)?;
    file(contents, "text/html; charset=utf-8", "no-store", None)
}

/// The silo whose login page a request is led to: that of the host's name, or the default one.
async fn silo_of(rqctx: &Ctx) -> String {
    let nexus = rqctx.context();
    let host = rqctx.request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let host = host.or(rqctx.request.uri().authority().map(|authority| authority.as_str()));
    let named = host.and_then(|host| host.split_once(SILO_SUFFIX));
    if let Some((silo, _)) = named
        && let Ok(name) = silo.parse::<Name>()
        && nexus.datastore.silo_fetch(name.into()).await.is_ok()
    {
        return silo.to_string();
    }
    nexus.config.console.default_silo.to_string()
}

fn found(location: &str) -> Result<Response<Body>, HttpError> {
    let response = Response::builder().status(StatusCode::FOUND).header(LOCATION, location);
    Ok(response.body(Body::empty())?)
}

async fn to_login(rqctx: &Ctx, back_to: Option<&str>) -> Result<Response<Body>, HttpError> {
    let silo = silo_of(rqctx).await;
    let query = back_to.map(|uri| {
        let uri: String = form_urlencoded::byte_serialize(uri.as_bytes()).collect();
        format!("?redirect_uri={uri}")
    });
    found(&format!("/login/{silo}/local{}", query.unwrap_or_default()))
}

/// A page for those who are logged in.
pub(super) async fn page(rqctx: &Ctx) -> Result<Response<Body>, HttpError> {
    static_dir(rqctx)?;
    if is_known(rqctx).await? {
        return index(rqctx).await;
    }
    let uri = rqctx.request.uri();
    let back_to = uri.path_and_query().map_or(uri.path(), |path| path.as_str());
    to_login(rqctx, Some(back_to)).await
}

/// The page on which people log in.
pub(super) async fn login_page(rqctx: &Ctx) -> Result<Response<Body>, HttpError> {
    index(rqctx).await
}

/// The way to the login page, and back to a page of this server afterwards.
pub(super) async fn login(
    rqctx: &Ctx,
    redirect_uri: Option<String>,
) -> Result<Response<Body>, HttpError> {
    static_dir(rqctx)?;
    if let Some(uri) = redirect_uri.as_deref().filter(|uri| !is_here(uri)) {
        let message = format!("redirect_uri must be a path on this server, not {uri:?}");
        return Err(HttpError::for_bad_request(None, message));
    }
    to_login(rqctx, redirect_uri.as_deref()).await
}

/// Whether a reference leads to this server, whoever reads it: `//host` and `/\host` do not.
fn is_here(uri: &str) -> bool {
    let parsed = uri.parse::<Uri>();
    uri.starts_with('/')
        && !uri[1..].starts_with(['/', '\\'])
        && parsed.is_ok_and(|uri| uri.scheme().is_none() && uri.authority().is_none())
}

/// The content types of files that are served. There are no others.
fn content_type(name: &str) -> Option<&'static str> {
    Some(match name.rsplit_once('.')?.1 {
        "css" => "text/css",
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript",
        "map" => "application/json",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "txt" => "text/plain; charset=utf-8",
        "webp" => "image/webp",
        "woff" => "application/font-woff",
        "woff2" => "font/woff2",
        _ => return None,
    })
}

/// A file below a directory; none if there is none, or a link on the way to it.
async fn below(dir: &Path, segments: &[String]) -> Option<PathBuf> {
    let mut path = dir.to_path_buf();
    for segment in segments {
        if segment.is_empty() || matches!(segment.as_str(), "." | "..") || segment.contains('/') {
            return None;
        }
        path.push(segment);
        let metadata = tokio::fs::symlink_metadata(&path).await.ok()?;
        if metadata.is_symlink() {
            return None;
        }
    }
    let metadata = tokio::fs::symlink_metadata(&path).await.ok()?;
    metadata.is_file().then_some(path)
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    headers
        .get_all(ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|coding| {
            let mut parts = coding.split(';').map(str::trim);
            let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
            is_gzip && !parts.any(|weight| matches!(weight, "q=0" | "q=0.0"))
        })
}

/// A file of the console.
pub(super) async fn asset(rqctx: &Ctx, path: &[String]) -> Result<Response<Body>, HttpError> {
    const CACHE: &str = "max-age=31536000, immutable";
    let assets = static_dir(rqctx)?.join("assets");
    let none = || not_found("no such file");
    let (name, dirs) = path.split_last().ok_or_else(none)?;
    let content_type = content_type(name).ok_or_else(none)?;
    if takes_gzip(rqctx.request.headers()) {
        let zipped: Vec<String> = dirs.iter().cloned().chain([format!("{name}.gz")]).collect();
        if let Some(path) = below(&assets, &zipped).await {
            let contents = tokio::fs::read(path).await.map_err(Error::internal)?;
            return file(contents, content_type, CACHE, Some("gzip"));
        }
    }
    let path = below(&assets, path).await.ok_or_else(none)?;
    file(tokio::fs::read(path).await.map_err(Error::internal)?, content_type, CACHE, None)
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_redirect_stays_here() {
        for uri in ["/", "/projects", "/projects/a?tab=b#c"] {
            assert!(is_here(uri), "{uri}");
        }
        for uri in ["", "projects", "//evil.example", "/\\evil.example", "https://evil.example/"] {
            assert!(!is_here(uri), "{uri}");
        }
    }

    #[test]
    fn only_files_of_known_kinds_are_served() {
        assert_eq!(content_type("app.js"), Some("text/javascript"));
        for name in ["app", "app.exe", ".htaccess", "app.js.gz"] {
            assert_eq!(content_type(name), None, "{name}");
        }
    }

    #[test]
    fn gzip_is_for_those_who_take_it() {
        let takes = |value: &str| {
            takes_gzip(&HeaderMap::from_iter([(
                ACCEPT_ENCODING,
                value.parse().expect("a header value"),
            )]))
        };
        assert!(takes("gzip") && takes("br, GZip;q=0.5"));
        assert!(!takes("br") && !takes("gzip;q=0") && !takes_gzip(&HeaderMap::new()));
    }
}
