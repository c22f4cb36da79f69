//! The calls that a daemon has had, so that a test can see who asked for what and when.

use crate::fault::FaultKind;
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// How many calls are kept.
pub const CALLS_MAX: usize = 1_000;

/// A call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    /// When it came.
    pub time: DateTime<Utc>,
    /// The operation, by its id in the daemon's OpenAPI document.
    pub operation: String,
    /// The path that it was about.
    pub path: String,
    /// Whether the daemon did what it was asked to, or refused it by its own rules. It did not if
    /// a fault came first.
    pub reached_daemon: bool,
    /// The status that it was answered with; none if it was not answered.
    pub status: Option<u16>,
    /// The fault that it met.
    pub fault: Option<FaultKind>,
}

/// The last [`CALLS_MAX`] calls, in the order in which they were dealt with.
#[derive(Debug, Default)]
pub struct Calls(VecDeque<Call>);

impl Calls {
    /// Keeps a call, and forgets the oldest if there are too many.
    pub fn record(&mut self, call: Call) {
        if self.0.len() == CALLS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(call);
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Those that are kept.
    pub fn list(&self) -> Vec<Call> {
        self.0.iter().cloned().collect()
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_oldest_calls_are_forgotten() {
        let mut calls = Calls::default();
        for n in 0..CALLS_MAX + 5 {
            calls.record(Call {
                time: DateTime::UNIX_EPOCH,
                operation: n.to_string(),
                path: String::new(),
                reached_daemon: true,
                status: Some(200),
                fault: None,
            });
        }
        let kept = calls.list();
        assert_eq!(kept.len(), CALLS_MAX);
        assert_eq!(kept[0].operation, "5");
    }
}
