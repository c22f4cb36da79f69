//! A packet reaches, or leaves, only an instance that may have had its address at that time.

use super::addresses::holds;
use super::values::Values;
use super::{Names, Violation};
use crate::history::{Entry, Event, Time};

/// Finds packets that reached the wrong instance, or left it with the wrong address.
pub fn check(entries: &[Entry], names: &Names, values: &Values) -> Vec<Violation> {
    let holds = holds(entries);
    // Somebody certainly had the address all the time, and not as an ephemeral IP of `name`.
    let taken = |ip: &str, name: &str, (start, end): (Time, Time)| {
        let covers = |from: Time, until: Time| from <= start && until >= end;
        holds.iter().any(|h| h.ip == ip && h.holder != name && covers(h.from, h.until))
    };
    let of = |entry: &Entry| {
        let Event::Packet(passed) = &entry.event else { return None };
        let (ip, during) = (passed.ip.to_string(), (entry.start, entry.end));
        if values.may_own(&ip, &passed.instance, names, during) {
            return None;
        }
        // Of an instance that no answer has named, nothing is known.
        let name = names.name(&passed.instance)?;
        let may = values.may_have_ephemeral(&ip, name, names, during);
        if may.unwrap_or_else(|| !taken(&ip, name, during)) {
            return None;
        }
        let holds = holds.iter().filter(|h| h.ip == ip && h.from <= entry.end);
        let holder = holds.max_by_key(|h| h.from).map(|h| h.holder.clone());
        let objects = [name.to_string(), ip.clone()].into_iter().chain(holder);
        let what = format!("{name} cannot have had the address of this packet: {entry}");
        Some(Violation::new(objects, entry.end, what))
    };
    entries.iter().filter_map(of).collect()
}

#[cfg(test)]
mod test {
    use crate::check::made::{attach, beginning, detach, done, lost, packet};
    use crate::history::Entry;
    use crate::request::Request;
    use serde_json::json;

    fn violations(more: Vec<Entry>) -> usize {
        let entries: Vec<_> = beginning().into_iter().chain(more).collect();
        crate::check::check(&entries).len()
    }

    #[test]
    fn a_packet_comes_to_whom_the_address_belongs() {
        assert_eq!(violations(vec![attach(10, 20, 0), packet(30, 31, "10.77.0.0", "A")]), 0);
        assert_eq!(violations(vec![attach(10, 20, 0), packet(15, 16, "10.77.0.0", "A")]), 0);
        assert_eq!(violations(vec![attach(10, 20, 0), packet(30, 31, "10.77.0.0", "B")]), 1);
    }

    #[test]
    fn not_any_more_after_a_move() {
        let moved = [attach(10, 20, 0), detach(30, 40), attach(50, 60, 1)];
        let with = |packet| moved.iter().cloned().chain([packet]).collect();
        assert_eq!(violations(with(packet(35, 36, "10.77.0.0", "A"))), 0);
        assert_eq!(violations(with(packet(41, 45, "10.77.0.0", "A"))), 1);
        assert_eq!(violations(with(packet(61, 62, "10.77.0.0", "A"))), 1);
        assert_eq!(violations(with(packet(61, 62, "10.77.0.0", "B"))), 0);
    }

    #[test]
    fn an_ephemeral_ip_that_nobody_told_may_be_any_free_address() {
        let unknown = lost(5, 6, Request::EphemeralAttach { instance: 1 });
        let free = packet(30, 31, "10.77.0.9", "B");
        assert_eq!(violations(vec![unknown.clone(), free]), 0);
        let taken = packet(30, 31, "10.77.0.0", "B");
        assert_eq!(violations(vec![unknown, taken]), 1);
    }

    #[test]
    fn an_ephemeral_ip_is_its_instances_until_it_is_detached() {
        let body = json!({"kind": "ephemeral", "ip": "10.77.0.5"});
        let take = done(10, 20, Request::EphemeralAttach { instance: 1 }, 202, body);
        let detach = done(30, 40, Request::EphemeralDetach { instance: 1 }, 204, json!(null));
        let at = |start| packet(start, start + 1, "10.77.0.5", "B");
        assert_eq!(violations(vec![take.clone(), at(25), detach.clone()]), 0);
        assert_eq!(violations(vec![take, detach, at(45)]), 1);
    }
}
