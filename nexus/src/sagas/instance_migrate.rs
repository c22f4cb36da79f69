//! Beginning the live migration of an instance to another sled.
//!
//! | node | does | undo |
//! | --- | --- | --- |
//! | begin | reserves the sled for a target VMM and records the migration, in one transaction | forgets the migration |
//! | register guard | nothing | tells the target sled to forget the VMM |
//! | register | tells the target sled all that it needs to run the VMM | |
//! | migrate | tells the target to fetch the instance from the source | |
//!
//! Addresses move when the target reports that the migration is completed; until then no address
//! of the instance comes or goes.

use super::instance_start::{register_on_sled, unregister_from_sled};
use super::retry::{SledOutcome, call_sled, decided, until_done};
use super::{NexusSaga, actions, failed, guard, nothing_to_undo};
use crate::dataplane::sled::{SledAgent, VmmRequest};
use crate::dataplane::vmm_spec::propolis_address;
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
    pub migration_id: Uuid,
    pub target: Location,
}

/// Times that the target is told to begin.
const MIGRATE_TRIES: u32 = 2;

actions! {
    BEGIN = "instance_migrate.begin", begin, undo_begin;
    REGISTER_GUARD = "instance_migrate.register_guard", guard, undo_register;
    REGISTER = "instance_migrate.register", register_target, nothing_to_undo;
    MIGRATE = "instance_migrate.migrate", migrate, nothing_to_undo;
}

/// The saga's graph.
pub fn dag() -> Result<Dag, DagBuilderError> {
    let mut builder = DagBuilder::new(SagaName::new("instance-migrate"));
    builder.append(Node::action("vmms", "BeginMigrate", &**BEGIN));
    builder.append(Node::action("register_guard", "RegisterGuard", &**REGISTER_GUARD));
    builder.append(Node::action("register", "Register", &**REGISTER));
    builder.append(Node::action("migrate", "Migrate", &**MIGRATE));
    builder.build()
}

/// The target VMM and the source VMM. The second time, the migration is recorded, and they are
/// the answer.
async fn begin(sagactx: ActionContext<NexusSaga>) -> Result<(Vmm, Vmm), ActionError> {
    let ctx = sagactx.user_data();
    let Params { instance_id, migration_id, target } = sagactx.saga_params()?;
    let begin = || ctx.datastore.begin_migrate(ctx.saga, instance_id, target, migration_id);
    decided(ctx, "begin the migration", begin).await
}

/// A migration that went through, or another one, is left.
async fn undo_begin(sagactx: ActionContext<NexusSaga>) -> Result<(), anyhow::Error> {
    let ctx = sagactx.user_data();
    let Params { instance_id, migration_id, target } = sagactx.saga_params()?;
    let undo =
        || ctx.datastore.undo_begin_migrate(ctx.saga, instance_id, migration_id, target.vmm_id);
    until_done(ctx, "forget the migration", undo).await;
    Ok(())
}

/// A sled that has the VMM answers with its state, so a second time is fine.
async fn register_target(sagactx: ActionContext<NexusSaga>) -> Result<(), ActionError> {
    let ctx = sagactx.user_data();
    let params: Params = sagactx.saga_params()?;
    let (target, _): (Vmm, Vmm) = sagactx.lookup("vmms")?;
    register_on_sled(ctx, &target, Some(params.migration_id)).await.map_err(failed)
}

async fn undo_register(sagactx: ActionContext<NexusSaga>) -> Result<(), anyhow::Error> {
    let (target, _): (Vmm, Vmm) = sagactx.lookup("vmms")?;
    unregister_from_sled(sagactx.user_data(), &target).await;
    Ok(())
}

/// A target that is fetching, or has fetched, answers the same; so a second time is fine.
async fn migrate(sagactx: ActionContext<NexusSaga>) -> Result<(), ActionError> {
    let ctx = sagactx.user_data();
    let params: Params = sagactx.saga_params()?;
    let (target, source): (Vmm, Vmm) = sagactx.lookup("vmms")?;
    let sled = ctx.datastore.sled_fetch(source.sled_id).await.map_err(failed)?;
    let source_propolis = propolis_address(sled.underlay_address.0);
    let call = |agent: SledAgent| async move {
        agent.vmm_put_state(target.id, VmmRequest::MigrationTarget { source_propolis }).await
    };
    let tries = Some(MIGRATE_TRIES);
    match call_sled(ctx, params.target, params.instance_id, tries, call).await {
        SledOutcome::Done(None) => Ok(()),
        SledOutcome::Done(Some(report)) => {
            ctx.datastore.vmm_report(target.id, report).await.map_err(failed)?;
            Ok(())
        }
        SledOutcome::VmmGone => Err(failed(Error::busy("the migration's target has failed"))),
        SledOutcome::GaveUp(error) => Err(failed(error.into())),
    }
}
