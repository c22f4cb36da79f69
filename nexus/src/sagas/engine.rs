//! Running sagas: new ones, and those that another process left unfinished.
//!
//! Each saga runs under a steno coordinator of its own, made for it and dropped with it. A
//! coordinator keeps every saga that it ever ran, and runs their store's writes in one task; with
//! one for each saga, memory does not grow with the sagas that were run, and no saga waits behind
//! another's write. It costs a task and two channels.

use super::faults::{Fault, Faults};
use super::ownership::{Lease, Ownership};
use super::store::Store;
use super::{NexusSaga, SagaContext, registry};
use crate::background::Activator;
use crate::config::SagaConfig;
use crate::dataplane::Dataplane;
use crate::db::Datastore;
use crate::db::saga::{Owner, SagaRef, taken_over};
use crate::metrics::{Metrics, SagaMeter};
use db_model::{Saga, SagaState};
use newtype_uuid::GenericUuid;
use nexus_common::Error;
use serde::Serialize;
use slog::{Drain, Logger, error, info, o};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use steno::{
    ActionRegistry, Dag, SagaDag, SagaId, SagaNodeEvent, SagaResult, SagaResultOk, SecClient,
};
use tokio::time::Instant;
use uuid::Uuid;

/// The longest that a caller waits for a saga. The saga itself goes on.
const WAIT: Duration = Duration::from_secs(25);
/// Sagas that are taken over at once.
const ADOPT_BATCH: i64 = 64;

/// Age from which a saga of ours that is not run is taken for neglected. It is run from before its
/// first record is written, so this is only for the time that writing takes.
const NEGLECTED_AFTER: Duration = Duration::from_secs(30);

/// The sagas that this process runs.
#[derive(Debug, Default)]
struct Running(Mutex<HashSet<Uuid>>);

impl Running {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<Uuid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a saga did not succeed.
#[derive(Clone, Debug)]
pub struct SagaFailure {
    /// The node whose action failed; none if it was not a node's.
    pub node: Option<String>,
    pub error: Error,
}

impl From<SagaFailure> for Error {
    fn from(failure: SagaFailure) -> Error {
        failure.error
    }
}

impl From<Error> for SagaFailure {
    fn from(error: Error) -> Self {
        SagaFailure { node: None, error }
    }
}

/// Runs sagas, as one owner of sagas in the database.
pub struct SagaEngine {
    sec_id: Uuid,
    nexus_id: Uuid,
    lease: Arc<Lease>,
    lease_length: Duration,
    registry: Arc<ActionRegistry<NexusSaga>>,
    datastore: Arc<Datastore>,
    dataplane: Arc<Dataplane>,
    v2p: Arc<Activator>,
    metrics: Arc<Metrics>,
    log: Logger,
    running: Arc<Running>,
    /// What tests do to sagas.
    pub faults: Arc<Faults>,
}

impl std::fmt::Debug for SagaEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SagaEngine").field("sec_id", &self.sec_id).finish_non_exhaustive()
    }
}

/// What steno starts from.
enum Beginning {
    New(Arc<SagaDag>),
    Resumed(serde_json::Value, Vec<SagaNodeEvent>),
}

impl SagaEngine {
    /// Registers a new owner of sagas. Each start of a process is a new one.
    pub async fn new(
        nexus_id: Uuid,
        config: &SagaConfig,
        datastore: Arc<Datastore>,
        dataplane: Arc<Dataplane>,
        v2p: Arc<Activator>,
        metrics: Arc<Metrics>,
        log: &Logger,
    ) -> Result<Self, Error> {
        let sec_id = Uuid::new_v4();
        let lease_length = Duration::from_millis(config.lease_ms);
        let asked = Instant::now();
        datastore.sec_renew(sec_id, nexus_id, lease_length).await?;
        Ok(SagaEngine {
            sec_id,
            nexus_id,
            lease: Arc::new(Lease::granted(asked, lease_length)),
            lease_length,
            registry: Arc::new(registry()),
            datastore,
            dataplane,
            v2p,
            metrics,
            log: log.new(o!("component" => "sagas", "sec" => sec_id.to_string())),
            running: Arc::default(),
            faults: Arc::default(),
        })
    }

    /// How long the lease lasts if it is not renewed; zero if it has run out.
    pub fn lease_remaining(&self) -> Duration {
        self.lease.remaining()
    }

    /// Extends the lease, which others respect until it is over.
    pub async fn renew_lease(&self) -> Result<(), Error> {
        let asked = Instant::now();
        self.datastore.sec_renew(self.sec_id, self.nexus_id, self.lease_length).await?;
        self.lease.renewed(asked, self.lease_length);
        Ok(())
    }

    /// Runs a new saga and waits for its outcome. A caller that goes away leaves it to finish;
    /// one that has waited long gets a 503, and the saga goes on.
    pub async fn run<P: Serialize>(
        &self,
        dag: Dag,
        params: &P,
    ) -> Result<SagaResultOk, SagaFailure> {
        let params = serde_json::to_value(params).map_err(Error::internal)?;
        let id = SagaId::new_v4();
        let owner = Owner { sec_id: self.sec_id, adopt_generation: 1 };
        let dag = Arc::new(SagaDag::new(dag, params));
        let name = dag.saga_name().to_string();
        let meter = SagaMeter::begin(self.metrics.clone(), &name, false);
        let planned = Planned { dag: Some(dag.clone()), faults: self.faults.take(&name) };
        let run = self.runner(id, owner, meter, planned);
        let handle = tokio::spawn(run.run(Beginning::New(dag)));
        match tokio::time::timeout(WAIT, handle).await {
            Ok(Ok(result)) => outcome(result?),
            Ok(Err(panic)) => Err(Error::internal(panic).into()),
            Err(_) => Err(Error::busy("the operation takes long and is still going on").into()),
        }
    }

    /// Takes over the sagas of earlier lives of this Nexus and of Nexuses whose lease is over.
    /// Each is resumed on its own: one that cannot be does not keep the others. Returns how many
    /// were taken.
    pub async fn take_over(&self) -> Result<usize, Error> {
        let mut taken = 0;
        for sec in self.datastore.secs_to_succeed(self.sec_id, self.nexus_id).await? {
            loop {
                let sagas = self
                    .datastore
                    .sagas_adopt(sec, self.sec_id, self.nexus_id, ADOPT_BATCH)
                    .await?;
                if sagas.is_empty() {
                    break;
                }
                taken += sagas.len();
                for saga in sagas {
                    self.resume(saga);
                }
            }
            self.datastore.sec_delete_if_idle(sec, self.nexus_id).await?;
        }
        Ok(taken + self.take_up_neglected().await?)
    }

    /// Resumes sagas that are ours and that nobody runs: their first record was written, but the
    /// answer of the database was lost, so that they were never begun.
    async fn take_up_neglected(&self) -> Result<usize, Error> {
        let mut taken = 0;
        for id in self.datastore.sagas_older_than(self.sec_id, NEGLECTED_AFTER).await? {
            if self.running.lock().contains(&id) {
                continue;
            }
            if let Some(saga) = self.datastore.saga_readopt(id, self.sec_id).await? {
                taken += 1;
                self.resume(saga);
            }
        }
        Ok(taken)
    }

    fn resume(&self, saga: Saga) {
        info!(self.log, "saga is resumed"; "saga" => %saga.id, "name" => &saga.name);
        let datastore = self.datastore.clone();
        let log = self.log.clone();
        let owner = Owner { sec_id: self.sec_id, adopt_generation: saga.adopt_generation };
        self.metrics.sagas.taken_over.at([&saga.name]).inc();
        let unwinding = saga.state == SagaState::Unwinding;
        let meter = SagaMeter::begin(self.metrics.clone(), &saga.name, unwinding);
        let id = SagaId::from_untyped_uuid(saga.id);
        let run = self.runner(id, owner, meter, Planned::default());
        tokio::spawn(async move {
            let events = loop {
                match datastore.saga_events(saga.id).await {
                    Ok(rows) => break rows,
                    Err(error) => {
                        error!(log, "saga's events cannot be read; trying again";
                            "saga" => %saga.id, "error" => %error);
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    }
                }
            };
            let events: Result<Vec<SagaNodeEvent>, _> =
                events.into_iter().map(|row| serde_json::from_value(row.event)).collect();
            let result = match events {
                Ok(events) => run.run(Beginning::Resumed(saga.dag, events)).await,
                Err(error) => Err(Error::internal(error)),
            };
            if let Err(error) = result {
                error!(log, "saga cannot be resumed"; "saga" => %saga.id, "error" => %error);
            }
        });
    }

    fn runner(&self, id: SagaId, owner: Owner, meter: Arc<SagaMeter>, planned: Planned) -> Runner {
        // steno writes whole parameters to its log below this level.
        let quiet = slog::LevelFilter::new(self.log.clone(), slog::Level::Warning).fuse();
        let saga = SagaRef { id: id.into_untyped_uuid(), owner };
        let ownership = Arc::new(Ownership::new(saga, self.lease.clone(), self.log.clone()));
        let store = Store {
            datastore: self.datastore.clone(),
            ownership: ownership.clone(),
            meter: meter.clone(),
            planned: planned.clone(),
            faults: self.faults.clone(),
            log: self.log.clone(),
        };
        Runner {
            id,
            context: Arc::new(SagaContext {
                saga,
                ownership,
                datastore: self.datastore.clone(),
                dataplane: self.dataplane.clone(),
                v2p: self.v2p.clone(),
                meter,
                log: self.log.clone(),
            }),
            registry: self.registry.clone(),
            store: Arc::new(store),
            log: Logger::root(quiet, o!()),
            running: self.running.clone(),
            planned,
        }
    }
}

/// The faults that a test has planned for one saga.
#[derive(Clone, Debug, Default)]
pub(super) struct Planned {
    dag: Option<Arc<SagaDag>>,
    faults: Vec<Fault>,
}

impl Planned {
    /// Whether the process dies before it records this event.
    pub(super) fn is_crash_at(&self, event: &SagaNodeEvent) -> bool {
        let at = |dag: &Arc<SagaDag>| self.faults.iter().any(|fault| fault.is_crash_at(dag, event));
        self.dag.as_ref().is_some_and(at)
    }

    async fn inject(&self, sec: &SecClient, id: SagaId) -> Result<(), anyhow::Error> {
        if let Some(dag) = &self.dag {
            for fault in &self.faults {
                fault.inject(sec, id, dag).await?;
            }
        }
        Ok(())
    }
}

/// One run of one saga.
struct Runner {
    id: SagaId,
    context: Arc<SagaContext>,
    registry: Arc<ActionRegistry<NexusSaga>>,
    store: Arc<Store>,
    log: Logger,
    running: Arc<Running>,
    planned: Planned,
}

impl Runner {
    async fn run(self, beginning: Beginning) -> Result<SagaResult, Error> {
        self.running.lock().insert(self.context.saga.id);
        let sec = steno::sec(self.log.clone(), self.store.clone());
        let result = self.run_on(&sec, beginning).await;
        sec.shutdown().await;
        self.running.lock().remove(&self.context.saga.id);
        if self.context.ownership.is_lost() {
            self.context.meter.lost();
            return Err(taken_over());
        }
        match &result {
            Ok(result) => self.report(result),
            Err(_) => self.context.meter.finished("not_begun"),
        }
        result
    }

    async fn run_on(&self, sec: &SecClient, beginning: Beginning) -> Result<SagaResult, Error> {
        let (context, registry) = (self.context.clone(), self.registry.clone());
        let result = match beginning {
            Beginning::New(dag) => sec.saga_create(self.id, context, dag, registry).await,
            Beginning::Resumed(dag, events) => {
                sec.saga_resume(self.id, context, dag, registry, events).await
            }
        };
        let result = result.map_err(|error| Error::unavailable(format!("saga: {error:#}")))?;
        self.planned.inject(sec, self.id).await.map_err(Error::internal)?;
        sec.saga_start(self.id).await.map_err(Error::internal)?;
        Ok(result.await)
    }

    fn report(&self, result: &SagaResult) {
        let (log, meter) = (&self.context.log, &self.context.meter);
        match &result.kind {
            Ok(_) => {
                meter.finished("succeeded");
                slog::debug!(log, "saga succeeded"; "saga" => %self.id);
            }
            Err(failure) if failure.undo_failure.is_some() => {
                meter.finished("stuck");
                error!(log, "saga is stuck: an undo failed"; "saga" => %self.id,
                    "node" => ?failure.error_node_name, "undo" => ?failure.undo_failure);
            }
            Err(failure) => {
                meter.finished("undone");
                info!(log, "saga was undone"; "saga" => %self.id,
                    "node" => ?failure.error_node_name, "error" => ?failure.error_source);
            }
        }
    }
}

fn outcome(result: SagaResult) -> Result<SagaResultOk, SagaFailure> {
    result.kind.map_err(|failure| SagaFailure {
        node: Some(failure.error_node_name.as_ref().to_string()),
        error: failure.error_source.convert::<Error>().unwrap_or_else(Error::internal),
    })
}
