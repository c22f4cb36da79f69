//! What answers said is true: which object has a name, which instance a floating IP belongs to,
//! which ephemeral IP an instance has, and whether a range or a link is there.

use super::{Names, Violation};
use crate::history::{Entry, Outcome, Time};
use crate::register::{Register, Value};
use crate::request::{LINK, RANGES, Request, fip_name, instance_name, range_name, spare_range};
use std::collections::BTreeMap;

/// How long a request whose outcome is not known may go on: it is waited for, its server dies, and
/// another one takes over what it was doing.
pub const HORIZON: Time = 90_000_000;

/// Every value of which answers tell.
#[derive(Debug, Default)]
pub struct Values {
    /// The id that a name stands for, or whether there is a range or a link.
    names: BTreeMap<String, Register>,
    /// The instance of a floating IP, by the id and the name of the floating IP.
    owners: BTreeMap<(String, String), Register>,
    /// The ephemeral IP of the instance of this name.
    ephemeral: BTreeMap<String, Register>,
    /// The address of each floating IP, by its id.
    addresses: BTreeMap<String, String>,
}

/// When something happened, and until when it may have.
#[derive(Clone, Copy)]
struct When {
    start: Time,
    end: Time,
    latest: Time,
}

impl Values {
    /// Collects them.
    pub fn of(entries: &[Entry]) -> Self {
        let mut values = Values::default();
        for (request, outcome) in entries.iter().filter_map(Entry::request) {
            values.begin(request, outcome);
        }
        for entry in entries {
            if let Some((request, outcome)) = entry.request() {
                let latest =
                    if unknown(outcome) { entry.end.saturating_add(HORIZON) } else { entry.end };
                let when = When { start: entry.start, end: entry.end, latest };
                values.names(request, outcome, when);
                values.owners(request, outcome, when);
                values.ephemeral(request, outcome, when);
                values.pool(request, outcome, when);
            }
        }
        values
    }

    /// Makes the registers: at first there is nothing.
    fn begin(&mut self, request: &Request, outcome: &Outcome) {
        let absent = || {
            let mut register = Register::default();
            register.certain(Value::Absent, 0, 0);
            register
        };
        for object in request.objects() {
            self.ephemeral.entry(object.clone()).or_insert_with(absent);
            self.names.entry(object).or_insert_with(absent);
        }
        if let Some((id, name, ip)) = outcome.success().and_then(floating_ip) {
            self.owners.entry((id.clone(), name)).or_insert_with(absent);
            self.addresses.insert(id, ip);
        }
    }

    /// What an answer tells about who has which name.
    fn names(&mut self, request: &Request, outcome: &Outcome, when: When) {
        let When { start, end, latest } = when;
        let id = outcome.success().and_then(|body| body["id"].as_str());
        let id = || id.map(|id| Value::Is(id.to_string()));
        let (name, is_instance) = match request {
            Request::FipCreate { fip, .. }
            | Request::FipDelete { fip }
            | Request::FipView { fip }
            | Request::FipAttach { fip, .. }
            | Request::FipDetach { fip } => (fip_name(*fip), false),
            Request::InstanceCreate { instance, .. }
            | Request::InstanceDelete { instance }
            | Request::InstanceView { instance }
            | Request::Start { instance }
            | Request::Stop { instance }
            | Request::Reboot { instance } => (instance_name(*instance), true),
            _ => return,
        };
        let Some(register) = self.names.get_mut(&name) else { return };
        match (request, outcome) {
            (Request::FipCreate { .. } | Request::InstanceCreate { .. }, _) => match id() {
                Some(id) => register.certain(id, start, end),
                // An instance may have been there for a while and been undone.
                None if is_instance || unknown(outcome) => {
                    register.uncertain(Value::Any, start, latest);
                    register.uncertain(Value::Absent, start, latest);
                }
                None => {}
            },
            (
                Request::FipDelete { .. } | Request::InstanceDelete { .. },
                Outcome::Answer(204, _),
            ) => {
                register.certain(Value::Absent, start, end);
            }
            (Request::FipDelete { .. } | Request::InstanceDelete { .. }, _) if unknown(outcome) => {
                register.uncertain(Value::Absent, start, latest);
            }
            (Request::FipView { .. } | Request::InstanceView { .. }, Outcome::Answer(404, _)) => {
                register.read(Value::Absent, start, end);
            }
            _ => {
                if let Some(id) = id() {
                    register.read(id, start, end);
                }
            }
        }
    }

    /// What an answer tells about the instance that a floating IP belongs to.
    fn owners(&mut self, request: &Request, outcome: &Outcome, when: When) {
        let When { start, end, latest } = when;
        let view = outcome.success().and_then(|body| Some((floating_ip(body)?, owner(body))));
        if let Some(((id, name, _), owner)) = view {
            let Some(register) = self.owners.get_mut(&(id, name)) else { return };
            match request {
                Request::FipCreate { .. } => register.certain(owner, start, end),
                Request::FipAttach { .. } => register.certain(owner, start, end),
                Request::FipDetach { .. } => {
                    register.certain(Value::Absent, start, end);
                    register.read(owner, start, end);
                }
                _ => register.read(owner, start, end),
            }
            return;
        }
        let named = |instance: &usize| Value::Named(instance_name(*instance));
        let (fip, values) = match request {
            // One that is undone has been seen attached.
            Request::FipAttach { fip, instance } => {
                (Some(*fip), vec![named(instance), Value::Absent])
            }
            Request::InstanceCreate { instance, fip: Some(fip), .. } => {
                (Some(*fip), vec![named(instance), Value::Absent])
            }
            Request::FipDetach { fip } if unknown(outcome) => (Some(*fip), vec![Value::Absent]),
            Request::InstanceDelete { .. } if !outcome.refused() => (None, vec![Value::Absent]),
            _ => return,
        };
        for ((_, name), register) in &mut self.owners {
            if fip.is_none_or(|fip| fip_name(fip) == *name) {
                for value in &values {
                    register.uncertain(value.clone(), start, latest);
                }
            }
        }
    }

    /// What an answer tells about the ephemeral IP of an instance.
    fn ephemeral(&mut self, request: &Request, outcome: &Outcome, when: When) {
        let When { start, end, latest } = when;
        let instance = match request {
            Request::EphemeralAttach { instance }
            | Request::EphemeralDetach { instance }
            | Request::InstanceCreate { instance, .. }
            | Request::Addresses { instance }
            | Request::InstanceDelete { instance } => instance_name(*instance),
            _ => return,
        };
        let Some(register) = self.ephemeral.get_mut(&instance) else { return };
        match (request, outcome.success()) {
            (Request::EphemeralAttach { .. }, Some(body)) => {
                let ip = body["ip"].as_str().unwrap_or_default();
                register.certain(Value::Is(ip.to_string()), start, end);
            }
            (Request::Addresses { .. }, Some(body)) => {
                // One that is coming or going is not listed.
                if let Some(ip) = listed_ephemeral(body) {
                    register.read(Value::Is(ip), start, end);
                }
            }
            (Request::EphemeralDetach { .. } | Request::InstanceDelete { .. }, Some(_)) => {
                register.certain(Value::Absent, start, end);
            }
            (Request::EphemeralDetach { .. } | Request::InstanceDelete { .. }, None)
                if unknown(outcome) =>
            {
                register.uncertain(Value::Absent, start, latest);
            }
            (Request::InstanceCreate { ephemeral: true, .. }, Some(_)) => {
                register.uncertain(Value::Any, start, end);
            }
            (Request::EphemeralAttach { .. }, None)
            | (Request::InstanceCreate { ephemeral: true, .. }, None) => {
                register.uncertain(Value::Any, start, latest);
                register.uncertain(Value::Absent, start, latest);
            }
            _ => {}
        }
    }

    /// What an answer tells about the ranges and the link of the spare pool.
    fn pool(&mut self, request: &Request, outcome: &Outcome, when: When) {
        let When { start, end, latest } = when;
        let here = || Value::Is("there".to_string());
        let (name, value) = match request {
            Request::RangeAdd { range } => (range_name(*range), here()),
            Request::RangeRemove { range } => (range_name(*range), Value::Absent),
            Request::Link => (LINK.to_string(), here()),
            Request::Unlink => (LINK.to_string(), Value::Absent),
            Request::Ranges | Request::Links => {
                let Some(body) = outcome.success() else { return };
                for (name, is_there) in listed(request, body) {
                    let value = if is_there { here() } else { Value::Absent };
                    if let Some(register) = self.names.get_mut(&name) {
                        register.read(value, start, end);
                    }
                }
                return;
            }
            _ => return,
        };
        let Some(register) = self.names.get_mut(&name) else { return };
        if outcome.success().is_some() {
            register.certain(value, start, end);
        } else if unknown(outcome) {
            register.uncertain(value, start, latest);
        }
    }

    /// The reads that nothing explains.
    pub fn check(&self, names: &Names) -> Vec<Violation> {
        let mut violations = Vec::new();
        let kinds = [(&self.names, "stands for"), (&self.ephemeral, "has the ephemeral IP")];
        for (registers, verb) in kinds {
            for (name, register) in registers {
                for read in register.unexplained(|effect, read| same(effect, read, names)) {
                    let what = format!("{name} {verb} {}", shown(&read.value, read.start));
                    violations.push(Violation::new([name.clone()], read.end, what));
                }
            }
        }
        for ((id, name), register) in &self.owners {
            for read in register.unexplained(|effect, read| same(effect, read, names)) {
                let what = format!("{name} ({id}) belongs to {}", shown(&read.value, read.start));
                violations.push(Violation::new([name.clone()], read.end, what));
            }
        }
        violations
    }

    /// The floating IPs, by id and name, that may have had an address and belonged to an instance
    /// at some moment of an interval.
    pub fn may_own(&self, ip: &str, instance: &str, names: &Names, during: (Time, Time)) -> bool {
        let instance = Value::Is(instance.to_string());
        self.owners.iter().any(|((id, _), register)| {
            self.addresses.get(id).is_some_and(|address| address == ip)
                && may_be(register, &instance, names, during)
        })
    }

    /// Whether an instance may have had an ephemeral IP at some moment of an interval: `Some(true)`
    /// if that address is known to have been its, `None` if it may have been any.
    pub fn may_have_ephemeral(
        &self,
        ip: &str,
        name: &str,
        names: &Names,
        during: (Time, Time),
    ) -> Option<bool> {
        let Some(register) = self.ephemeral.get(name) else { return Some(false) };
        let possible = register.possible(during, |effect, other| same(effect, other, names));
        let possible: Vec<_> = possible.collect();
        if possible.contains(&&Value::Is(ip.to_string())) {
            return Some(true);
        }
        if possible.contains(&&Value::Any) { None } else { Some(false) }
    }
}

/// Whether a request may have done what it was to do, or not, or may still.
fn unknown(outcome: &Outcome) -> bool {
    outcome.success().is_none() && !outcome.refused()
}

/// Whether an effect's value is what was read.
fn same(effect: &Value, read: &Value, names: &Names) -> bool {
    match (effect, read) {
        (Value::Any, Value::Is(_)) => true,
        // An instance that no answer has named may be that of any name.
        (Value::Named(name), Value::Is(id)) => names.name(id).is_none_or(|known| known == name),
        (effect, read) => effect == read,
    }
}

/// Whether a value may have been this one at some moment of an interval.
fn may_be(register: &Register, value: &Value, names: &Names, during: (Time, Time)) -> bool {
    let same = |effect: &Value, other: &Value| same(effect, other, names);
    register.possible(during, same).any(|effect| same(effect, value))
}

fn shown(value: &Value, at: Time) -> String {
    let what = match value {
        Value::Is(what) => what,
        _ => "nothing",
    };
    format!("{what} at {:.3}, which nothing explains", at as f64 / 1e6)
}

/// Id, name and address in the view of a floating IP.
fn floating_ip(body: &serde_json::Value) -> Option<(String, String, String)> {
    body.get("instance_id")?;
    let text = |field: &str| body[field].as_str().map(str::to_string);
    Some((text("id")?, text("name")?, text("ip")?))
}

fn owner(body: &serde_json::Value) -> Value {
    let id = body["instance_id"].as_str();
    id.map_or(Value::Absent, |id| Value::Is(id.to_string()))
}

fn listed_ephemeral(body: &serde_json::Value) -> Option<String> {
    let items = body["items"].as_array()?;
    let found = items.iter().find(|item| item["kind"] == "ephemeral")?;
    found["ip"].as_str().map(str::to_string)
}

/// Which of the spare pool's ranges, or whether its link, is in a listing.
fn listed(request: &Request, body: &serde_json::Value) -> Vec<(String, bool)> {
    let empty = Vec::new();
    let items = body["items"].as_array().unwrap_or(&empty);
    if matches!(request, Request::Links) {
        return vec![(LINK.to_string(), !items.is_empty())];
    }
    let is_there = |range: usize| {
        let first = spare_range(range).0.to_string();
        items.iter().any(|item| item["range"]["first"] == first.as_str())
    };
    (0..RANGES).map(|range| (range_name(range), is_there(range))).collect()
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::check::made::{attach, beginning, detach, done, fip, lost};
    use serde_json::json;

    fn violations(more: Vec<Entry>) -> usize {
        let entries: Vec<_> = beginning().into_iter().chain(more).collect();
        let names = Names::of(&entries);
        Values::of(&entries).check(&names).len()
    }

    fn view(start: Time, end: Time, instance: serde_json::Value) -> Entry {
        done(start, end, Request::FipView { fip: 0 }, 200, fip(instance))
    }

    #[test]
    fn an_attach_is_seen_until_a_detach() {
        assert_eq!(
            violations(vec![
                attach(10, 20, 0),
                view(21, 22, json!("A")),
                detach(30, 40),
                view(35, 36, json!("A")),
                view(41, 42, json!(null)),
            ]),
            0
        );
    }

    #[test]
    fn an_attach_that_is_lost_is_a_violation() {
        assert_eq!(violations(vec![attach(10, 20, 0), view(21, 22, json!(null))]), 1);
    }

    #[test]
    fn a_detach_that_is_lost_is_a_violation() {
        let entries = vec![attach(10, 20, 0), detach(30, 40), view(41, 42, json!("A"))];
        assert_eq!(violations(entries), 1);
    }

    #[test]
    fn an_attach_to_one_that_shows_at_another_is_a_violation() {
        assert_eq!(violations(vec![attach(10, 20, 0), view(21, 22, json!("B"))]), 1);
    }

    #[test]
    fn an_attach_without_an_answer_may_be_seen_or_not() {
        let request = Request::FipAttach { fip: 0, instance: 1 };
        for seen in [json!("B"), json!(null)] {
            assert_eq!(violations(vec![lost(10, 20, request.clone()), view(30, 31, seen)]), 0);
        }
        assert_eq!(violations(vec![lost(10, 20, request), view(30, 31, json!("A"))]), 1);
    }

    #[test]
    fn a_refused_detach_has_changed_nothing() {
        let refused = done(30, 40, Request::FipDetach { fip: 0 }, 400, json!({}));
        assert_eq!(violations(vec![attach(10, 20, 0), refused, view(41, 42, json!(null))]), 1);
    }

    #[test]
    fn a_delete_of_the_instance_detaches() {
        let delete = done(30, 40, Request::InstanceDelete { instance: 0 }, 204, json!(null));
        assert_eq!(violations(vec![attach(10, 20, 0), delete, view(41, 42, json!(null))]), 0);
    }

    #[test]
    fn what_is_deleted_is_gone_and_what_is_not_is_there() {
        let gone = |start| done(start, start + 1, Request::FipView { fip: 0 }, 404, json!({}));
        assert_eq!(violations(vec![gone(10)]), 1);
        let delete = done(10, 20, Request::FipDelete { fip: 0 }, 204, json!(null));
        assert_eq!(violations(vec![delete.clone(), gone(21)]), 0);
        assert_eq!(violations(vec![delete, view(21, 22, json!(null))]), 1);
    }

    #[test]
    fn ranges_that_were_added_are_listed() {
        let add = done(10, 20, Request::RangeAdd { range: 0 }, 201, json!({}));
        let item = json!({"range": {"first": spare_range(0).0, "last": spare_range(0).1}});
        let list = |items| done(30, 31, Request::Ranges, 200, json!({"items": items}));
        assert_eq!(violations(vec![add.clone(), list(json!([item]))]), 0);
        assert_eq!(violations(vec![add, list(json!([]))]), 1);
    }
}
