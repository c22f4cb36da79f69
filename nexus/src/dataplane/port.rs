//! Bringing the external addresses of a VMM's port to the intent.
//!
//! As with NAT, who made the last call reads the intent again afterwards, and starts over if it
//! has changed; so it does not matter in what order a saga and the reconciler, of this process or
//! of another, get to the sled. Within this process they take turns.

use super::Dataplane;
use super::sled::SledError;
use crate::db::Datastore;
use crate::db::port::{Port, Wanted};
use nexus_common::Error;
use std::time::Duration;
use uuid::Uuid;

/// Times that one port is gone over before the rest is left to the next run.
const MAX_ROUNDS: usize = 100;
/// Pause while a saga is about to decide on an address.
const MOVING_PAUSE: Duration = Duration::from_millis(50);

/// Which addresses of a port to go over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortScope {
    /// Those that changed not long ago.
    Due,
    All,
}

/// Why a port could not be brought to the intent.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    #[error("sled {sled_id}: {error}")]
    Sled { sled_id: Uuid, error: SledError },
    #[error("database: {0}")]
    Database(#[from] Error),
    #[error("the intent kept changing")]
    Unsettled,
}

impl Dataplane {
    /// Goes over a VMM's port. Returns the number of calls that were made; an address that the
    /// port had already, or had not, counts as well, as the sled does not say.
    pub async fn reconcile_port(
        &self,
        datastore: &Datastore,
        vmm_id: Uuid,
        scope: PortScope,
    ) -> Result<u64, PortError> {
        let mut calls = 0;
        for _ in 0..MAX_ROUNDS {
            let turn = self.port_turns.wait(vmm_id).await;
            let Some(mut port) = datastore.port_intent(vmm_id).await? else { return Ok(calls) };
            if scope == PortScope::Due && calls == 0 {
                port.addresses.retain(|intent| intent.is_due);
            }
            // An address that a saga is at is the saga's, unless we have been at it ourselves.
            if calls > 0 && port.addresses.iter().any(|intent| intent.wanted == Wanted::Moving) {
                drop(turn);
                tokio::time::sleep(MOVING_PAUSE).await;
                continue;
            }
            port.addresses.retain(|intent| intent.wanted != Wanted::Moving);
            if port.addresses.is_empty() {
                return Ok(calls);
            }
            calls += self.apply_port(&port).await?;
            if datastore.port_done(port).await? {
                return Ok(calls);
            }
        }
        Err(PortError::Unsettled)
    }

    async fn apply_port(&self, port: &Port) -> Result<u64, PortError> {
        let failed = |error| PortError::Sled { sled_id: port.sled_id, error };
        let agent = self.sleds.agent(port.sled_id).await?;
        for intent in &port.addresses {
            let result = match intent.wanted {
                Wanted::Present(kind) => {
                    agent.add_external_ip(port.vmm_id, kind, intent.address).await
                }
                Wanted::Absent(kind) => {
                    agent.remove_external_ip(port.vmm_id, kind, intent.address).await
                }
                Wanted::Moving => Ok(()),
            };
            match result {
                Ok(()) => {}
                // Its end will be reported, or found, and with it the port goes.
                Err(SledError::Gone) => return Ok(0),
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(port.addresses.len() as u64)
    }
}
