//! The operator's API.

use super::views;
use crate::app::Nexus;
use crate::background::{Current, Driver, Last, Reason, TaskStatus};
use db_model as model;
use dropshot::{
    ApiDescription, ApiDescriptionBuildErrors, HttpError, HttpResponseOk,
    HttpResponseUpdatedNoContent, Path, Query, RequestContext, ResultsPage, TypedBody,
};
use nexus_api::paging::{IdPage, ListById};
use nexus_api::types::Instance;
use nexus_common::{Error, ResourceType};
use nexus_internal_api::operator::{
    BackgroundTaskPath, InstanceIdPath, NexusOperatorApi, SagaPath, VmmIdPath,
    nexus_operator_api_mod,
};
use nexus_internal_api::types::{
    ActivationReason, BackgroundTask, BackgroundTasksActivateRequest, CheckReport, CurrentStatus,
    CurrentStatusRunning, InstanceMigrateRequest, IntendedPort, LastResult, LastResultCompleted,
    NodeName, Saga, SagaErrorInfo, SagaState,
};
use nexus_measured::measured;
use std::collections::BTreeMap;
use std::sync::Arc;
use steno::{ActionError, SagaNodeEvent, SagaNodeEventType};

/// The API, ready to be served.
pub(super) fn api() -> Result<ApiDescription<Arc<Nexus>>, ApiDescriptionBuildErrors> {
    nexus_operator_api_mod::api_description::<Operator>()
}

enum Operator {}

fn driver(rqctx: &RequestContext<Arc<Nexus>>) -> Result<&Driver, Error> {
    rqctx.context().background().ok_or_else(|| Error::busy("Nexus is starting"))
}

#[measured("operator")]
impl NexusOperatorApi for Operator {
    type Context = Arc<Nexus>;

    async fn instance_migrate(
        rqctx: RequestContext<Arc<Nexus>>,
        path: Path<InstanceIdPath>,
        request: TypedBody<InstanceMigrateRequest>,
    ) -> Result<HttpResponseOk<Instance>, HttpError> {
        let (id, sled) = (path.into_inner().instance_id, request.into_inner().dst_sled_id);
        let found = rqctx.context().instance_migrate(id, sled).await?;
        Ok(HttpResponseOk(views::instance(found)))
    }

    async fn saga_list(
        rqctx: RequestContext<Arc<Nexus>>,
        query: Query<ListById>,
    ) -> Result<HttpResponseOk<ResultsPage<Saga>>, HttpError> {
        let page = IdPage::new(&rqctx, query)?;
        let mut items = Vec::new();
        for row in rqctx.context().saga_list(page.by.clone()).await? {
            items.push(saga(rqctx.context(), row).await?);
        }
        Ok(HttpResponseOk(page.results(items, |item: &Saga| item.id)?))
    }

    async fn saga_view(
        rqctx: RequestContext<Arc<Nexus>>,
        path: Path<SagaPath>,
    ) -> Result<HttpResponseOk<Saga>, HttpError> {
        let row = rqctx.context().saga(path.into_inner().saga_id).await?;
        Ok(HttpResponseOk(saga(rqctx.context(), row).await?))
    }

    async fn bgtask_list(
        rqctx: RequestContext<Arc<Nexus>>,
    ) -> Result<HttpResponseOk<BTreeMap<String, BackgroundTask>>, HttpError> {
        let tasks = driver(&rqctx)?.list().into_iter();
        Ok(HttpResponseOk(tasks.map(|task| (task.name.to_string(), task_view(task))).collect()))
    }

    async fn bgtask_view(
        rqctx: RequestContext<Arc<Nexus>>,
        path: Path<BackgroundTaskPath>,
    ) -> Result<HttpResponseOk<BackgroundTask>, HttpError> {
        let name = path.into_inner().bgtask_name;
        let missing = || {
            let what = format!("background-task with name \"{name}\"");
            Error::not_found_message(ResourceType::BackgroundTask, what)
        };
        let task = driver(&rqctx)?.view(&name).ok_or_else(missing)?;
        Ok(HttpResponseOk(task_view(task)))
    }

    async fn bgtask_activate(
        rqctx: RequestContext<Arc<Nexus>>,
        request: TypedBody<BackgroundTasksActivateRequest>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError> {
        let names: Vec<String> = request.into_inner().bgtask_names.into_iter().collect();
        let unknown = driver(&rqctx)?.activate(&names);
        if unknown.is_empty() {
            return Ok(HttpResponseUpdatedNoContent());
        }
        let what = format!("background tasks: {}", unknown.join(", "));
        Err(Error::not_found_message(ResourceType::BackgroundTask, what).into())
    }

    async fn check_run(
        rqctx: RequestContext<Arc<Nexus>>,
    ) -> Result<HttpResponseOk<CheckReport>, HttpError> {
        Ok(HttpResponseOk(rqctx.context().check().await?))
    }

    async fn check_port_list(
        rqctx: RequestContext<Arc<Nexus>>,
        query: Query<ListById>,
    ) -> Result<HttpResponseOk<ResultsPage<IntendedPort>>, HttpError> {
        let page = IdPage::new(&rqctx, query)?;
        let items = rqctx.context().intended_ports(page.by.clone()).await?;
        Ok(HttpResponseOk(page.results(items, |item: &IntendedPort| item.vmm_id)?))
    }

    async fn check_port_view(
        rqctx: RequestContext<Arc<Nexus>>,
        path: Path<VmmIdPath>,
    ) -> Result<HttpResponseOk<IntendedPort>, HttpError> {
        Ok(HttpResponseOk(rqctx.context().intended_port(path.into_inner().vmm_id).await?))
    }
}

fn reason(reason: Reason) -> ActivationReason {
    match reason {
        Reason::Signaled => ActivationReason::Signaled,
        Reason::Timeout => ActivationReason::Timeout,
    }
}

fn task_view(task: TaskStatus) -> BackgroundTask {
    BackgroundTask {
        name: task.name.to_string(),
        description: task.description.to_string(),
        period: task.period,
        current: match task.current {
            Current::Idle => CurrentStatus::Idle,
            Current::Running { start_time, reason: why, iteration } => {
                let reason = reason(why);
                CurrentStatus::Running(CurrentStatusRunning { start_time, reason, iteration })
            }
        },
        last: match task.last {
            Last::NeverCompleted => LastResult::NeverCompleted,
            Last::Completed { iteration, start_time, reason: why, elapsed, details } => {
                let reason = reason(why);
                LastResult::Completed(LastResultCompleted {
                    iteration,
                    start_time,
                    reason,
                    elapsed,
                    details,
                })
            }
        },
    }
}

fn error_info(error: ActionError) -> SagaErrorInfo {
    match error {
        ActionError::ActionFailed { source_error } => SagaErrorInfo::ActionFailed { source_error },
        ActionError::DeserializeFailed { message } => SagaErrorInfo::DeserializeFailed { message },
        ActionError::InjectedError => SagaErrorInfo::InjectedError,
        ActionError::SerializeFailed { message } => SagaErrorInfo::SerializeFailed { message },
        ActionError::SubsagaCreateFailed { message } => {
            SagaErrorInfo::SubsagaCreateFailed { message }
        }
    }
}

/// A saga as its events tell of it.
async fn saga(nexus: &Nexus, row: model::Saga) -> Result<Saga, Error> {
    let events: Result<Vec<SagaNodeEvent>, _> = nexus
        .saga_events(row.id)
        .await?
        .into_iter()
        .map(|event| serde_json::from_value(event.event))
        .collect();
    let events = events.map_err(Error::internal)?;
    let name_of = |event: &SagaNodeEvent| NodeName(event.node_id.to_string());
    let failed = events.iter().find_map(|event| match &event.event_type {
        SagaNodeEventType::Failed(error) => Some((name_of(event), error_info(error.clone()))),
        _ => None,
    });
    let stuck = events.iter().find_map(|event| match &event.event_type {
        SagaNodeEventType::UndoFailed(error) => Some((name_of(event), error.to_string())),
        _ => None,
    });
    let state = match (row.state, failed, stuck) {
        (model::SagaState::Done, Some((node, info)), Some((undo_node, undo_error))) => {
            SagaState::Stuck {
                error_node_name: node,
                error_info: info,
                undo_error_node_name: undo_node,
                undo_source_error: undo_error.into(),
            }
        }
        (model::SagaState::Done, Some((node, info)), None) => {
            SagaState::Failed { error_node_name: node, error_info: info }
        }
        (model::SagaState::Done, None, _) => SagaState::Succeeded,
        _ => SagaState::Running,
    };
    Ok(Saga {
        id: row.id,
        state,
        name: Some(row.name),
        owner: Some(row.owner),
        current_nodes: None,
        time_created: Some(row.time_created),
    })
}
