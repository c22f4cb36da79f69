//! Takes changes of the NAT table from Nexus.
//!
//! It asks for what is newer than what it has until there is nothing newer, when it starts, when
//! it is triggered, and every [`PERIOD`]. Changes are applied in their order. Where one cannot be
//! fetched or made, it stops and tries again from there: what it has is never more than it says.

use crate::dpd::Dpd;
use crate::model::{Change, Entry};
use crate::types::NatTarget;
use anyhow::{Context, Result, anyhow};
use nexus_client::internal::Client;
use nexus_client::internal::types::NatEntryView;
use sim_kit::NexusClients;
use slog::{debug, warn};
use std::sync::Arc;
use std::time::Duration;

/// How long it waits until it asks again, if nothing triggers it.
const PERIOD: Duration = Duration::from_secs(30);

/// How long it waits after something went wrong.
const RETRY: Duration = Duration::from_secs(1);

/// What takes changes from Nexus.
#[derive(Debug)]
pub struct Reconciler {
    dpd: Arc<Dpd>,
    nexus: NexusClients,
    page_size: u32,
}

impl Reconciler {
    /// A reconciler that takes `page_size` changes at once from whichever Nexus answers.
    pub fn new(dpd: Arc<Dpd>, nexus: NexusClients, page_size: u32) -> Self {
        Reconciler { dpd, nexus, page_size }
    }

    /// Runs for ever.
    pub async fn run(self) {
        loop {
            let wait = match self.catch_up().await {
                Ok(()) => PERIOD,
                Err(error) => {
                    warn!(self.dpd.log, "cannot take changes from Nexus"; "error" => format!("{error:#}"));
                    RETRY
                }
            };
            tokio::select! {
                () = self.dpd.trigger.notified() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Takes changes until there are none.
    async fn catch_up(&self) -> Result<()> {
        loop {
            let from = self.dpd.nat().generation();
            let changes = self.changes(from).await?;
            if changes.is_empty() {
                return Ok(());
            }
            debug!(self.dpd.log, "taking changes"; "from" => from, "count" => changes.len());
            let mut nat = self.dpd.nat();
            for view in changes {
                let change = change(&view);
                nat.apply(&change)
                    .map_err(|error| anyhow!("{error:?}"))
                    .with_context(|| format!("cannot make the change {change:?}"))?;
            }
            // Nexus has promised changes that are newer. If it breaks that, it will be asked again
            // later rather than at once, for ever.
            if nat.generation() <= from {
                return Err(anyhow!("Nexus answers changes that are not newer than {from}"));
            }
        }
    }

    /// The changes after a generation.
    async fn changes(&self, from: i64) -> Result<Vec<NatEntryView>> {
        let limit = self.page_size;
        let request = |nexus: Client| async move { nexus.ipv4_nat_changeset(from, limit).await };
        self.nexus.ask(request).await.map_err(|error| anyhow!("{error}"))
    }
}

fn change(view: &NatEntryView) -> Change {
    Change {
        entry: Entry {
            external: view.external_address,
            low: view.first_port,
            high: view.last_port,
            target: NatTarget {
                internal_ip: view.sled_address,
                inner_mac: view.mac.into(),
                vni: view.vni,
            },
        },
        deleted: view.deleted,
        generation: view.gen_,
    }
}
