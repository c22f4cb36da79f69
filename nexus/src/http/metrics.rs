//! `GET /metrics`, for Prometheus: on the internal port, where no tenant comes, but no part of the
//! internal API and in none of its documents. It knows no versions.

use super::measure::Measured;
use crate::app::Nexus;
use crate::metrics::CONTENT_TYPE;
use dropshot::{
    ApiDescription, ApiDescriptionBuildErrors, Body, DynamicVersionPolicy, HttpError,
    RequestContext, VersionPolicy, endpoint,
};
use http::header::CONTENT_TYPE as HEADER;
use http::{Request, Response};
use nexus_common::Error;
use nexus_internal_api::internal::latest_version;
use semver::Version;
use slog::Logger;
use std::sync::Arc;

const PATH: &str = "/metrics";

/// Everything that this process counts.
#[endpoint { method = GET, path = "/metrics", unpublished = true }]
async fn metrics(rqctx: RequestContext<Arc<Nexus>>) -> Result<Response<Body>, HttpError> {
    let measured = Measured::begin("internal", &rqctx);
    let result = text(rqctx.context()).await;
    measured.end(&result);
    result
}

async fn text(nexus: &Arc<Nexus>) -> Result<Response<Body>, HttpError> {
    let text = nexus.metrics_text().await?;
    let response = Response::builder().header(HEADER, CONTENT_TYPE).body(text.into());
    Ok(response.map_err(Error::internal)?)
}

/// Adds the operation to the internal API.
pub(super) fn register(
    api: &mut ApiDescription<Arc<Nexus>>,
) -> Result<(), ApiDescriptionBuildErrors> {
    api.register(metrics).map_err(|error| ApiDescriptionBuildErrors::new(vec![error]))
}

/// The policy, for requests that are not for metrics.
#[derive(Debug)]
struct MetricsAside(VersionPolicy);

/// The policy of the internal API, by which a request for metrics needs no version.
pub(super) fn aside(policy: VersionPolicy) -> VersionPolicy {
    VersionPolicy::Dynamic(Box::new(MetricsAside(policy)))
}

impl DynamicVersionPolicy for MetricsAside {
    fn request_extract_version(
        &self,
        request: &Request<Body>,
        log: &Logger,
    ) -> Result<Version, HttpError> {
        match &self.0 {
            VersionPolicy::Dynamic(policy) if request.uri().path() != PATH => {
                policy.request_extract_version(request, log)
            }
            _ => Ok(latest_version()),
        }
    }
}
