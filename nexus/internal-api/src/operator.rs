//! What the operator's tools call.

use crate::types::{
    BackgroundTask, BackgroundTasksActivateRequest, CheckReport, InstanceMigrateRequest,
    IntendedPort, Saga,
};
use dropshot::{
    HttpError, HttpResponseOk, HttpResponseUpdatedNoContent, Path, Query, RequestContext,
    ResultsPage, TypedBody,
};
use nexus_api::paging::ListById;
use nexus_api::types::Instance;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use uuid::Uuid;

/// What the operator's tools call.
#[dropshot::api_description]
pub trait NexusOperatorApi {
    /// What the implementation keeps.
    type Context;

    /// Move a running instance to another sled
    #[endpoint { method = POST, path = "/instances/{instance_id}/migrate" }]
    async fn instance_migrate(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstanceIdPath>,
        request: TypedBody<InstanceMigrateRequest>,
    ) -> Result<HttpResponseOk<Instance>, HttpError>;

    /// List sagas
    ///
    /// Those of every Nexus, finished ones included as long as their records are kept.
    #[endpoint { method = GET, path = "/sagas" }]
    async fn saga_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListById>,
    ) -> Result<HttpResponseOk<ResultsPage<Saga>>, HttpError>;

    /// Fetch a saga
    #[endpoint { method = GET, path = "/sagas/{saga_id}" }]
    async fn saga_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<SagaPath>,
    ) -> Result<HttpResponseOk<Saga>, HttpError>;

    /// List background tasks
    ///
    /// Those of the Nexus that answers, by name.
    #[endpoint { method = GET, path = "/bgtasks" }]
    async fn bgtask_list(
        rqctx: RequestContext<Self::Context>,
    ) -> Result<HttpResponseOk<BTreeMap<String, BackgroundTask>>, HttpError>;

    /// Fetch a background task
    #[endpoint { method = GET, path = "/bgtasks/view/{bgtask_name}" }]
    async fn bgtask_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<BackgroundTaskPath>,
    ) -> Result<HttpResponseOk<BackgroundTask>, HttpError>;

    /// Run background tasks now
    ///
    /// A task that is running already will run once more. If one of the names is unknown, none
    /// is activated.
    #[endpoint { method = POST, path = "/bgtasks/activate" }]
    async fn bgtask_activate(
        rqctx: RequestContext<Self::Context>,
        request: TypedBody<BackgroundTasksActivateRequest>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError>;

    /// Check what must hold when nothing is going on
    ///
    /// The database, the switches and the sleds are compared with each other. A difference is
    /// reported if it stays for a moment. What of them cannot be reached is named, and nothing is
    /// said of it.
    #[endpoint { method = GET, path = "/check" }]
    async fn check_run(
        rqctx: RequestContext<Self::Context>,
    ) -> Result<HttpResponseOk<CheckReport>, HttpError>;

    /// List the external addresses that the ports of VMMs are to have
    ///
    /// By the VMM's id, every VMM that is to have a port. A sled agent does not tell what its
    /// ports have; whoever can see that compares it with this.
    #[endpoint { method = GET, path = "/check/ports" }]
    async fn check_port_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListById>,
    ) -> Result<HttpResponseOk<ResultsPage<IntendedPort>>, HttpError>;

    /// Fetch the external addresses that the ports of a VMM are to have
    #[endpoint { method = GET, path = "/check/ports/{vmm_id}" }]
    async fn check_port_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<VmmIdPath>,
    ) -> Result<HttpResponseOk<IntendedPort>, HttpError>;
}

/// A VMM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct VmmIdPath {
    /// The VMM's id
    pub vmm_id: Uuid,
}

/// An instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct InstanceIdPath {
    /// The instance's id
    pub instance_id: Uuid,
}

/// A saga.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct SagaPath {
    /// The saga's id
    pub saga_id: Uuid,
}

/// A background task.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct BackgroundTaskPath {
    /// The task's name
    pub bgtask_name: String,
}
