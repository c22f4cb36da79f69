//! Sagas: changes that reach beyond the database, and survive a crash at any point.
//!
//! A saga is a short list of nodes, each an action with its undo. Before and after each, steno
//! records how far the saga is; a Nexus that starts, or that takes over from one that died, reads
//! the records and goes on. So every action and every undo may run twice, and each says why that
//! is safe. Sagas speak of ids, never of names: what a name meant when the saga began may be
//! another object by the time that it is resumed.
//!
//! Where an answer may be lost after the change was made, the node that makes the change is
//! preceded by one that does nothing and whose undo takes the change back: steno undoes the nodes
//! that completed, not the one that failed.

pub mod engine;
pub mod external_ip_attach;
pub mod external_ip_detach;
pub mod instance_create;
pub mod instance_delete;
pub mod instance_migrate;
pub mod instance_start;
pub mod ownership;
pub mod retry;
mod store;

use crate::background::Activator;
use crate::dataplane::Dataplane;
use crate::db::Datastore;
use crate::db::saga::{SagaRef, taken_over};
use nexus_common::Error;
use ownership::Ownership;
use slog::Logger;
use std::future::Future;
use std::sync::Arc;
use steno::{ActionContext, ActionError, ActionRegistry};

/// The type of all sagas of Nexus.
#[derive(Debug)]
pub struct NexusSaga;

impl steno::SagaType for NexusSaga {
    type ExecContextType = SagaContext;
}

/// What the actions of one saga work with.
#[derive(Clone, Debug)]
pub struct SagaContext {
    /// The saga, as rows that are in its hands name it, and as whose owner we act.
    pub saga: SagaRef,
    pub ownership: Arc<Ownership>,
    pub datastore: Arc<Datastore>,
    pub dataplane: Arc<Dataplane>,
    /// Wakes the task that keeps v2p mappings.
    pub v2p: Arc<Activator>,
    pub log: Logger,
}

/// Makes the actions of a saga, and the function that registers them. Stored sagas name their
/// actions, so an action keeps its name for as long as a saga that has it may be resumed.
macro_rules! actions {
    ($($(#[$meta:meta])* $name:ident = $label:literal, $action:path, $undo:path;)+) => {
        $(
            $(#[$meta])*
            static $name: std::sync::LazyLock<
                std::sync::Arc<dyn steno::Action<$crate::sagas::NexusSaga>>,
            > = std::sync::LazyLock::new(|| {
                steno::ActionFunc::new_action(
                    $label,
                    |sagactx| $crate::sagas::while_owned(sagactx, $action),
                    |sagactx| $crate::sagas::undo_while_owned(sagactx, $undo),
                )
            });
        )+

        /// Makes the saga's actions known, for new sagas and for those that are resumed.
        pub fn register(registry: &mut steno::ActionRegistry<$crate::sagas::NexusSaga>) {
            $(registry.register(std::sync::Arc::clone(&$name));)+
        }
    };
}
pub(crate) use actions;

/// All actions of all sagas.
pub fn registry() -> ActionRegistry<NexusSaga> {
    let mut registry = ActionRegistry::new();
    external_ip_attach::register(&mut registry);
    external_ip_detach::register(&mut registry);
    instance_create::register(&mut registry);
    instance_delete::register(&mut registry);
    instance_migrate::register(&mut registry);
    instance_start::register(&mut registry);
    registry
}

/// Runs an action for as long as the saga is ours: see [`ownership`].
pub(crate) async fn while_owned<T, F, Fut>(
    sagactx: ActionContext<NexusSaga>,
    action: F,
) -> Result<T, ActionError>
where
    F: FnOnce(ActionContext<NexusSaga>) -> Fut,
    Fut: Future<Output = Result<T, ActionError>>,
{
    let ownership = sagactx.user_data().ownership.clone();
    tokio::select! {
        biased;
        () = ownership.lost() => Err(failed(taken_over())),
        result = action(sagactx) => result,
    }
}

/// Runs an undo for as long as the saga is ours; then its new owner does.
pub(crate) async fn undo_while_owned<F, Fut>(
    sagactx: ActionContext<NexusSaga>,
    undo: F,
) -> Result<(), anyhow::Error>
where
    F: FnOnce(ActionContext<NexusSaga>) -> Fut,
    Fut: Future<Output = Result<(), anyhow::Error>>,
{
    let ownership = sagactx.user_data().ownership.clone();
    tokio::select! {
        biased;
        () = ownership.lost() => Ok(()),
        result = undo(sagactx) => result,
    }
}

/// The undo of an action that leaves nothing behind.
pub(crate) async fn nothing_to_undo(_: ActionContext<NexusSaga>) -> Result<(), anyhow::Error> {
    Ok(())
}

/// The action of a node that is there for its undo.
pub(crate) async fn guard(_: ActionContext<NexusSaga>) -> Result<(), ActionError> {
    Ok(())
}

/// Makes an error of ours one of an action.
pub(crate) fn failed(error: Error) -> ActionError {
    ActionError::action_failed(error)
}
