//! Attaching a floating IP, or giving an instance an ephemeral one.
//!
//! | node | does | undo |
//! | --- | --- | --- |
//! | begin | checks everything and takes the address (`attaching`), in one transaction, which also says where the instance runs; an ephemeral address is allocated | `detached` again; an ephemeral address is released |
//! | nat | writes the NAT entry, if the instance still runs there, and pushes it | removes that entry, and pushes |
//! | port guard | nothing | takes the address off the port, until the sled says so or the VMM is no more |
//! | port | tells the sled to add the address to the port | |
//! | complete | `attached`, if the address is still ours | |
//!
//! For a stopped instance the three in the middle do nothing.

use super::retry::{SledOutcome, call_sled, decided, until_done};
use super::{NexusSaga, actions, failed, guard, nothing_to_undo};
use crate::db::address::PoolRequest;
use crate::db::attach::Begun;
use db_model::ExternalIp;
use nexus_common::Error;
use serde::{Deserialize, Serialize};
use steno::{ActionContext, ActionError, Dag, DagBuilder, DagBuilderError, Node, SagaName};
use uuid::Uuid;

/// What to attach.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Attach {
    Floating,
    /// From this pool, under the id in the parameters.
    Ephemeral {
        pool: PoolRequest,
    },
}

/// The saga's parameters.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Params {
    pub what: Attach,
    pub ip_id: Uuid,
    pub instance_id: Uuid,
}

/// Times that the sled is asked to add the address.
const PORT_TRIES: u32 = 3;

actions! {
    BEGIN = "external_ip_attach.begin", begin, undo_begin;
    NAT = "external_ip_attach.nat", nat, undo_nat;
    PORT_GUARD = "external_ip_attach.port_guard", guard, undo_port;
    PORT = "external_ip_attach.port", port, nothing_to_undo;
    COMPLETE = "external_ip_attach.complete", complete, nothing_to_undo;
}

/// The saga's graph.
pub fn dag() -> Result<Dag, DagBuilderError> {
    let mut builder = DagBuilder::new(SagaName::new("external-ip-attach"));
    builder.append(Node::action("begin", "Begin", &**BEGIN));
    builder.append(Node::action("nat", "Nat", &**NAT));
    builder.append(Node::action("port_guard", "PortGuard", &**PORT_GUARD));
    builder.append(Node::action("port", "Port", &**PORT));
    builder.append(Node::action("complete", "Complete", &**COMPLETE));
    builder.build()
}

/// The second time, the address is in our hands already, and is the answer.
async fn begin(sagactx: ActionContext<NexusSaga>) -> Result<Begun, ActionError> {
    let ctx = sagactx.user_data();
    let params: Params = sagactx.saga_params()?;
    let (ip, instance) = (params.ip_id, params.instance_id);
    let begin = || async {
        match &params.what {
            Attach::Floating => ctx.datastore.begin_attach_floating(ctx.saga, ip, instance).await,
            Attach::Ephemeral { pool } => {
                ctx.datastore.begin_attach_ephemeral(ctx.saga, ip, instance, pool.clone()).await
            }
        }
    };
    decided(ctx, "begin the attach", begin).await
}

/// Only an address that is still in our hands is put back.
async fn undo_begin(sagactx: ActionContext<NexusSaga>) -> Result<(), anyhow::Error> {
    let ctx = sagactx.user_data();
    if let Begun::Moving { ip, .. } = sagactx.lookup::<Begun>("begin")? {
        let undo = || ctx.datastore.undo_begin_attach(ctx.saga, ip.id);
        let addresses = until_done(ctx, "put the address back", undo).await;
        ctx.dataplane.push_nat(&addresses).await;
    }
    Ok(())
}

/// The second time, the entry is there and is left.
async fn nat(sagactx: ActionContext<NexusSaga>) -> Result<Option<Uuid>, ActionError> {
    let ctx = sagactx.user_data();
    let Begun::Moving { ip, instance_id, location: Some(location) } = sagactx.lookup("begin")?
    else {
        return Ok(None);
    };
    let add = || ctx.datastore.nat_add(ctx.saga, ip.id, instance_id, location);
    let entry = decided(ctx, "add the NAT entry", add).await?;
    ctx.dataplane.push_nat(&[ip.ip.0]).await;
    Ok(entry)
}

/// Removes the entry by its id: one that another saga has put in its place is not ours.
async fn undo_nat(sagactx: ActionContext<NexusSaga>) -> Result<(), anyhow::Error> {
    let ctx = sagactx.user_data();
    if let Some(entry) = sagactx.lookup::<Option<Uuid>>("nat")? {
        let undo = || ctx.datastore.nat_remove_entry(ctx.saga, entry);
        if let Some(address) = until_done(ctx, "remove the NAT entry", undo).await {
            ctx.dataplane.push_nat(&[address]).await;
        }
    }
    Ok(())
}

/// Adding an address that the port has is fine, so a second time is.
async fn port(sagactx: ActionContext<NexusSaga>) -> Result<(), ActionError> {
    let ctx = sagactx.user_data();
    let Begun::Moving { ip, instance_id, location: Some(location) } = sagactx.lookup("begin")?
    else {
        return Ok(());
    };
    let (kind, address) = (ip.kind, ip.ip.0);
    let call = |agent: crate::dataplane::sled::SledAgent| async move {
        agent.add_external_ip(location.vmm_id, kind, address).await
    };
    let _turn = ctx.dataplane.port_turns.wait(location.vmm_id).await;
    match call_sled(ctx, location, instance_id, Some(PORT_TRIES), call).await {
        SledOutcome::Done(()) => Ok(()),
        SledOutcome::VmmGone => Err(failed(Error::busy("the instance has stopped or failed"))),
        SledOutcome::GaveUp(error) => Err(failed(Error::unavailable(error))),
    }
}

/// Until the sled says that the port does not have the address, it is not free for another
/// instance. Taking off what is not there is fine.
async fn undo_port(sagactx: ActionContext<NexusSaga>) -> Result<(), anyhow::Error> {
    let ctx = sagactx.user_data();
    let Begun::Moving { ip, instance_id, location: Some(location) } =
        sagactx.lookup::<Begun>("begin")?
    else {
        return Ok(());
    };
    let (kind, address) = (ip.kind, ip.ip.0);
    let call = |agent: crate::dataplane::sled::SledAgent| async move {
        agent.remove_external_ip(location.vmm_id, kind, address).await
    };
    let _turn = ctx.dataplane.port_turns.wait(location.vmm_id).await;
    call_sled(ctx, location, instance_id, None, call).await;
    Ok(())
}

/// The second time, the address is attached to the instance, and is the answer.
async fn complete(sagactx: ActionContext<NexusSaga>) -> Result<ExternalIp, ActionError> {
    let ctx = sagactx.user_data();
    match sagactx.lookup("begin")? {
        Begun::AlreadySo(ip) => Ok(*ip),
        Begun::Moving { ip, instance_id, .. } => {
            let complete = || ctx.datastore.complete_attach(ctx.saga, ip.id, instance_id);
            decided(ctx, "complete the attach", complete).await
        }
    }
}
