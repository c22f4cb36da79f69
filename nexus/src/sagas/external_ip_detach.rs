//! Taking a floating or an ephemeral IP off an instance.
//!
//! | node | does | undo |
//! | --- | --- | --- |
//! | begin | checks everything and takes the address (`detaching`), in one transaction, which also says where the instance runs | `attached` again, if the address is still ours |
//! | nat guard | nothing | writes the NAT entry again, if the instance still runs there, and pushes it |
//! | nat | removes the NAT entry, and pushes | |
//! | port guard | nothing | puts the address on the port again, best-effort |
//! | port | tells the sled to take the address off the port; a sled that refuses is asked again | |
//! | complete | `detached`, and an ephemeral address is released | |
//!
//! For a stopped instance those in the middle do nothing. A VMM that is no more has no port, and
//! the address is off it. An address is not reported as detached while a port may still have it.

use super::retry::{SledOutcome, call_sled, decided, until_done};
use super::{NexusSaga, actions, failed, guard, nothing_to_undo};
use crate::dataplane::sled::SledAgent;
use crate::db::attach::Begun;
use db_model::IpVersion;
use nexus_common::Error;
use serde::{Deserialize, Serialize};
use steno::{ActionContext, ActionError, Dag, DagBuilder, DagBuilderError, Node, SagaName};
use uuid::Uuid;

/// What to detach.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Detach {
    Floating {
        ip_id: Uuid,
    },
    /// The one of this version, or the only one.
    Ephemeral {
        version: Option<IpVersion>,
    },
}

/// The saga's parameters.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Params {
    pub what: Detach,
    pub instance_id: Uuid,
}

/// Times that the sled is asked to take the address off before the detach is undone.
const PORT_TRIES: u32 = 7;
/// Times that the sled is asked to put it on again.
const UNDO_TRIES: u32 = 5;

actions! {
    BEGIN = "external_ip_detach.begin", begin, undo_begin;
    NAT_GUARD = "external_ip_detach.nat_guard", guard, undo_nat;
    NAT = "external_ip_detach.nat", nat, nothing_to_undo;
    PORT_GUARD = "external_ip_detach.port_guard", guard, undo_port;
    PORT = "external_ip_detach.port", port, nothing_to_undo;
    COMPLETE = "external_ip_detach.complete", complete, nothing_to_undo;
}

/// The saga's graph.
pub fn dag() -> Result<Dag, DagBuilderError> {
    let mut builder = DagBuilder::new(SagaName::new("external-ip-detach"));
    builder.append(Node::action("begin", "Begin", &**BEGIN));
    builder.append(Node::action("nat_guard", "NatGuard", &**NAT_GUARD));
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
    let begin = || async {
        match params.what {
            Detach::Floating { ip_id } => {
                ctx.datastore.begin_detach_floating(ctx.saga, ip_id, params.instance_id).await
            }
            Detach::Ephemeral { version } => {
                ctx.datastore.begin_detach_ephemeral(ctx.saga, params.instance_id, version).await
            }
        }
    };
    decided(ctx, "begin the detach", begin).await
}

/// Only an address that is still in our hands is left attached.
async fn undo_begin(sagactx: ActionContext<NexusSaga>) -> Result<(), anyhow::Error> {
    let ctx = sagactx.user_data();
    if let Begun::Moving { ip, .. } = sagactx.lookup::<Begun>("begin")? {
        let undo = || ctx.datastore.undo_begin_detach(ctx.saga, ip.id);
        until_done(ctx, "leave the address attached", undo).await;
    }
    Ok(())
}

/// Removing what is not there is fine, so a second time is.
async fn nat(sagactx: ActionContext<NexusSaga>) -> Result<(), ActionError> {
    let ctx = sagactx.user_data();
    if let Begun::Moving { ip, .. } = sagactx.lookup("begin")? {
        let remove = || ctx.datastore.nat_remove_ip(ctx.saga, ip.id);
        let addresses = decided(ctx, "remove the NAT entries", remove).await?;
        ctx.dataplane.push_nat(&addresses).await;
    }
    Ok(())
}

/// An instance that has stopped or moved meanwhile has its entries from whoever did that.
async fn undo_nat(sagactx: ActionContext<NexusSaga>) -> Result<(), anyhow::Error> {
    let ctx = sagactx.user_data();
    let Begun::Moving { ip, instance_id, location: Some(location) } =
        sagactx.lookup::<Begun>("begin")?
    else {
        return Ok(());
    };
    let undo = || async {
        match ctx.datastore.nat_add(ctx.saga, ip.id, instance_id, location).await {
            // The address is no longer ours, or the instance is not there any more.
            Err(Error::NotFound { .. } | Error::InvalidRequest { .. } | Error::Busy { .. }) => {
                Ok(None)
            }
            other => other,
        }
    };
    if until_done(ctx, "write the NAT entry again", undo).await.is_some() {
        ctx.dataplane.push_nat(&[ip.ip.0]).await;
    }
    Ok(())
}

/// Taking off what is not there is fine, so a second time is.
async fn port(sagactx: ActionContext<NexusSaga>) -> Result<(), ActionError> {
    let ctx = sagactx.user_data();
    let Begun::Moving { ip, instance_id, location: Some(location) } = sagactx.lookup("begin")?
    else {
        return Ok(());
    };
    let (kind, address) = (ip.kind, ip.ip.0);
    let call = |agent: SledAgent| async move {
        agent.remove_external_ip(location.vmm_id, kind, address).await
    };
    let _turn = ctx.dataplane.port_turns.wait(location.vmm_id).await;
    match call_sled(ctx, location, instance_id, Some(PORT_TRIES), call).await {
        SledOutcome::Done(()) | SledOutcome::VmmGone => Ok(()),
        SledOutcome::GaveUp(error) => Err(failed(Error::unavailable(error))),
    }
}

/// The sled did not answer when asked to take the address off, so it may not answer now either;
/// what the port lacks then, the port reconciler puts right.
async fn undo_port(sagactx: ActionContext<NexusSaga>) -> Result<(), anyhow::Error> {
    let ctx = sagactx.user_data();
    let Begun::Moving { ip, instance_id, location: Some(location) } =
        sagactx.lookup::<Begun>("begin")?
    else {
        return Ok(());
    };
    let (kind, address) = (ip.kind, ip.ip.0);
    let call = |agent: SledAgent| async move {
        agent.add_external_ip(location.vmm_id, kind, address).await
    };
    let _turn = ctx.dataplane.port_turns.wait(location.vmm_id).await;
    if let SledOutcome::GaveUp(error) =
        call_sled(ctx, location, instance_id, Some(UNDO_TRIES), call).await
    {
        slog::warn!(ctx.log, "a port may lack an address that stays attached";
            "saga" => %ctx.saga.id, "address" => %ip.ip, "error" => %error);
    }
    Ok(())
}

/// The second time, the address is no longer in our hands, and nothing is done.
async fn complete(sagactx: ActionContext<NexusSaga>) -> Result<(), ActionError> {
    let ctx = sagactx.user_data();
    if let Begun::Moving { ip, .. } = sagactx.lookup("begin")? {
        let complete = || ctx.datastore.complete_detach(ctx.saga, ip.id);
        decided(ctx, "complete the detach", complete).await?;
    }
    Ok(())
}
