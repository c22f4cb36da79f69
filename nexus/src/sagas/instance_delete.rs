//! Deleting an instance.
//!
//! | node | does | undo |
//! | --- | --- | --- |
//! | records | deletes the instance and all that belongs to it, in one transaction | |
//! | push | tells the switches; wakes the v2p task | |

use super::retry::decided;
use super::{NexusSaga, actions, nothing_to_undo};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use steno::{ActionContext, ActionError, Dag, DagBuilder, DagBuilderError, Node, SagaName};
use uuid::Uuid;

/// The saga's parameters.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Params {
    pub instance_id: Uuid,
}

actions! {
    RECORDS = "instance_delete.records", records, nothing_to_undo;
    PUSH = "instance_delete.push", push, nothing_to_undo;
}

/// The saga's graph.
pub fn dag() -> Result<Dag, DagBuilderError> {
    let mut builder = DagBuilder::new(SagaName::new("instance-delete"));
    builder.append(Node::action("records", "Records", &**RECORDS));
    builder.append(Node::action("push", "Push", &**PUSH));
    builder.build()
}

/// The second time, the instance is gone, and nothing is done. The addresses to push are lost
/// then, and the reconciler finds them.
async fn records(sagactx: ActionContext<NexusSaga>) -> Result<Vec<IpAddr>, ActionError> {
    let ctx = sagactx.user_data();
    let params: Params = sagactx.saga_params()?;
    let delete = || ctx.datastore.instance_delete(ctx.saga, params.instance_id);
    decided(ctx, "delete the instance's records", delete).await
}

/// Pushing what is pushed is fine, so a second time is.
async fn push(sagactx: ActionContext<NexusSaga>) -> Result<(), ActionError> {
    let ctx = sagactx.user_data();
    let addresses: Vec<IpAddr> = sagactx.lookup("records")?;
    ctx.dataplane.push_nat(&addresses).await;
    ctx.v2p.activate();
    Ok(())
}
