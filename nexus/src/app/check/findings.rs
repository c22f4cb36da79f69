//! What a check has found so far.

use nexus_internal_api::types::{CheckCounts, CheckReport, Violation, ViolationKind};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use uuid::Uuid;

/// The most violations that are listed. Where there are more, those tell enough.
const LISTED: usize = 1000;

/// Makes a violation.
pub(super) fn violation(
    kind: ViolationKind,
    message: String,
    ids: impl IntoIterator<Item = (&'static str, Uuid)>,
) -> Violation {
    let ids: BTreeMap<_, _> = ids.into_iter().map(|(what, id)| (what.to_string(), id)).collect();
    Violation { kind, message, ids }
}

/// What all parts of a check, which run side by side, have found so far.
#[derive(Debug, Default)]
pub(super) struct Findings {
    report: Mutex<CheckReport>,
    unchecked: Mutex<BTreeSet<String>>,
}

impl Findings {
    fn lock(&self) -> MutexGuard<'_, CheckReport> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something does not hold.
    pub(super) fn violated(&self, violation: Violation) {
        let mut report = self.lock();
        report.violation_count += 1;
        if report.violations.len() < LISTED {
            report.violations.push(violation);
        }
    }

    /// Whether a violation of this kind, about this pool, was found before.
    pub(super) fn has(&self, kind: ViolationKind, pool_id: Uuid) -> bool {
        let about = |found: &Violation| found.ids.get("ip_pool") == Some(&pool_id);
        self.lock().violations.iter().any(|found| found.kind == kind && about(found))
    }

    /// Something could not be looked at. To say it again changes nothing.
    pub(super) fn unchecked(&self, what: String) {
        self.unchecked.lock().unwrap_or_else(PoisonError::into_inner).insert(what);
    }

    /// Something was looked at.
    pub(super) fn count(&self, add: impl FnOnce(&mut CheckCounts)) {
        add(&mut self.lock().compared);
    }

    /// All of it, in an order that does not depend on which part was faster.
    pub(super) fn report(self) -> CheckReport {
        let mut report = self.report.into_inner().unwrap_or_else(PoisonError::into_inner);
        let unchecked = self.unchecked.into_inner().unwrap_or_else(PoisonError::into_inner);
        report.violations.sort();
        report.unchecked = unchecked.into_iter().collect();
        report
    }
}
