//! Query parameters that an operation does not have are refused: one that is misspelt must not be
//! passed over.
//!
//! The types that read a query cannot tell, as those of listings are read in two ways; so this
//! looks at requests where the server chooses their version.

use crate::app::Nexus;
use dropshot::{ApiDescription, Body, DynamicVersionPolicy, HttpError, VersionPolicy};
use http::{Method, Request};
use nexus_api::version::{latest_version, oldest_version};
use semver::Version;
use serde_json::Value;
use slog::Logger;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

type Api = ApiDescription<Arc<Nexus>>;

/// The names of the query parameters of each published operation, by its id.
type Known = BTreeMap<String, BTreeSet<String>>;

/// The id of the operation that a request is routed to; none if there is none.
type Route = Box<dyn Fn(&Method, &str, &Version) -> Option<String> + Send + Sync>;

struct KnownParameters {
    route: Route,
    known: Known,
    version: Box<dyn DynamicVersionPolicy>,
}

impl fmt::Debug for KnownParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownParameters").field("version", &self.version).finish_non_exhaustive()
    }
}

/// What the documents of the newest and of the oldest version name: no version between them has
/// had a parameter that neither has.
fn known(api: &Api) -> Result<Known, serde_json::Error> {
    let mut known = Known::new();
    for version in [oldest_version(), latest_version()] {
        let document = api.openapi("", version).json()?;
        let paths = document["paths"].as_object().into_iter().flatten();
        for operation in paths.flat_map(|(_, path)| path.as_object().into_iter().flatten()) {
            if let Some(id) = operation.1["operationId"].as_str() {
                known.entry(id.to_string()).or_default().extend(queries(operation.1));
            }
        }
    }
    Ok(known)
}

fn queries(operation: &Value) -> impl Iterator<Item = String> {
    operation["parameters"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|parameter| parameter["in"] == "query")
        .filter_map(|parameter| parameter["name"].as_str().map(str::to_string))
}

/// Refuses a query with a parameter that is not one of these.
fn refuse_unknown(query: &str, known: &BTreeSet<String>) -> Result<(), HttpError> {
    let mut names = form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name);
    let Some(unknown) = names.find(|name| !known.contains(name.as_ref())) else { return Ok(()) };
    let names: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
    let expected = match &names[..] {
        [] => "there are none".to_string(),
        names => format!("expected one of {}", names.join(", ")),
    };
    let message = format!("unable to parse query string: unknown field `{unknown}`, {expected}");
    Err(HttpError::for_bad_request(None, message))
}

impl DynamicVersionPolicy for KnownParameters {
    fn request_extract_version(
        &self,
        request: &Request<Body>,
        log: &Logger,
    ) -> Result<Version, HttpError> {
        let version = self.version.request_extract_version(request, log)?;
        if let Some(query) = request.uri().query().filter(|query| !query.is_empty()) {
            // What is no operation is the router's to refuse.
            let id = (self.route)(request.method(), request.uri().path(), &version);
            if let Some(known) = id.and_then(|id| self.known.get(&id)) {
                refuse_unknown(query, known)?;
            }
        }
        Ok(version)
    }
}

/// The version policy of a server of `api` that refuses parameters that an operation does not have.
pub(super) fn with_known_parameters(
    version: VersionPolicy,
    api: Api,
) -> Result<VersionPolicy, serde_json::Error> {
    match version {
        VersionPolicy::Dynamic(version) => {
            let known = known(&api)?;
            let router = api.into_router();
            let route = move |method: &Method, path: &str, version: &Version| {
                let found = router.lookup_route(method, path.into(), Some(version)).ok()?;
                Some(found.endpoint.operation_id)
            };
            let route = Box::new(route);
            Ok(VersionPolicy::Dynamic(Box::new(KnownParameters { route, known, version })))
        }
        unversioned @ VersionPolicy::Unversioned => Ok(unversioned),
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_name_that_is_not_known_is_refused() {
        let known = BTreeSet::from(["limit".to_string(), "project".to_string()]);
        for query in ["limit=1", "project=a&limit=1", "pr%6Fject=a", "&limit=1&", "limit"] {
            assert!(refuse_unknown(query, &known).is_ok(), "{query}");
        }
        let refusal = |query, known| refuse_unknown(query, known).map_err(|e| e.external_message);
        assert_eq!(
            refusal("projekt=a", &known),
            Err("unable to parse query string: unknown field `projekt`, expected one of `limit`, \
                 `project`"
                .to_string())
        );
        assert_eq!(
            refusal("a=b", &BTreeSet::new()),
            Err("unable to parse query string: unknown field `a`, there are none".to_string())
        );
    }
}
