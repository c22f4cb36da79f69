//! Where steno keeps a saga's records: the database, on the condition that the saga is ours.

use super::ownership::Ownership;
use crate::db::Datastore;
use crate::db::now;
use crate::db::saga::WriteOutcome;
use async_trait::async_trait;
use db_model::{Saga, SagaNodeEvent, SagaState};
use newtype_uuid::GenericUuid;
use nexus_common::Error;
use slog::{Logger, warn};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use steno::{SagaCachedState, SagaCreateParams, SagaId, SagaNodeEvent as StenoEvent, SecStore};

/// The store of one saga in the hands of one owner.
#[derive(Debug)]
pub(super) struct Store {
    pub datastore: Arc<Datastore>,
    pub ownership: Arc<Ownership>,
    pub log: Logger,
}

/// Pause between two tries of a write.
const RETRY: Duration = Duration::from_millis(200);

impl Store {
    /// Writes, however long it takes: steno goes on as soon as this returns. A write that finds
    /// the saga in other hands returns, too, without having written anything; what steno does then
    /// has no effect any more.
    async fn persist<F, Fut>(&self, what: &str, id: SagaId, mut write: F)
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<WriteOutcome, Error>>,
    {
        while !self.ownership.is_lost() {
            match write().await {
                Ok(WriteOutcome::Written) => return,
                Ok(WriteOutcome::NotOwned) => self.ownership.lose(),
                Err(error) => {
                    warn!(self.log, "saga record cannot be written; trying again";
                        "saga" => %id, "record" => what, "error" => %error);
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
    }
}

fn state(state: SagaCachedState) -> SagaState {
    match state {
        SagaCachedState::Running => SagaState::Running,
        SagaCachedState::Unwinding => SagaState::Unwinding,
        SagaCachedState::Done => SagaState::Done,
    }
}

#[async_trait]
impl SecStore for Store {
    async fn saga_create(&self, params: SagaCreateParams) -> Result<(), anyhow::Error> {
        let created = now();
        let row = Saga {
            id: params.id.into_untyped_uuid(),
            name: params.name.to_string(),
            dag: params.dag,
            state: state(params.state),
            creator: self.ownership.saga.owner.sec_id,
            owner: self.ownership.saga.owner.sec_id,
            adopt_generation: self.ownership.saga.owner.adopt_generation,
            time_created: created,
            time_adopted: created,
            time_done: None,
        };
        Ok(self.datastore.saga_create(row).await?)
    }

    async fn record_event(&self, event: StenoEvent) {
        let id = event.saga_id;
        let written = match serde_json::to_value(&event) {
            Ok(written) => written,
            Err(error) => {
                // Cannot happen: events are made of JSON. Going on without a record could not be
                // recovered from, so this saga stands still until the process is restarted.
                warn!(self.log, "saga event is not JSON"; "saga" => %id, "error" => %error);
                return std::future::pending().await;
            }
        };
        let row = SagaNodeEvent {
            saga_id: id.into_untyped_uuid(),
            node_id: i64::from(u32::from(event.node_id)),
            kind: event.event_type.label().to_string(),
            event: written,
            sec_id: self.ownership.saga.owner.sec_id,
            time_created: now(),
        };
        let owner = self.ownership.saga.owner;
        let write = || self.datastore.saga_event_create(row.clone(), owner);
        self.persist("event", id, write).await;
    }

    async fn saga_update(&self, id: SagaId, update: SagaCachedState) {
        let write = || self.datastore.saga_set_state(self.ownership.saga, state(update));
        self.persist("state", id, write).await;
    }
}
