//! Starting an instance.
//!
//! | node | does | undo |
//! | --- | --- | --- |
//! | begin | reserves a sled and makes a VMM there the instance's, in one transaction | the instance is stopped again, if it still has that VMM |
//! | nat guard | nothing | removes the instance's NAT entries, if it still has that VMM, and pushes |
//! | nat | writes the NAT entries of all its addresses, unless one is coming or going, and pushes | |
//! | register guard | nothing | tells the sled to forget the VMM |
//! | register | tells the sled all that it needs to run the VMM | |
//! | run | tells the sled to run it; wakes the v2p task | |

use super::retry::{SledOutcome, call_sled, decided, until_done};
use super::{NexusSaga, SagaContext, actions, failed, guard, nothing_to_undo};
use crate::dataplane::firewall::rules_for_instance;
use crate::dataplane::sled::{SledAgent, SledError, VmmRequest};
use crate::dataplane::vmm_spec::{ensure_body, propolis_address};
use crate::db::attach::Location;
use db_model::Vmm;
use nexus_common::Error;
use serde::{Deserialize, Serialize};
use steno::{ActionContext, ActionError, Dag, DagBuilder, DagBuilderError, Node, SagaName};
use uuid::Uuid;

/// The saga's parameters.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Params {
    pub instance_id: Uuid,
    pub vmm_id: Uuid,
    /// Sleds that have refused this instance just now.
    pub avoid: Vec<Uuid>,
}

impl Params {
    /// Those of a start with a new VMM.
    pub fn new(instance_id: Uuid, avoid: Vec<Uuid>) -> Self {
        Self { instance_id, vmm_id: Uuid::new_v4(), avoid }
    }
}

/// Times that the sled is asked to take the VMM.
const REGISTER_TRIES: u32 = 2;
/// Times that the sled is told to forget it.
const UNREGISTER_TRIES: u32 = 6;

actions! {
    BEGIN = "instance_start.begin", begin, undo_begin;
    NAT_GUARD = "instance_start.nat_guard", guard, undo_nat;
    NAT = "instance_start.nat", nat, nothing_to_undo;
    REGISTER_GUARD = "instance_start.register_guard", guard, undo_register;
    REGISTER = "instance_start.register", register_vmm, nothing_to_undo;
    RUN = "instance_start.run", run, nothing_to_undo;
}

/// The nodes whose failure means that this sled, rather than this instance, is the obstacle.
pub const SLED_NODES: [&str; 2] = ["register", "run"];

/// Appends the saga's nodes. Whoever does so has parameters with a field `start`.
pub(super) fn append_nodes(builder: &mut DagBuilder) {
    builder.append(Node::action("vmm", "BeginStart", &**BEGIN));
    builder.append(Node::action("nat_guard", "NatGuard", &**NAT_GUARD));
    builder.append(Node::action("nat", "Nat", &**NAT));
    builder.append(Node::action("register_guard", "RegisterGuard", &**REGISTER_GUARD));
    builder.append(Node::action("register", "Register", &**REGISTER));
    builder.append(Node::action("run", "Run", &**RUN));
}

/// The saga's graph.
pub fn dag() -> Result<Dag, DagBuilderError> {
    let mut builder = DagBuilder::new(SagaName::new("instance-start"));
    append_nodes(&mut builder);
    builder.build()
}

/// The part of a saga's parameters that the nodes here read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WithStart {
    pub start: Params,
}

fn params(sagactx: &ActionContext<NexusSaga>) -> Result<Params, ActionError> {
    Ok(sagactx.saga_params::<WithStart>()?.start)
}

fn location(vmm: &Vmm) -> Location {
    Location { vmm_id: vmm.id, sled_id: vmm.sled_id }
}

/// The second time, the VMM is the instance's already, and is the answer.
async fn begin(sagactx: ActionContext<NexusSaga>) -> Result<Vmm, ActionError> {
    let ctx = sagactx.user_data();
    let Params { instance_id, vmm_id, avoid } = params(&sagactx)?;
    let begin = || ctx.datastore.begin_start(ctx.saga, instance_id, vmm_id, avoid.clone());
    decided(ctx, "begin the start", begin).await
}

/// An instance that has another VMM, or none, is left as it is.
async fn undo_begin(sagactx: ActionContext<NexusSaga>) -> Result<(), anyhow::Error> {
    let ctx = sagactx.user_data();
    let Params { instance_id, vmm_id, .. } = params(&sagactx)?;
    let undo = || ctx.datastore.undo_begin_start(ctx.saga, instance_id, vmm_id);
    until_done(ctx, "stop the instance again", undo).await;
    ctx.v2p.activate();
    Ok(())
}

/// Entries that are there are left, so a second time is fine.
async fn nat(sagactx: ActionContext<NexusSaga>) -> Result<(), ActionError> {
    let ctx = sagactx.user_data();
    let vmm: Vmm = sagactx.lookup("vmm")?;
    let add = || ctx.datastore.nat_add_all(ctx.saga, vmm.instance_id, vmm.id, vmm.sled_id);
    let addresses = decided(ctx, "add the NAT entries", add).await?;
    ctx.dataplane.push_nat(&addresses).await;
    Ok(())
}

/// Only while the instance still has this VMM are the entries this saga's.
async fn undo_nat(sagactx: ActionContext<NexusSaga>) -> Result<(), anyhow::Error> {
    let ctx = sagactx.user_data();
    let vmm: Vmm = sagactx.lookup("vmm")?;
    let undo = || ctx.datastore.nat_remove_all(ctx.saga, vmm.instance_id, vmm.id);
    let addresses = until_done(ctx, "remove the NAT entries", undo).await;
    ctx.dataplane.push_nat(&addresses).await;
    Ok(())
}

/// What the sled is told of a VMM, from the records as they are now.
pub(super) async fn describe(
    ctx: &SagaContext,
    vmm: &Vmm,
    migration_id: Option<Uuid>,
) -> Result<serde_json::Value, Error> {
    let instance = ctx.datastore.instance_by_id(vmm.instance_id).await?;
    let nics = ctx.datastore.nics_with_networks(vmm.instance_id).await?;
    let ips = ctx.datastore.instance_external_ips(vmm.instance_id).await?;
    let rules = rules_for_instance(&ctx.datastore, &instance.name, &nics).await?;
    let sled = ctx.datastore.sled_fetch(vmm.sled_id).await?;
    let propolis = propolis_address(sled.underlay_address.0);
    Ok(ensure_body(&instance, vmm, propolis, migration_id, &nics, &ips, rules))
}

/// A sled that has the VMM answers with its state, so a second time is fine.
pub(super) async fn register_on_sled(
    ctx: &SagaContext,
    vmm: &Vmm,
    migration_id: Option<Uuid>,
) -> Result<(), Error> {
    let body = describe(ctx, vmm, migration_id).await?;
    let agent = ctx.dataplane.sleds.agent(vmm.sled_id).await?;
    for n in 1.. {
        ctx.ownership.confirm(&ctx.datastore, n > 1).await;
        match agent.vmm_register(vmm.id, body.clone()).await {
            Ok(report) => {
                ctx.datastore.vmm_report(vmm.id, report).await?;
                return Ok(());
            }
            Err(SledError::Refused(message)) => return Err(Error::invalid(message)),
            Err(error) if n >= REGISTER_TRIES => return Err(Error::unavailable(error)),
            Err(_) => {}
        }
    }
    Ok(())
}

async fn register_vmm(sagactx: ActionContext<NexusSaga>) -> Result<(), ActionError> {
    let ctx = sagactx.user_data();
    let vmm: Vmm = sagactx.lookup("vmm")?;
    register_on_sled(ctx, &vmm, None).await.map_err(failed)
}

/// A sled that does not answer is not waited for without end: when it reports a VMM that is no
/// longer known, it is told to end it.
pub(super) async fn unregister_from_sled(ctx: &SagaContext, vmm: &Vmm) {
    let call = |agent: SledAgent| async move { agent.vmm_unregister(vmm.id).await };
    let tries = Some(UNREGISTER_TRIES);
    if let SledOutcome::GaveUp(error) =
        call_sled(ctx, location(vmm), vmm.instance_id, tries, call).await
    {
        slog::warn!(ctx.log, "a sled may still have a VMM that is no longer wanted";
            "saga" => %ctx.saga.id, "vmm" => %vmm.id, "error" => %error);
    }
}

async fn undo_register(sagactx: ActionContext<NexusSaga>) -> Result<(), anyhow::Error> {
    unregister_from_sled(sagactx.user_data(), &sagactx.lookup("vmm")?).await;
    Ok(())
}

/// Asking a VMM that runs to run is fine, so a second time is.
async fn run(sagactx: ActionContext<NexusSaga>) -> Result<(), ActionError> {
    let ctx = sagactx.user_data();
    let vmm: Vmm = sagactx.lookup("vmm")?;
    ctx.v2p.activate();
    let call =
        |agent: SledAgent| async move { agent.vmm_put_state(vmm.id, VmmRequest::Running).await };
    let at = location(&vmm);
    match call_sled(ctx, at, vmm.instance_id, Some(REGISTER_TRIES), call).await {
        SledOutcome::Done(None) => Ok(()),
        SledOutcome::Done(Some(report)) => {
            ctx.datastore.vmm_report(vmm.id, report).await.map_err(failed)?;
            Ok(())
        }
        SledOutcome::VmmGone => Err(failed(Error::busy("the instance's VMM has failed"))),
        SledOutcome::GaveUp(error) => Err(failed(error.into())),
    }
}
