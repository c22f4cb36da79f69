//! The allocator's own records: marks, free lists, shared addresses, and what pools count.
//!
//! Below the mark of a range every address is either in use or on the free list; the mark itself
//! is neither, and nothing at or above it is on the free list. The addresses in use and the free
//! list are both read in order, so that one pass over them finds every address that is missing
//! from both, without a look at each address of the range.

use super::findings::{Findings, violation};
use super::looks::{report_lasting, walk};
use crate::app::Nexus;
use crate::db::check::{AddressFacts, PAGE, SharedFacts};
use crate::db::ip_pool::PoolFilter;
use db_model::{Ip, IpPool, IpPoolRange};
use nexus_common::address::{SNAT_PORTS, next_ip};
use nexus_common::{Direction, Error, PageBy, PageParams};
use nexus_internal_api::types::{Violation, ViolationKind};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::num::NonZeroU32;
use uuid::Uuid;

/// Addresses of one range that are looked at again. A range with more of them is broken enough.
const SUSPECTS: usize = 1000;

/// Pools and ranges of one page.
const LIMIT: NonZeroU32 = NonZeroU32::new(100).unwrap();

/// Addresses that may be missing from both lists, from the first to the last of them.
type Gap = (IpAddr, IpAddr);

/// One of two ordered lists of addresses, read page by page.
struct List {
    page: VecDeque<IpAddr>,
    after: Option<IpAddr>,
    ended: bool,
}

impl List {
    fn new() -> Self {
        List { page: VecDeque::new(), after: None, ended: false }
    }

    fn is_spent(&self) -> bool {
        self.page.is_empty() && !self.ended
    }

    fn refill(&mut self, page: Vec<IpAddr>) {
        self.ended = (page.len() as i64) < PAGE;
        self.after = page.last().copied().or(self.after);
        self.page.extend(page);
    }
}

impl Nexus {
    pub(super) async fn check_allocator(&self, findings: &Findings) -> Result<(), Error> {
        let mut after = None;
        loop {
            let page = PageBy::Id(page_after(after));
            let pools = self.datastore.pool_list(PoolFilter::default(), page).await?;
            findings.count(|counts| counts.pools += pools.len() as u64);
            for pool in &pools {
                self.check_pool(pool, findings).await?;
            }
            match pools.last() {
                Some(last) => after = Some(last.id),
                None => break,
            }
        }
        self.check_free_list_ranges(findings).await
    }

    async fn check_pool(&self, pool: &IpPool, findings: &Findings) -> Result<(), Error> {
        let load = |window| self.datastore.check_shared(pool.id, window);
        walk(findings, |facts: &SharedFacts| facts.shared.ip, load, judge_shared).await?;
        self.check_utilization(pool, findings).await?;
        let mut after = None;
        loop {
            let ranges = self.datastore.range_list(pool.id, page_after(after)).await?;
            for range in &ranges {
                self.check_range(range, findings).await?;
            }
            match ranges.last() {
                Some(last) => after = Some(last.first_address.0),
                None => return Ok(()),
            }
        }
    }

    /// Compares the count of a pool with its rows. Where they differ for a reason that is a
    /// violation itself (a record of a shared address that does not fit its blocks), that is
    /// reported, and not this too.
    async fn check_utilization(&self, pool: &IpPool, findings: &Findings) -> Result<(), Error> {
        let facts = self.datastore.check_pool(pool.id).await?;
        if facts.allocated == facts.in_use || findings.has(ViolationKind::PoolUtilization, pool.id)
        {
            return Ok(());
        }
        let message = format!(
            "pool {} counts {} addresses in use, but {} are",
            pool.name, facts.allocated, facts.in_use
        );
        findings.violated(violation(
            ViolationKind::PoolUtilization,
            message,
            [("ip_pool", pool.id)],
        ));
        Ok(())
    }

    async fn check_range(&self, range: &IpPoolRange, findings: &Findings) -> Result<(), Error> {
        let suspects = self.suspects(range, findings).await?;
        if suspects.is_empty() {
            return Ok(());
        }
        let load = |gaps: Vec<Gap>| async move {
            let mut facts = Vec::with_capacity(gaps.len());
            for gap in gaps {
                if let Some(found) = self.datastore.check_address(range.id, gap.0).await? {
                    facts.push((gap, found));
                }
            }
            Ok(facts)
        };
        let first = load(suspects).await?;
        report_lasting(findings, first, |(gap, _)| *gap, load, judge_address).await
    }

    /// Addresses of a range that do not seem to fit.
    async fn suspects(&self, range: &IpPoolRange, findings: &Findings) -> Result<Vec<Gap>, Error> {
        let mark = range.next_address.map(|mark| mark.0);
        let (mut used, mut free) = (List::new(), List::new());
        let mut suspects = Vec::new();
        let mut expected = Some(range.first_address.0);
        loop {
            if used.is_spent() {
                used.refill(self.datastore.check_used_addresses(range.id, used.after).await?);
            }
            if free.is_spent() {
                let page = self.datastore.check_free_addresses(range.id, free.after).await?;
                findings.count(|counts| counts.free_addresses += page.len() as u64);
                free.refill(page.into_iter().map(|row| row.ip.0).collect());
            }
            let (a, b) = (used.page.front().copied(), free.page.front().copied());
            let Some(ip) = a.into_iter().chain(b).min() else { break };
            let (in_use, is_free) = (a == Some(ip), b == Some(ip));
            if in_use {
                used.page.pop_front();
            }
            if is_free {
                free.page.pop_front();
            }
            if suspects.len() >= SUSPECTS {
                return Ok(suspects);
            }
            let below = mark.is_none_or(|mark| ip < mark);
            if below && let Some(gap) = gap(expected, ip) {
                suspects.push(gap);
            }
            if (is_free && (in_use || !below)) || mark == Some(ip) {
                suspects.push((ip, ip));
            }
            if below && expected.is_some_and(|expected| ip >= expected) {
                expected = next_ip(ip);
            }
        }
        let end = mark.or_else(|| next_ip(range.last_address.0));
        suspects.extend(end.and_then(|end| gap(expected, end)));
        Ok(suspects)
    }

    /// Addresses on the free list of a range that is no more.
    async fn check_free_list_ranges(&self, findings: &Findings) -> Result<(), Error> {
        let mut after: Option<Uuid> = None;
        while let Some((free, live)) = self.datastore.check_free_list_range(after).await? {
            after = Some(free.ip_pool_range_id);
            if !live {
                let message = format!("{} is on the free list of a range that is no more", free.ip);
                let ids = [("ip_pool", free.ip_pool_id), ("ip_pool_range", free.ip_pool_range_id)];
                findings.violated(violation(ViolationKind::FreeAddress, message, ids));
            }
        }
        Ok(())
    }
}

fn page_after<K>(marker: Option<K>) -> PageParams<K> {
    PageParams { limit: LIMIT, direction: Direction::Ascending, marker }
}

/// The addresses from `expected` to the one before `next`, if there are any.
fn gap(expected: Option<IpAddr>, next: IpAddr) -> Option<Gap> {
    let first = expected.filter(|first| *first < next)?;
    Some((first, previous_ip(next)))
}

fn previous_ip(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => IpAddr::V4(u32::from(ip).saturating_sub(1).into()),
        IpAddr::V6(ip) => IpAddr::V6(u128::from(ip).saturating_sub(1).into()),
    }
}

fn judge_address(((first, last), facts): &(Gap, AddressFacts)) -> Vec<Violation> {
    let AddressFacts { range, in_use, free } = facts;
    let ip = Ip(*first);
    let mark = range.next_address;
    let below = mark.is_none_or(|mark| ip < mark);
    let why = match (in_use, free) {
        (true, true) => "is both in use and free".to_string(),
        (true, false) if mark == Some(ip) => "is in use, but is the mark of its range".to_string(),
        (false, true) if !below => "is free, but not below the mark of its range".to_string(),
        (false, false) if below && first == last => {
            "is below the mark of its range, but neither in use nor free".to_string()
        }
        (false, false) if below => {
            format!(
                "is below the mark of its range, but neither in use nor free; so is what \
                     follows, up to {last}"
            )
        }
        _ => return Vec::new(),
    };
    let ids = [("ip_pool", range.ip_pool_id), ("ip_pool_range", range.id)];
    vec![violation(ViolationKind::FreeAddress, format!("address {ip} {why}"), ids)]
}

/// Blocks that are recorded as in use although they are not. The opposite is seen from the block's
/// own row.
fn judge_shared(facts: &SharedFacts) -> Vec<Violation> {
    let mut blocks = 0_i16;
    for first in &facts.first_ports {
        // Four blocks; whatever else a row says, it is a violation of its own.
        blocks |= 1_i16.checked_shl((first / i32::from(SNAT_PORTS)).unsigned_abs()).unwrap_or(0);
    }
    let lost = facts.shared.used_blocks & !blocks;
    if lost == 0 {
        return Vec::new();
    }
    let message = format!(
        "the shared address {} has {} block(s) recorded as in use that no instance has",
        facts.shared.ip,
        lost.count_ones()
    );
    let ids =
        [("ip_pool", facts.shared.ip_pool_id), ("ip_pool_range", facts.shared.ip_pool_range_id)];
    vec![violation(ViolationKind::PoolUtilization, message, ids)]
}
