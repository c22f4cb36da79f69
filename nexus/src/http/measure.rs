//! Counting requests: each operation from its beginning to its end, and at the door what comes in
//! and what no operation is for.

use crate::app::Nexus;
use crate::metrics::Metrics;
use dropshot::{
    ApiDescription, Body, DynamicVersionPolicy, HttpError, HttpResponse, RequestContext,
    VersionPolicy,
};
use http::{Request, StatusCode};
use semver::Version;
use slog::Logger;
use std::sync::Arc;
use std::time::Instant;

/// The operation of requests for which there is none.
const NO_OPERATION: &str = "none";

/// Counts a request that is refused before anyone looks for its operation.
pub(super) fn refused(metrics: &Metrics, api: &'static str, status: StatusCode) {
    metrics.http.received.at([api, NO_OPERATION]).inc();
    metrics.http.requests.at([api, NO_OPERATION, status.as_str()]).inc();
}

/// An operation that is going on.
pub(super) struct Measured {
    metrics: Arc<Metrics>,
    api: &'static str,
    operation: String,
    begun: Instant,
}

impl Measured {
    /// The operation begins.
    pub fn begin(api: &'static str, rqctx: &RequestContext<Arc<Nexus>>) -> Self {
        let metrics = rqctx.context().metrics.clone();
        metrics.http.in_flight.at([api]).inc();
        let operation = rqctx.endpoint.operation_id.clone();
        Measured { metrics, api, operation, begun: Instant::now() }
    }

    /// The operation has this result.
    pub fn end<R: HttpResponse>(self, result: &Result<R, HttpError>) {
        let status = match result {
            Ok(response) => response.status_code(),
            Err(error) => error.status_code.as_status(),
        };
        let http = &self.metrics.http;
        http.requests.at([self.api, &self.operation, status.as_str()]).inc();
    }
}

/// Also where the operation panics.
impl Drop for Measured {
    fn drop(&mut self) {
        let http = &self.metrics.http;
        http.duration.at([self.api, &self.operation]).observe(self.begun.elapsed().as_secs_f64());
        http.in_flight.at([self.api]).dec();
    }
}

type Lookup = dyn Fn(&Request<Body>, &Version) -> Result<String, HttpError> + Send + Sync;

/// Counts what comes in. It takes the place of an API's version policy, the one thing that dropshot
/// asks about every request, and decides as that does.
struct Door {
    metrics: Arc<Metrics>,
    api: &'static str,
    policy: VersionPolicy,
    lookup: Box<Lookup>,
}

/// The version of requests to an API that has none.
pub(super) const UNVERSIONED: Version = Version::new(0, 0, 0);

/// The policy, with a count of all requests. `description` is the API's.
pub(super) fn counted(
    metrics: Arc<Metrics>,
    api: &'static str,
    policy: VersionPolicy,
    description: ApiDescription<Arc<Nexus>>,
) -> VersionPolicy {
    let router = description.into_router();
    let lookup = move |request: &Request<Body>, version: &Version| {
        let path = request.uri().path().into();
        let found = router.lookup_route(request.method(), path, Some(version))?;
        Ok(found.endpoint.operation_id)
    };
    VersionPolicy::Dynamic(Box::new(Door { metrics, api, policy, lookup: Box::new(lookup) }))
}

impl std::fmt::Debug for Door {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Door").field("api", &self.api).finish_non_exhaustive()
    }
}

impl DynamicVersionPolicy for Door {
    fn request_extract_version(
        &self,
        request: &Request<Body>,
        log: &Logger,
    ) -> Result<Version, HttpError> {
        let version = match &self.policy {
            VersionPolicy::Unversioned => Ok(UNVERSIONED),
            VersionPolicy::Dynamic(policy) => policy.request_extract_version(request, log),
        };
        let operation = match &version {
            Ok(version) => (self.lookup)(request, version).map_err(|error| error.status_code),
            Err(error) => Err(error.status_code),
        };
        match operation {
            Ok(operation) => {
                self.metrics.http.received.at([self.api, &operation]).inc();
            }
            // dropshot answers with the same status in a moment.
            Err(status) => {
                refused(&self.metrics, self.api, status.as_status());
            }
        }
        version
    }
}
