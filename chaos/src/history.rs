//! What has happened: requests and their answers, packets and what became of them, and faults.

use crate::request::Request;
use serde_json::Value;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Microseconds since the beginning.
pub type Time = u64;

/// Something that has happened.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Who did it.
    pub who: String,
    /// When it began.
    pub start: Time,
    /// When it was known how it ended.
    pub end: Time,
    /// What it was.
    pub event: Event,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A request to Nexus.
    Request(Request, Outcome),
    /// A packet that carried an external address.
    Packet(Passed),
    /// Something that was made to go wrong, or was put right.
    Trouble(String),
}

/// What became of a request.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It was answered with this status and body.
    Answer(u16, Value),
    /// There was no answer, because of this.
    Lost(String),
}

/// A packet that was delivered to an instance, or left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The switch or the sled, and the direction, in words.
    pub way: String,
    /// The external address.
    pub ip: IpAddr,
    /// The id of the instance.
    pub instance: String,
}

impl Outcome {
    /// The status; none without an answer.
    pub fn status(&self) -> Option<u16> {
        match self {
            Outcome::Answer(status, _) => Some(*status),
            Outcome::Lost(_) => None,
        }
    }

    /// The body of a success.
    pub fn success(&self) -> Option<&Value> {
        match self {
            Outcome::Answer(200..=299, body) => Some(body),
            _ => None,
        }
    }

    /// Whether the request was refused, which means that nothing has come of it.
    pub fn refused(&self) -> bool {
        matches!(self, Outcome::Answer(400..=499 | 507, _))
    }
}

impl Entry {
    /// The request and its outcome, if it is one.
    pub fn request(&self) -> Option<(&Request, &Outcome)> {
        match &self.event {
            Event::Request(request, outcome) => Some((request, outcome)),
            _ => None,
        }
    }
}

/// A growing history.
#[derive(Debug)]
pub struct History {
    since: Instant,
    entries: Mutex<Vec<Entry>>,
}

impl Default for History {
    fn default() -> Self {
        History { since: Instant::now(), entries: Mutex::default() }
    }
}

impl History {
    /// The time now.
    pub fn now(&self) -> Time {
        self.since.elapsed().as_micros() as Time
    }

    /// Adds what began at `start` and ends now.
    pub fn add(&self, who: &str, start: Time, event: Event) {
        let entry = Entry { who: who.to_string(), start, end: self.now(), event };
        // Nothing panics while it holds the lock.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }

    /// All of it, in the order in which it began.
    pub fn entries(&self) -> Vec<Entry> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone();
        entries.sort_by_key(|entry| (entry.start, entry.end));
        entries
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether nothing has happened.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |time: Time| time as f64 / 1e6;
        write!(f, "{:9.3} – {:9.3} {:9} ", seconds(self.start), seconds(self.end), self.who)?;
        match &self.event {
            Event::Request(request, Outcome::Lost(why)) => {
                write!(f, "{request}: no answer ({why})")
            }
            Event::Request(request, Outcome::Answer(status, body)) => {
                write!(f, "{request}: {status}{}", told(body))
            }
            Event::Packet(Passed { way, ip, instance }) => write!(f, "{way} {ip} {instance}"),
            Event::Trouble(what) => f.write_str(what),
        }
    }
}

/// What matters of a body.
fn told(body: &Value) -> String {
    let one = |body: &Value| {
        ["id", "ip", "instance_id", "run_state", "message", "request_id"]
            .iter()
            .filter_map(|field| Some(format!(" {field} {}", body.get(field)?)))
            .collect::<String>()
    };
    match body["items"].as_array() {
        Some(items) => items.iter().map(|item| format!(" [{}]", one(item).trim())).collect(),
        None => one(body),
    }
}
