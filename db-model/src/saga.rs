//! Sagas, their events, and who runs them.

use crate::columns::text_enum;
use crate::schema::{saga, saga_node_event};
use chrono::{DateTime, Utc};
use diesel::{Insertable, Queryable, Selectable};
use uuid::Uuid;

text_enum! {
    /// How far a saga is, as steno says.
    SagaState {
        Running => "running",
        Unwinding => "unwinding",
        Done => "done",
    }
}

/// A saga.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = saga)]
pub struct Saga {
    pub id: Uuid,
    pub name: String,
    /// The graph of nodes, with the parameters.
    pub dag: serde_json::Value,
    pub state: SagaState,
    /// The SEC that made it.
    pub creator: Uuid,
    /// The SEC that runs it.
    pub owner: Uuid,
    /// Grows when the owner changes; every write of the saga's records names it.
    pub adopt_generation: i64,
    pub time_created: DateTime<Utc>,
    pub time_adopted: DateTime<Utc>,
    pub time_done: Option<DateTime<Utc>>,
}

/// An entry of a saga's log.
#[derive(Clone, Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = saga_node_event)]
pub struct SagaNodeEvent {
    pub saga_id: Uuid,
    pub node_id: i64,
    /// The event's kind; a node has each at most once.
    pub kind: String,
    /// The event, as steno writes it.
    pub event: serde_json::Value,
    pub sec_id: Uuid,
    pub time_created: DateTime<Utc>,
}
