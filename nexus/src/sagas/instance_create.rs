//! Creating an instance, and starting it if that is wanted.
//!
//! | node | does | undo |
//! | --- | --- | --- |
//! | records | makes the instance with its interfaces, addresses and disks, in one transaction | |
//! | … | the nodes of starting an instance | theirs |
//!
//! The records have no undo: either all are made, or none. If the instance cannot be started, it
//! is there, and stopped.

use super::retry::decided;
use super::{NexusSaga, actions, instance_start, nothing_to_undo};
use crate::db::instance::NewInstance;
use db_model::Instance;
use serde::{Deserialize, Serialize};
use steno::{ActionContext, ActionError, Dag, DagBuilder, DagBuilderError, Node, SagaName};

/// The saga's parameters.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Params {
    pub new: NewInstance,
    pub start: instance_start::Params,
}

/// The node whose failure means that there is no instance.
pub const RECORDS: &str = "records";

actions! {
    CREATE_RECORDS = "instance_create.records", records, nothing_to_undo;
}

/// The saga's graph.
pub fn dag(start: bool) -> Result<Dag, DagBuilderError> {
    let mut builder = DagBuilder::new(SagaName::new("instance-create"));
    builder.append(Node::action(RECORDS, "Records", &**CREATE_RECORDS));
    if start {
        instance_start::append_nodes(&mut builder);
    }
    builder.build()
}

/// The second time, the instance is there, and is the answer.
async fn records(sagactx: ActionContext<NexusSaga>) -> Result<Instance, ActionError> {
    let ctx = sagactx.user_data();
    let params: Params = sagactx.saga_params()?;
    let create = || ctx.datastore.instance_create(ctx.saga, params.new.clone());
    decided(ctx, "make the instance's records", create).await
}
