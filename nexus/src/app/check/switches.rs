//! What every switch holds, in whole, against the NAT entries that are recorded.
//!
//! Both are read in the order of their addresses and merged: a page of the switch's addresses, and
//! the recorded addresses up to the end of that page. What a switch holds for addresses that are
//! not ours is not looked at.

use super::findings::{Findings, violation};
use super::looks::report_lasting;
use crate::app::Nexus;
use crate::dataplane::dpd::{DpdError, Mapping};
use crate::dataplane::nat::{SwitchWorker, mapping_of};
use futures::StreamExt;
use nexus_common::Error;
use nexus_internal_api::types::{Violation, ViolationKind};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;

/// Addresses that are compared at once.
const BATCH: usize = 256;
/// Addresses of one switch that are asked about at the same time.
const CONCURRENCY: usize = 16;

/// An address on a switch.
struct Held {
    ip: IpAddr,
    intended: BTreeSet<Mapping>,
    held: BTreeSet<Mapping>,
    /// Whether it is ours to manage.
    ours: bool,
}

/// Why a switch was not compared to its end.
enum Stop {
    Switch(DpdError),
    Database(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Database(error)
    }
}

impl From<DpdError> for Stop {
    fn from(error: DpdError) -> Self {
        Stop::Switch(error)
    }
}

/// The recorded addresses, in order, read page by page.
struct Recorded {
    page: VecDeque<IpAddr>,
    after: Option<IpAddr>,
    ended: bool,
}

impl Nexus {
    pub(super) async fn check_switches(&self, findings: &Findings) -> Result<(), Error> {
        let switches = self.dataplane.switches().iter();
        let checks = switches.map(|switch| self.check_switch(switch, findings));
        futures::future::try_join_all(checks).await?;
        Ok(())
    }

    async fn check_switch(&self, switch: &SwitchWorker, findings: &Findings) -> Result<(), Error> {
        match self.compare_switch(switch, findings).await {
            Ok(()) => {
                findings.count(|counts| counts.switches += 1);
                Ok(())
            }
            Err(Stop::Switch(error)) => {
                findings.unchecked(format!("{}: its NAT table: {error}", switch.slot()));
                Ok(())
            }
            Err(Stop::Database(error)) => Err(error),
        }
    }

    async fn compare_switch(&self, switch: &SwitchWorker, findings: &Findings) -> Result<(), Stop> {
        let mut recorded = Recorded { page: VecDeque::new(), after: None, ended: false };
        for v4 in [true, false] {
            let mut token: Option<String> = None;
            loop {
                let (page, next) = switch.dpd().addresses(v4, token.as_deref()).await?;
                let end = page.last().copied();
                let mut batch: BTreeSet<IpAddr> = page.into_iter().collect();
                while let Some(ip) = self.next_recorded(&mut recorded).await?
                    && end.is_some_and(|end| ip <= end)
                {
                    recorded.page.pop_front();
                    batch.insert(ip);
                    if batch.len() >= BATCH {
                        self.compare(switch, std::mem::take(&mut batch), findings).await?;
                    }
                }
                self.compare(switch, batch, findings).await?;
                match next {
                    Some(next) => token = Some(next),
                    None => break,
                }
            }
        }
        // Nothing of these is on the switch.
        let mut batch = BTreeSet::new();
        while let Some(ip) = self.next_recorded(&mut recorded).await? {
            recorded.page.pop_front();
            batch.insert(ip);
            if batch.len() >= BATCH {
                self.compare(switch, std::mem::take(&mut batch), findings).await?;
            }
        }
        self.compare(switch, batch, findings).await
    }

    async fn next_recorded(&self, recorded: &mut Recorded) -> Result<Option<IpAddr>, Error> {
        if recorded.page.is_empty() && !recorded.ended {
            let page = self.datastore.nat_addresses(recorded.after, BATCH as i64).await?;
            recorded.ended = page.len() < BATCH;
            recorded.after = page.last().copied();
            recorded.page = page.into();
        }
        Ok(recorded.page.front().copied())
    }

    async fn compare(
        &self,
        switch: &SwitchWorker,
        batch: BTreeSet<IpAddr>,
        findings: &Findings,
    ) -> Result<(), Stop> {
        if batch.is_empty() {
            return Ok(());
        }
        let first = self.look(switch, batch.into_iter().collect()).await?;
        let ours = first.iter().filter(|address| address.ours).count() as u64;
        findings.count(|counts| counts.switch_addresses += ours);
        // A switch that stops answering between two looks has not been compared.
        let lost = std::sync::Mutex::new(None);
        let again = |addresses| {
            let lost = &lost;
            async move {
                match self.look(switch, addresses).await {
                    Ok(rows) => Ok(rows),
                    Err(Stop::Database(error)) => Err(error),
                    Err(Stop::Switch(error)) => {
                        *lost.lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
                            Some(error);
                        Ok(Vec::new())
                    }
                }
            }
        };
        let judge = |address: &Held| judge(switch.slot(), address);
        report_lasting(findings, first, |address| address.ip, again, judge).await?;
        match lost.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    async fn look(&self, switch: &SwitchWorker, addresses: Vec<IpAddr>) -> Result<Vec<Held>, Stop> {
        let mut intended: BTreeMap<IpAddr, BTreeSet<Mapping>> = BTreeMap::new();
        for entry in self.datastore.nat_intent(addresses.clone()).await? {
            intended.entry(entry.external_address.0).or_default().extend(mapping_of(&entry));
        }
        let unintended = addresses.iter().filter(|ip| !intended.contains_key(ip)).copied();
        let ours = self.datastore.nat_ours(unintended.collect()).await?;
        let mut found = Vec::with_capacity(addresses.len());
        let mut held = futures::stream::iter(addresses)
            .map(|ip| async move { (ip, switch.dpd().mappings(ip).await) })
            .buffer_unordered(CONCURRENCY);
        while let Some((ip, mappings)) = held.next().await {
            found.push(Held {
                ip,
                ours: intended.contains_key(&ip) || ours.contains(&ip),
                intended: intended.remove(&ip).unwrap_or_default(),
                held: mappings?.into_iter().collect(),
            });
        }
        Ok(found)
    }
}

fn judge(slot: &str, address: &Held) -> Vec<Violation> {
    if !address.ours {
        return Vec::new();
    }
    let say = |words: &str, mapping: &Mapping| {
        let Mapping { low, high, target } = mapping;
        let message = format!(
            "{slot} {words} for {} ports {low} to {high} (to sled {}, VNI {}, MAC {})",
            address.ip,
            target.sled_address,
            u32::from(target.vni),
            target.mac
        );
        violation(ViolationKind::SwitchNat, message, [])
    };
    let lacks = address.intended.difference(&address.held).map(|it| say("lacks the NAT entry", it));
    let keeps = address
        .held
        .difference(&address.intended)
        .map(|it| say("holds a NAT entry that is not intended", it));
    lacks.chain(keeps).collect()
}
