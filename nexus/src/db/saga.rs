//! Sagas, their events, and the leases of those who run them.
//!
//! Every write of a saga's records names the SEC that makes it and the adopt generation under
//! which it owns the saga. A SEC that has lost a saga to another therefore writes nothing more,
//! however late its writes arrive.

use super::error::TxResult;
use super::{Datastore, now};
use chrono::{DateTime, Utc};
use db_model::schema::{saga, saga_node_event, sec};
use db_model::{Saga, SagaNodeEvent, SagaState};
use diesel::dsl::{IntervalDsl, exists, not};
use diesel::prelude::*;
use diesel::sql_types::Timestamptz;
use nexus_common::{Error, ResourceType};
use std::time::Duration;
use uuid::Uuid;

/// Whether a write found the saga still owned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    Written,
    NotOwned,
}

/// The right under which a SEC writes a saga's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    pub sec_id: Uuid,
    pub adopt_generation: i64,
}

/// A saga in the hands of one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SagaRef {
    pub id: Uuid,
    pub owner: Owner,
}

/// Refuses a transaction of a saga that is no longer this owner's. With this, a step that runs
/// late, after the saga has gone on elsewhere, changes nothing, whatever has been done since.
pub(super) fn fence(conn: &mut PgConnection, saga: SagaRef) -> TxResult<()> {
    if owns(conn, saga.id, saga.owner)? {
        return Ok(());
    }
    Err(taken_over().into())
}

/// What is said of an operation that another Nexus has taken over.
pub fn taken_over() -> Error {
    Error::busy("the operation was taken over by another Nexus and goes on there")
}

impl Datastore {
    /// Gives a SEC a lease from now on, and records the SEC if it is not known: a new one, or one
    /// that was forgotten when its lease had run out.
    pub async fn sec_renew(&self, id: Uuid, nexus_id: Uuid, lease: Duration) -> Result<(), Error> {
        self.statement("renew lease", move |conn| {
            // By the database's clock, which is the same for all.
            let ends = || {
                diesel::dsl::now.into_sql::<Timestamptz>()
                    + (lease.as_millis() as i64).milliseconds()
            };
            diesel::insert_into(sec::table)
                .values((
                    sec::id.eq(id),
                    sec::nexus_id.eq(nexus_id),
                    sec::time_created.eq(diesel::dsl::now),
                    sec::time_lease_expires.eq(ends()),
                ))
                .on_conflict(sec::id)
                .do_update()
                .set(sec::time_lease_expires.eq(ends()))
                .execute(conn)?;
            Ok(())
        })
        .await
    }

    /// SECs, other than this one, whose sagas are to be taken over: those whose lease is over,
    /// earlier lives of this very Nexus, and those that are not known any more.
    pub async fn secs_to_succeed(&self, id: Uuid, nexus_id: Uuid) -> Result<Vec<Uuid>, Error> {
        const LIMIT: i64 = 1000;
        self.transaction("secs to succeed", move |conn| {
            let mut found: Vec<Uuid> = sec::table
                .filter(sec::id.ne(id))
                .filter(sec::time_lease_expires.lt(diesel::dsl::now).or(sec::nexus_id.eq(nexus_id)))
                .order(sec::time_created)
                .limit(LIMIT)
                .select(sec::id)
                .load(conn)?;
            let unknown: Vec<Uuid> = saga::table
                .filter(saga::state.ne(SagaState::Done))
                .filter(saga::owner.ne(id))
                .filter(not(exists(sec::table.filter(sec::id.eq(saga::owner)))))
                .select(saga::owner)
                .distinct()
                .order(saga::owner)
                .limit(LIMIT)
                .load(conn)?;
            found.extend(unknown);
            Ok(found)
        })
        .await
    }

    /// Takes up to `limit` unfinished sagas of one SEC for another, the SEC `to` of the Nexus
    /// `nexus_id`; none, if the first has renewed its lease meanwhile. Each saga is taken by one
    /// alone.
    pub async fn sagas_adopt(
        &self,
        from: Uuid,
        to: Uuid,
        nexus_id: Uuid,
        limit: i64,
    ) -> Result<Vec<Saga>, Error> {
        self.transaction("adopt sagas", move |conn| {
            let alive: bool = diesel::select(exists(
                sec::table
                    .filter(sec::id.eq(from))
                    .filter(sec::nexus_id.ne(nexus_id))
                    .filter(sec::time_lease_expires.ge(diesel::dsl::now)),
            ))
            .get_result(conn)?;
            if alive {
                return Ok(Vec::new());
            }
            let ids: Vec<Uuid> = saga::table
                .filter(saga::owner.eq(from))
                .filter(saga::state.ne(SagaState::Done))
                .order(saga::id)
                .limit(limit)
                .select(saga::id)
                .load(conn)?;
            Ok(diesel::update(
                saga::table.filter(saga::id.eq_any(ids)).filter(saga::owner.eq(from)),
            )
            .set((
                saga::owner.eq(to),
                saga::adopt_generation.eq(saga::adopt_generation + 1),
                saga::time_adopted.eq(now()),
            ))
            .returning(Saga::as_returning())
            .get_results(conn)?)
        })
        .await
    }

    /// Unfinished sagas that a SEC has owned for this long already; at most a thousand.
    pub async fn sagas_older_than(&self, owner: Uuid, age: Duration) -> Result<Vec<Uuid>, Error> {
        self.statement("old unfinished sagas", move |conn| {
            let before = now() - age;
            Ok(saga::table
                .filter(saga::owner.eq(owner))
                .filter(saga::state.ne(SagaState::Done))
                .filter(saga::time_adopted.lt(before))
                .order(saga::id)
                .limit(1000)
                .select(saga::id)
                .load(conn)?)
        })
        .await
    }

    /// Takes an unfinished saga of a SEC for the same SEC once more, under a new generation.
    pub async fn saga_readopt(&self, id: Uuid, owner: Uuid) -> Result<Option<Saga>, Error> {
        self.statement("adopt own saga", move |conn| {
            let row = saga::table
                .filter(saga::id.eq(id))
                .filter(saga::owner.eq(owner))
                .filter(saga::state.ne(SagaState::Done));
            Ok(diesel::update(row)
                .set((
                    saga::adopt_generation.eq(saga::adopt_generation + 1),
                    saga::time_adopted.eq(now()),
                ))
                .returning(Saga::as_returning())
                .get_result(conn)
                .optional()?)
        })
        .await
    }

    /// Forgets a SEC that owns no unfinished saga and whose lease is over, or that was an earlier
    /// life of this Nexus.
    pub async fn sec_delete_if_idle(&self, id: Uuid, nexus_id: Uuid) -> Result<(), Error> {
        self.transaction("forget sec", move |conn| {
            let busy: bool = diesel::select(exists(
                saga::table.filter(saga::owner.eq(id)).filter(saga::state.ne(SagaState::Done)),
            ))
            .get_result(conn)?;
            if !busy {
                diesel::delete(sec::table.filter(sec::id.eq(id)).filter(
                    sec::time_lease_expires.lt(diesel::dsl::now).or(sec::nexus_id.eq(nexus_id)),
                ))
                .execute(conn)?;
            }
            Ok(())
        })
        .await
    }

    /// Whether a saga is still in its owner's hands.
    pub async fn saga_is_owned(&self, saga: SagaRef) -> Result<bool, Error> {
        self.statement("saga is owned", move |conn| Ok(owns(conn, saga.id, saga.owner)?)).await
    }

    /// Records a new saga.
    pub async fn saga_create(&self, row: Saga) -> Result<(), Error> {
        self.statement("create saga", move |conn| {
            // Again after an answer that was lost.
            diesel::insert_into(saga::table).values(&row).on_conflict_do_nothing().execute(conn)?;
            Ok(())
        })
        .await
    }

    /// Records an event of a saga, once, if the saga is still owned.
    pub async fn saga_event_create(
        &self,
        row: SagaNodeEvent,
        owner: Owner,
    ) -> Result<WriteOutcome, Error> {
        self.transaction("record saga event", move |conn| {
            if !owns(conn, row.saga_id, owner)? {
                return Ok(WriteOutcome::NotOwned);
            }
            diesel::insert_into(saga_node_event::table)
                .values(&row)
                .on_conflict_do_nothing()
                .execute(conn)?;
            Ok(WriteOutcome::Written)
        })
        .await
    }

    /// Records how far a saga is, if it is still owned.
    pub async fn saga_set_state(
        &self,
        saga_ref: SagaRef,
        state: SagaState,
    ) -> Result<WriteOutcome, Error> {
        self.statement("saga state", move |conn| {
            let time_done: Option<DateTime<Utc>> = (state == SagaState::Done).then(now);
            let changed = diesel::update(
                saga::table
                    .filter(saga::id.eq(saga_ref.id))
                    .filter(saga::owner.eq(saga_ref.owner.sec_id))
                    .filter(saga::adopt_generation.eq(saga_ref.owner.adopt_generation)),
            )
            .set((saga::state.eq(state), saga::time_done.eq(time_done)))
            .execute(conn)?;
            Ok(if changed > 0 { WriteOutcome::Written } else { WriteOutcome::NotOwned })
        })
        .await
    }

    /// All events of a saga, read in pages.
    pub async fn saga_events(&self, id: Uuid) -> Result<Vec<SagaNodeEvent>, Error> {
        const PAGE: i64 = 100;
        let mut events: Vec<SagaNodeEvent> = Vec::new();
        loop {
            let after = events.last().map(|event| (event.node_id, event.kind.clone()));
            let page: Vec<SagaNodeEvent> = self
                .statement("saga events", move |conn| {
                    let mut query = saga_node_event::table
                        .filter(saga_node_event::saga_id.eq(id))
                        .select(SagaNodeEvent::as_select())
                        .into_boxed();
                    if let Some((node_id, kind)) = &after {
                        query = query.filter(
                            saga_node_event::node_id.gt(*node_id).or(saga_node_event::node_id
                                .eq(*node_id)
                                .and(saga_node_event::kind.gt(kind.clone()))),
                        );
                    }
                    let order = (saga_node_event::node_id, saga_node_event::kind);
                    Ok(query.order(order).limit(PAGE).load(conn)?)
                })
                .await?;
            let last = (page.len() as i64) < PAGE;
            events.extend(page);
            if last {
                return Ok(events);
            }
        }
    }

    /// The saga with this id.
    pub async fn saga_fetch(&self, id: Uuid) -> Result<Saga, Error> {
        self.statement("saga", move |conn| {
            let found = saga::table
                .filter(saga::id.eq(id))
                .select(Saga::as_select())
                .first(conn)
                .optional()?;
            Ok(found.ok_or_else(|| Error::not_found(ResourceType::SagaDbg, id))?)
        })
        .await
    }

    /// A page of all sagas, by id.
    pub async fn saga_list(
        &self,
        page: nexus_common::PageParams<Uuid>,
    ) -> Result<Vec<Saga>, Error> {
        self.statement("sagas", move |conn| {
            let query = saga::table.select(Saga::as_select());
            Ok(super::paging::page!(query, saga::id, &page, |id: &Uuid| *id).load(conn)?)
        })
        .await
    }

    /// Deletes up to `limit` sagas that finished before `before`, with their events.
    pub async fn sagas_collect(&self, before: DateTime<Utc>, limit: i64) -> Result<usize, Error> {
        self.transaction("collect sagas", move |conn| {
            let old: Vec<Uuid> = saga::table
                .filter(saga::state.eq(SagaState::Done))
                .filter(saga::time_done.lt(before))
                .order(saga::time_done)
                .limit(limit)
                .select(saga::id)
                .load(conn)?;
            diesel::delete(
                saga_node_event::table.filter(saga_node_event::saga_id.eq_any(old.clone())),
            )
            .execute(conn)?;
            Ok(diesel::delete(saga::table.filter(saga::id.eq_any(old))).execute(conn)?)
        })
        .await
    }
}

fn owns(conn: &mut PgConnection, saga_id: Uuid, owner: Owner) -> QueryResult<bool> {
    let found: Option<Uuid> = saga::table
        .filter(saga::id.eq(saga_id))
        .filter(saga::owner.eq(owner.sec_id))
        .filter(saga::adopt_generation.eq(owner.adopt_generation))
        .select(saga::id)
        .first(conn)
        .optional()?;
    Ok(found.is_some())
}
