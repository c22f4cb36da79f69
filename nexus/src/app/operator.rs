//! What an operator sees and does: sagas, NAT changes, and the collection of what is old.

use super::Nexus;
use crate::db::now;
use chrono::{DateTime, TimeDelta, Utc};
use db_model::{NatEntry, Saga, SagaNodeEvent};
use nexus_common::{Error, PageParams};
use uuid::Uuid;

/// Rows that one run of a collector deletes at once.
const BATCH: i64 = 1000;

impl Nexus {
    /// A page of all sagas, whoever runs them.
    pub async fn saga_list(&self, page: PageParams<Uuid>) -> Result<Vec<Saga>, Error> {
        self.datastore.saga_list(page).await
    }

    /// A saga.
    pub async fn saga(&self, id: Uuid) -> Result<Saga, Error> {
        self.datastore.saga_fetch(id).await
    }

    /// The events of a saga.
    pub async fn saga_events(&self, id: Uuid) -> Result<Vec<SagaNodeEvent>, Error> {
        self.datastore.saga_events(id).await
    }

    /// NAT changes after a generation, for a switch that pulls.
    pub async fn nat_changeset(&self, after: i64, limit: u32) -> Result<Vec<NatEntry>, Error> {
        self.datastore.nat_changeset(after, i64::from(limit)).await
    }

    /// Deletes the records of sagas that finished long ago.
    pub(crate) async fn collect_sagas(&self) -> Result<usize, Error> {
        let before = ago(self.config.sagas.keep_finished_secs);
        in_batches(|| self.datastore.sagas_collect(before, BATCH)).await
    }

    /// Deletes NAT entries that were removed long ago and that every switch has passed.
    pub(crate) async fn collect_nat(&self) -> Result<usize, Error> {
        let before = ago(self.config.dataplane.keep_removed_nat_secs);
        let switches = self.dataplane.switches();
        let slots: Vec<String> = switches.iter().map(|switch| switch.slot().to_string()).collect();
        in_batches(|| self.datastore.nat_collect(slots.clone(), before, BATCH)).await
    }
}

fn ago(secs: u64) -> DateTime<Utc> {
    now() - TimeDelta::seconds(secs as i64)
}

/// Repeats what deletes up to [`BATCH`] rows until there are no more.
async fn in_batches<D: Future<Output = Result<usize, Error>>>(
    delete: impl Fn() -> D,
) -> Result<usize, Error> {
    let mut deleted = 0;
    loop {
        let batch = delete().await?;
        deleted += batch;
        if (batch as i64) < BATCH {
            return Ok(deleted);
        }
    }
}
