//! What every sled knows of where private addresses are.
//!
//! A sled tells all its mappings at once; what it should have is read page by page and struck off,
//! and what is left over is what it should not have. The mappings of the rack's own services are
//! not looked at.

use super::findings::{Findings, violation};
use super::looks::report_lasting;
use crate::app::Nexus;
use crate::dataplane::sled::{SledError, V2p};
use crate::dataplane::v2p::mappings_of;
use db_model::{Mac, Sled};
use nexus_common::{Error, MacAddr, Vni};
use nexus_internal_api::types::{Violation, ViolationKind};
use std::collections::BTreeSet;
use uuid::Uuid;

/// Interfaces on one page.
const PAGE: i64 = 500;

/// An interface: what a sled has of its mappings, and what it should have.
struct Interface {
    sled_id: Uuid,
    vni: Vni,
    mac: MacAddr,
    intended: BTreeSet<V2p>,
    held: BTreeSet<V2p>,
}

impl Nexus {
    pub(super) async fn check_v2p(&self, findings: &Findings) -> Result<(), Error> {
        let mut sleds = Vec::new();
        for sled in self.datastore.sled_list().await? {
            match self.v2p_of(&sled).await {
                Ok(held) => {
                    findings.count(|counts| counts.sleds += 1);
                    sleds.push((sled, held));
                }
                Err(error) => {
                    findings.unchecked(format!("sled {}: its v2p mappings: {error}", sled.id));
                }
            }
        }
        let wrong = self.strike_off(&mut sleds, findings).await?;
        for (sled, _) in &sleds {
            let mine = wrong.iter().filter(|(id, ..)| *id == sled.id);
            let keys: BTreeSet<(Vni, MacAddr)> = mine.map(|(_, vni, mac)| (*vni, *mac)).collect();
            self.look_at_interfaces(sled, keys.into_iter().collect(), findings).await?;
        }
        Ok(())
    }

    async fn v2p_of(&self, sled: &Sled) -> Result<BTreeSet<V2p>, SledError> {
        let agent = self.dataplane.sleds.agent_of(sled);
        let agent = agent.map_err(|error| SledError::Failed(error.to_string()))?;
        let held = agent.v2p_list().await?.into_iter();
        Ok(held.filter(|mapping| mapping.vni != Vni::SERVICES).collect())
    }

    /// Takes what is intended from what sleds have. Returns the interfaces, with the sled, whose
    /// mappings do not fit.
    async fn strike_off(
        &self,
        sleds: &mut [(Sled, BTreeSet<V2p>)],
        findings: &Findings,
    ) -> Result<BTreeSet<(Uuid, Vni, MacAddr)>, Error> {
        let mut wrong = BTreeSet::new();
        let mut after = None;
        loop {
            let page = self.datastore.placed_nics(after, PAGE).await?;
            after = page.last().map(|placed| placed.nic.id);
            for placed in &page {
                let intended = mappings_of(placed)?;
                findings.count(|counts| counts.v2p_mappings += intended.len() as u64);
                for mapping in intended {
                    for (sled, held) in sleds.iter_mut() {
                        if !held.remove(&mapping) {
                            wrong.insert((sled.id, mapping.vni, mapping.virtual_mac));
                        }
                    }
                }
            }
            if (page.len() as i64) < PAGE {
                break;
            }
        }
        for (sled, left_over) in sleds.iter() {
            wrong.extend(left_over.iter().map(|it| (sled.id, it.vni, it.virtual_mac)));
        }
        Ok(wrong)
    }

    async fn look_at_interfaces(
        &self,
        sled: &Sled,
        keys: Vec<(Vni, MacAddr)>,
        findings: &Findings,
    ) -> Result<(), Error> {
        if keys.is_empty() {
            return Ok(());
        }
        let look = |keys: Vec<(Vni, MacAddr)>| async move {
            let held = match self.v2p_of(sled).await {
                Ok(held) => held,
                Err(error) => {
                    findings.unchecked(format!("sled {}: its v2p mappings: {error}", sled.id));
                    return Ok(Vec::new());
                }
            };
            let mut found = Vec::with_capacity(keys.len());
            for (vni, mac) in keys {
                let placed = self.datastore.placed_nic(u32::from(vni) as i32, Mac(mac)).await?;
                let intended = placed.as_ref().map(mappings_of).transpose()?.unwrap_or_default();
                let mine = |it: &&V2p| (it.vni, it.virtual_mac) == (vni, mac);
                let held = held.iter().filter(mine).cloned().collect();
                let intended = intended.into_iter().collect();
                found.push(Interface { sled_id: sled.id, vni, mac, intended, held });
            }
            Ok(found)
        };
        let first = look(keys).await?;
        report_lasting(findings, first, |it| (it.vni, it.mac), look, judge).await
    }
}

fn judge(interface: &Interface) -> Vec<Violation> {
    let say = |words: &str, mapping: &V2p| {
        let message = format!(
            "the sled {words} {} (VNI {}, MAC {}) is at {}",
            mapping.virtual_ip,
            u32::from(mapping.vni),
            mapping.virtual_mac,
            mapping.sled_address
        );
        violation(ViolationKind::V2p, message, [("sled", interface.sled_id)])
    };
    let lacks = interface.intended.difference(&interface.held);
    let keeps = interface.held.difference(&interface.intended);
    lacks
        .map(|mapping| say("does not know that", mapping))
        .chain(keeps.map(|mapping| say("should not believe that", mapping)))
        .collect()
}
