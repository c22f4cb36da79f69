//! Virtual to physical: which sled has which private address, as every sled must know.

use super::Dataplane;
use super::sled::{SledError, V2p};
use super::vmm_spec::underlay_of;
use crate::db::Datastore;
use crate::db::network::PlacedNic;
use nexus_common::{Error, Vni};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// What one run did.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct V2pReport {
    pub intended: usize,
    pub added: usize,
    pub removed: usize,
    /// Sleds that could not be compared.
    pub sleds_failed: usize,
}

/// The mappings of an interface: one for each of its addresses.
pub(crate) fn mappings_of(placed: &PlacedNic) -> Result<Vec<V2p>, Error> {
    let vni = Vni::try_from(placed.vni as u32).map_err(Error::internal)?;
    let addresses: [Option<IpAddr>; 2] =
        [placed.nic.ipv4.map(|ip| ip.0), placed.nic.ipv6.map(|ip| ip.0)];
    let mapping = |virtual_ip| V2p {
        virtual_ip,
        virtual_mac: placed.nic.mac.0,
        sled_address: underlay_of(placed.sled_address.0),
        vni,
    };
    Ok(addresses.into_iter().flatten().map(mapping).collect())
}

/// The mappings of all interfaces of instances that have a VMM.
async fn intended(datastore: &Datastore) -> Result<BTreeSet<V2p>, Error> {
    const PAGE: i64 = 1000;
    let mut mappings = BTreeSet::new();
    let mut after = None;
    loop {
        let page = datastore.placed_nics(after, PAGE).await?;
        after = page.last().map(|placed| placed.nic.id);
        let full = page.len() as i64 == PAGE;
        for placed in page {
            mappings.extend(mappings_of(&placed)?);
        }
        if !full {
            return Ok(mappings);
        }
    }
}

impl Dataplane {
    /// Brings every sled's mappings to the intent. The mappings of the rack's own services are
    /// left alone. A sled that does not answer is skipped.
    pub async fn reconcile_v2p(&self, datastore: &Datastore) -> Result<V2pReport, Error> {
        let intended = intended(datastore).await?;
        let mut report = V2pReport { intended: intended.len(), ..Default::default() };
        let sleds = datastore.sled_list().await?;
        let runs = sleds.iter().map(|sled| self.reconcile_sled_v2p(sled, &intended));
        for result in futures::future::join_all(runs).await {
            match result {
                Ok((added, removed)) => {
                    self.metrics.sleds.v2p_repairs.at(["added"]).inc_by(added as u64);
                    self.metrics.sleds.v2p_repairs.at(["removed"]).inc_by(removed as u64);
                    report.added += added;
                    report.removed += removed;
                }
                Err(_) => {
                    self.metrics.sleds.v2p_unreached.at([]).inc();
                    report.sleds_failed += 1;
                }
            }
        }
        Ok(report)
    }

    async fn reconcile_sled_v2p(
        &self,
        sled: &db_model::Sled,
        intended: &BTreeSet<V2p>,
    ) -> Result<(usize, usize), SledError> {
        let agent =
            self.sleds.agent_of(sled).map_err(|error| SledError::Failed(error.to_string()))?;
        let held: BTreeSet<V2p> = agent
            .v2p_list()
            .await?
            .into_iter()
            .filter(|mapping| mapping.vni != Vni::SERVICES)
            .collect();
        let (mut added, mut removed) = (0, 0);
        for extra in held.difference(intended) {
            agent.v2p_delete(extra).await?;
            removed += 1;
        }
        for missing in intended.difference(&held) {
            agent.v2p_set(missing).await?;
            added += 1;
        }
        Ok((added, removed))
    }
}
