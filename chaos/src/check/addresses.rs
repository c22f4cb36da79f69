//! No address is held by two at once.

use super::Violation;
use crate::history::{Entry, Time};
use crate::request::{Request, fip_name, instance_name};
use std::collections::BTreeMap;

/// Who had an address, and from when until when this is certain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The address.
    pub ip: String,
    /// The name of the floating IP, or of the instance whose ephemeral IP it is.
    pub holder: String,
    /// When it certainly began at the latest.
    pub from: Time,
    /// When it may have ended at the earliest.
    pub until: Time,
}

/// All that is certain about who had which address.
pub fn holds(entries: &[Entry]) -> Vec<Hold> {
    let taken = |entry: &Entry| {
        let (request, outcome) = entry.request()?;
        let holder = match request {
            Request::FipCreate { fip, .. } => fip_name(*fip),
            Request::EphemeralAttach { instance } => instance_name(*instance),
            _ => return None,
        };
        let ip = outcome.success()?["ip"].as_str()?.to_string();
        let until = release(entries, &holder, entry);
        (until > entry.end).then_some(Hold { ip, holder, from: entry.end, until })
    };
    entries.iter().filter_map(taken).collect()
}

/// When a holder may have let go of what it took, at the earliest.
fn release(entries: &[Entry], holder: &str, taken: &Entry) -> Time {
    let releases = |entry: &&Entry| {
        let Some((request, outcome)) = entry.request() else { return false };
        let may = match request {
            Request::FipDelete { fip } => fip_name(*fip) == holder,
            Request::EphemeralDetach { instance } | Request::InstanceDelete { instance } => {
                instance_name(*instance) == holder
            }
            _ => false,
        };
        let latest = match outcome.success() {
            Some(_) => entry.end,
            None => entry.end.saturating_add(super::values::HORIZON),
        };
        may && !outcome.refused() && latest > taken.start
    };
    entries.iter().filter(releases).map(|entry| entry.start).min().unwrap_or(Time::MAX)
}

/// Finds addresses that two certainly had at the same time.
pub fn check(entries: &[Entry]) -> Vec<Violation> {
    let mut by_ip: BTreeMap<String, Vec<Hold>> = BTreeMap::new();
    for hold in holds(entries) {
        by_ip.entry(hold.ip.clone()).or_default().push(hold);
    }
    let mut violations = Vec::new();
    for (ip, holds) in by_ip {
        for (index, one) in holds.iter().enumerate() {
            for other in &holds[index + 1..] {
                let from = one.from.max(other.from);
                if one.holder != other.holder && from < one.until.min(other.until) {
                    let what = format!(
                        "{ip} is held by {} and by {} at {:.3}",
                        one.holder,
                        other.holder,
                        from as f64 / 1e6
                    );
                    let objects = [one.holder.clone(), other.holder.clone()];
                    violations.push(Violation::new(objects, from, what));
                }
            }
        }
    }
    violations
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::check::made::{done, lost};
    use serde_json::json;

    fn create(start: Time, fip: usize) -> Entry {
        let body = json!({"id": fip.to_string(), "ip": "10.77.0.3"});
        done(start, start + 5, Request::FipCreate { fip, spare: false }, 201, body)
    }

    #[test]
    fn one_after_the_other_may_have_an_address() {
        let delete = done(10, 15, Request::FipDelete { fip: 0 }, 204, json!(null));
        assert_eq!(check(&[create(1, 0), delete, create(12, 1)]), []);
        let nobody_knows = lost(10, 15, Request::FipDelete { fip: 0 });
        assert_eq!(check(&[create(1, 0), nobody_knows, create(30, 1)]), []);
    }

    #[test]
    fn two_at_once_may_not() {
        assert_eq!(check(&[create(1, 0), create(10, 1)]).len(), 1);
        let refused = done(7, 8, Request::FipDelete { fip: 0 }, 400, json!({}));
        assert_eq!(check(&[create(1, 0), refused, create(10, 1)]).len(), 1);
    }

    #[test]
    fn nor_may_an_ephemeral_and_a_floating_ip() {
        let attach = Request::EphemeralAttach { instance: 0 };
        let attach = done(10, 11, attach, 202, json!({"kind": "ephemeral", "ip": "10.77.0.3"}));
        assert_eq!(check(&[create(1, 0), attach]).len(), 1);
    }
}
