//! Going over the ports of VMMs.

use super::Nexus;
use crate::dataplane::port::{PortError, PortScope};
use crate::dataplane::sled::SledError;
use nexus_common::Error;
use slog::warn;
use std::collections::BTreeMap;
use uuid::Uuid;

/// Addresses that are looked at in one run because they changed not long ago.
const DUE_LIMIT: i64 = 1000;
/// Ports that are looked at in one run because it is their turn.
const ROUND: i64 = 25;

/// What one run did.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub(crate) struct PortsReport {
    pub ports: usize,
    pub calls: u64,
    pub failed: usize,
}

impl PortsReport {
    fn plus(self, other: Self) -> Self {
        PortsReport {
            ports: self.ports + other.ports,
            calls: self.calls + other.calls,
            failed: self.failed + other.failed,
        }
    }
}

impl Nexus {
    /// Goes over the ports whose addresses changed not long ago, and over some of the rest, from
    /// the one after `from`. Returns where to go on the next time.
    pub(crate) async fn reconcile_ports(
        &self,
        from: Option<Uuid>,
    ) -> Result<(PortsReport, Option<Uuid>), Error> {
        let round = self.datastore.ports_after(from, ROUND).await?;
        let next = round.last().map(|at| at.vmm_id).filter(|_| round.len() as i64 == ROUND);
        let due = self.datastore.ports_due(DUE_LIMIT).await?;
        let mut sleds: BTreeMap<Uuid, BTreeMap<Uuid, PortScope>> = BTreeMap::new();
        for at in due {
            sleds.entry(at.sled_id).or_default().insert(at.vmm_id, PortScope::Due);
        }
        for at in round {
            sleds.entry(at.sled_id).or_default().insert(at.vmm_id, PortScope::All);
        }
        let runs = sleds.into_values().map(|ports| self.reconcile_ports_of_sled(ports));
        let reports = futures::future::join_all(runs).await;
        Ok((reports.into_iter().fold(PortsReport::default(), PortsReport::plus), next))
    }

    /// One port after the other; a sled that does not answer is left for the next run.
    async fn reconcile_ports_of_sled(&self, ports: BTreeMap<Uuid, PortScope>) -> PortsReport {
        let mut report = PortsReport { ports: ports.len(), ..Default::default() };
        for (vmm_id, scope) in ports {
            match self.dataplane.reconcile_port(&self.datastore, vmm_id, scope).await {
                Ok(calls) => report.calls += calls,
                Err(error) => {
                    report.failed += 1;
                    warn!(self.log, "a port could not be gone over";
                        "vmm" => %vmm_id, "error" => %error);
                    if matches!(error, PortError::Sled { error: SledError::NoAnswer { .. }, .. }) {
                        break;
                    }
                }
            }
        }
        report
    }
}
