//! The first look at everything, and the further looks at what does not fit.

use super::findings::Findings;
use crate::db::check::{PAGE, Window};
use nexus_common::Error;
use nexus_internal_api::types::Violation;
use std::future::Future;
use std::time::Duration;

/// The pauses before the second look and the third, which is the last.
pub(super) const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(400)];

/// Reads everything page by page, and reports what does not hold in any look. Returns how much
/// there was.
///
/// `load` reads a page, or the given objects again; `key` is what pages are ordered by; `judge`
/// says what is wrong with an object.
pub(super) async fn walk<K, R, F>(
    findings: &Findings,
    key: impl Fn(&R) -> K,
    load: impl Fn(Window<K>) -> F,
    judge: impl Fn(&R) -> Vec<Violation>,
) -> Result<u64, Error>
where
    K: Clone + PartialEq,
    F: Future<Output = Result<Vec<R>, Error>>,
{
    let mut after = None;
    let mut seen = 0;
    loop {
        let rows = load(Window::After(after)).await?;
        seen += rows.len() as u64;
        let full = rows.len() as i64 == PAGE;
        after = rows.last().map(&key);
        let again = |keys| load(Window::These(keys));
        report_lasting(findings, rows, &key, again, &judge).await?;
        if !full {
            return Ok(seen);
        }
    }
}

/// Looks again at what does not fit among these objects, and reports what stays so. `again` reads
/// objects by their keys; one that is gone has nothing wrong with it any more.
pub(super) async fn report_lasting<K, R, F>(
    findings: &Findings,
    rows: Vec<R>,
    key: impl Fn(&R) -> K,
    again: impl Fn(Vec<K>) -> F,
    judge: impl Fn(&R) -> Vec<Violation>,
) -> Result<(), Error>
where
    K: Clone + PartialEq,
    F: Future<Output = Result<Vec<R>, Error>>,
{
    let judged = |rows: Vec<R>| -> Vec<(K, Vec<Violation>)> {
        let each = rows.iter().map(|row| (key(row), judge(row)));
        each.filter(|(_, wrong)| !wrong.is_empty()).collect()
    };
    let mut wrong = judged(rows);
    for pause in PAUSES {
        if wrong.is_empty() {
            return Ok(());
        }
        tokio::time::sleep(pause).await;
        let keys = wrong.iter().map(|(key, _)| key.clone()).collect();
        let now = judged(again(keys).await?);
        wrong = now.into_iter().filter_map(|object| lasting(object, &wrong)).collect();
    }
    for violation in wrong.into_iter().flat_map(|(_, violations)| violations) {
        findings.violated(violation);
    }
    Ok(())
}

/// What is wrong with an object now and was wrong with it before. The words may have changed: a
/// saga may have gone a step further and be stuck there.
fn lasting<K: PartialEq>(
    (key, now): (K, Vec<Violation>),
    before: &[(K, Vec<Violation>)],
) -> Option<(K, Vec<Violation>)> {
    let (_, before) = before.iter().find(|(other, _)| *other == key)?;
    let was = |violation: &Violation| before.iter().any(|old| old.kind == violation.kind);
    let lasting: Vec<Violation> = now.into_iter().filter(was).collect();
    (!lasting.is_empty()).then_some((key, lasting))
}
