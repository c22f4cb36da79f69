//! The checks of a history.

use crate::history::{Entry, Event, Time};
use std::collections::{BTreeMap, BTreeSet};

pub mod addresses;
pub mod answers;
pub mod packets;
pub mod values;

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The names of what it is about.
    pub objects: BTreeSet<String>,
    /// When it had been seen.
    pub at: Time,
    /// What is wrong.
    pub what: String,
}

impl Violation {
    /// A violation that is about these objects, and was seen at this time.
    pub fn new(objects: impl IntoIterator<Item = String>, at: Time, what: String) -> Self {
        Violation { objects: objects.into_iter().collect(), at, what }
    }

    /// What had happened to the objects of the violation until it was seen, in order. Requests
    /// that were refused have done nothing to them.
    pub fn story<'a>(&self, entries: &'a [Entry], names: &Names) -> Vec<&'a Entry> {
        let about = |name: &str| self.objects.contains(name);
        let touches = |entry: &&Entry| match &entry.event {
            Event::Request(request, outcome) => {
                !outcome.refused() && request.objects().first().is_some_and(|first| about(first))
            }
            Event::Packet(passed) => {
                about(&passed.ip.to_string()) && names.name(&passed.instance).is_some_and(about)
            }
            Event::Trouble(_) => false,
        };
        entries.iter().filter(|entry| entry.start <= self.at).filter(touches).collect()
    }
}

/// All violations of a history.
pub fn check(entries: &[Entry]) -> Vec<Violation> {
    let names = Names::of(entries);
    let values = values::Values::of(entries);
    let mut violations = answers::check(entries);
    violations.extend(values.check(&names));
    violations.extend(addresses::check(entries));
    violations.extend(packets::check(entries, &names, &values));
    violations.sort_by_key(|violation| violation.at);
    // What is wrong is often seen more than once.
    let mut seen = BTreeSet::new();
    violations.retain(|violation| seen.insert(violation.objects.clone()));
    violations
}

/// The names of instances by their ids, as answers told them.
#[derive(Debug, Default)]
pub struct Names(BTreeMap<String, String>);

impl Names {
    /// Collects them.
    pub fn of(entries: &[Entry]) -> Self {
        let bodies = entries.iter().filter_map(Entry::request).filter_map(|(_, o)| o.success());
        let named = |body: &serde_json::Value| {
            body.get("run_state")?;
            Some((body["id"].as_str()?.to_string(), body["name"].as_str()?.to_string()))
        };
        Names(bodies.filter_map(named).collect())
    }

    /// The name of the instance with an id.
    pub fn name(&self, id: &str) -> Option<&str> {
        self.0.get(id).map(String::as_str)
    }
}

#[cfg(test)]
pub(crate) mod made {
    //! Histories made by hand.

    use crate::history::{Entry, Event, Outcome, Passed, Time};
    use crate::request::Request;
    use serde_json::{Value, json};

    pub fn done(start: Time, end: Time, request: Request, status: u16, body: Value) -> Entry {
        let event = Event::Request(request, Outcome::Answer(status, body));
        Entry { who: "client".to_string(), start, end, event }
    }

    pub fn lost(start: Time, end: Time, request: Request) -> Entry {
        let event = Event::Request(request, Outcome::Lost("reset".to_string()));
        Entry { who: "client".to_string(), start, end, event }
    }

    pub fn packet(start: Time, end: Time, ip: &str, instance: &str) -> Entry {
        let ip = ip.parse().expect("an address");
        let passed = Passed { way: "in".to_string(), ip, instance: instance.to_string() };
        Entry { who: "prober".to_string(), start, end, event: Event::Packet(passed) }
    }

    /// Instances `i0` (`A`) and `i1` (`B`), and the floating IP `f0` (`F`, 10.77.0.0).
    pub fn beginning() -> Vec<Entry> {
        let instance = |instance, id: &str| {
            let body = json!({"id": id, "name": format!("i{instance}"), "run_state": "running"});
            let request = Request::InstanceCreate { instance, ephemeral: false, fip: None };
            done(1, 2, request, 201, body)
        };
        let create = Request::FipCreate { fip: 0, spare: false };
        vec![instance(0, "A"), instance(1, "B"), done(1, 2, create, 201, fip(Value::Null))]
    }

    pub fn fip(instance: Value) -> Value {
        json!({"id": "F", "name": "f0", "ip": "10.77.0.0", "instance_id": instance})
    }

    pub fn attach(start: Time, end: Time, instance: usize) -> Entry {
        let id = ["A", "B"][instance];
        let request = Request::FipAttach { fip: 0, instance };
        done(start, end, request, 202, fip(json!(id)))
    }

    pub fn detach(start: Time, end: Time) -> Entry {
        done(start, end, Request::FipDetach { fip: 0 }, 202, fip(Value::Null))
    }
}

#[cfg(test)]
mod test {
    use super::made::{attach, beginning, detach, done, packet};
    use super::*;
    use crate::request::Request;
    use serde_json::json;

    #[test]
    fn a_story_holds_what_matters_until_it_was_seen() {
        let refused = done(45, 46, Request::FipDetach { fip: 0 }, 400, json!({}));
        let elsewhere = done(45, 46, Request::FipView { fip: 1 }, 200, json!({}));
        let wrong = packet(50, 51, "10.77.0.0", "A");
        let again = packet(55, 56, "10.77.0.0", "A");
        let more = [attach(10, 20, 0), detach(30, 40), refused, elsewhere, wrong, again];
        let entries: Vec<_> = beginning().into_iter().chain(more).collect();
        let violations = check(&entries);
        assert_eq!(violations.len(), 1, "one that is seen twice is told once: {violations:?}");
        let story = violations[0].story(&entries, &Names::of(&entries));
        let starts: Vec<_> = story.iter().map(|entry| entry.start).collect();
        assert_eq!(starts, [1, 1, 10, 30, 50], "{story:?}");
    }
}
