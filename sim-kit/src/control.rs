//! The part of the control port that every simulator has: faults and calls.
//!
//! The handlers are the same for every simulator, and so are functions over the context, which the
//! macros that dropshot has for endpoints do not do; the endpoints are put together by hand.

use crate::calls::Call;
use crate::context::SimContext;
use crate::fault::Fault;
use dropshot::{
    ApiDescription, ApiDescriptionRegisterError, ApiEndpoint, ApiEndpointVersions,
    CONTENT_TYPE_JSON, HttpError, HttpResponseDeleted, HttpResponseOk,
    HttpResponseUpdatedNoContent, Method, RequestContext, ServerContext, TypedBody,
};

/// The path of the faults.
const FAULTS: &str = "/sim/faults";

/// The path of the calls.
const CALLS: &str = "/sim/calls";

/// Adds the operations on faults and calls to the API of a control port.
pub fn register<C: ServerContext + SimContext>(
    api: &mut ApiDescription<C>,
) -> Result<(), ApiDescriptionRegisterError> {
    let endpoint = ApiEndpoint::new(
        "faults_list".to_string(),
        faults_list,
        Method::GET,
        CONTENT_TYPE_JSON,
        FAULTS,
        ApiEndpointVersions::All,
    );
    api.register(endpoint.description("List the faults that are set, the oldest first"))?;
    let endpoint = ApiEndpoint::new(
        "fault_add".to_string(),
        fault_add,
        Method::POST,
        CONTENT_TYPE_JSON,
        FAULTS,
        ApiEndpointVersions::All,
    );
    api.register(endpoint.description("Set a fault, besides those that are set"))?;
    let endpoint = ApiEndpoint::new(
        "faults_clear".to_string(),
        faults_clear,
        Method::DELETE,
        CONTENT_TYPE_JSON,
        FAULTS,
        ApiEndpointVersions::All,
    );
    api.register(endpoint.description("Clear all faults, and let go of the calls that hang"))?;
    let endpoint = ApiEndpoint::new(
        "calls_list".to_string(),
        calls_list,
        Method::GET,
        CONTENT_TYPE_JSON,
        CALLS,
        ApiEndpointVersions::All,
    );
    api.register(endpoint.description("List the last calls that the daemon has had"))?;
    let endpoint = ApiEndpoint::new(
        "calls_clear".to_string(),
        calls_clear,
        Method::DELETE,
        CONTENT_TYPE_JSON,
        CALLS,
        ApiEndpointVersions::All,
    );
    api.register(endpoint.description("Forget the calls that the daemon has had"))
}

async fn faults_list<C: ServerContext + SimContext>(
    rqctx: RequestContext<C>,
) -> Result<HttpResponseOk<Vec<Fault>>, HttpError> {
    Ok(HttpResponseOk(rqctx.context().gate().list_faults()))
}

async fn fault_add<C: ServerContext + SimContext>(
    rqctx: RequestContext<C>,
    body: TypedBody<Fault>,
) -> Result<HttpResponseUpdatedNoContent, HttpError> {
    rqctx.context().gate().add_fault(body.into_inner())?;
    Ok(HttpResponseUpdatedNoContent())
}

async fn faults_clear<C: ServerContext + SimContext>(
    rqctx: RequestContext<C>,
) -> Result<HttpResponseDeleted, HttpError> {
    rqctx.context().gate().clear_faults();
    Ok(HttpResponseDeleted())
}

async fn calls_list<C: ServerContext + SimContext>(
    rqctx: RequestContext<C>,
) -> Result<HttpResponseOk<Vec<Call>>, HttpError> {
    Ok(HttpResponseOk(rqctx.context().gate().list_calls()))
}

async fn calls_clear<C: ServerContext + SimContext>(
    rqctx: RequestContext<C>,
) -> Result<HttpResponseDeleted, HttpError> {
    rqctx.context().gate().clear_calls();
    Ok(HttpResponseDeleted())
}
