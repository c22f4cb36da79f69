//! What an operator sees and does: sagas, NAT changes, and the collection of what is old.

use super::Nexus;
use crate::db::now;
use chrono::TimeDelta;
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
        let age = TimeDelta::seconds(self.config.sagas.keep_finished_secs as i64);
        let before = now() - age;
        let mut deleted = 0;
        loop {
            let batch = self.datastore.sagas_collect(before, BATCH).await?;
            deleted += batch;
            if (batch as i64) < BATCH {
                return Ok(deleted);
            }
        }
    }

    /// Deletes removed NAT entries that every switch has passed.
    pub(crate) async fn collect_nat(&self) -> Result<usize, Error> {
        let switches = self.dataplane.switches();
        let slots: Vec<String> = switches.iter().map(|switch| switch.slot().to_string()).collect();
        self.datastore.nat_collect(slots, BATCH).await
    }
}
