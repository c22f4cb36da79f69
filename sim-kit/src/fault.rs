//! Faults: what goes wrong with the next calls.
//!
//! The set of them is a list. A call meets the oldest that is about its operation, and uses up one
//! of its times. A fault that has been used up leaves the list; one that has no number of times
//! stays until all are cleared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The operation of a fault that is about every operation.
pub const EVERY_OPERATION: &str = "*";

/// What goes wrong with the next calls of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The operation, by its id in the daemon's OpenAPI document; `*` is every operation.
    pub operation: String,
    /// What goes wrong.
    pub fault: FaultKind,
    /// The status of an error's answer, 400 or above.
    #[serde(default = "default_status")]
    pub status: u16,
    /// How long a delay is, in milliseconds.
    #[serde(default)]
    pub delay_ms: u64,
    /// Whether the change is made before things go wrong.
    #[serde(default)]
    pub after_apply: bool,
    /// How many calls it is about; 0 is every call until faults are cleared.
    #[serde(default = "default_times")]
    pub times: u32,
}

fn default_status() -> u16 {
    503
}

fn default_times() -> u32 {
    1
}

/// What goes wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// It is answered with an error.
    Error,
    /// It is not answered until faults are cleared, and then the connection is closed.
    Hang,
    /// The connection is closed without an answer.
    Disconnect,
    /// It is answered late, and also carried out late unless it was to be before. It is even if
    /// the client has left by then: a slow daemon does not know.
    Delay,
}

/// The faults that are set, the oldest first.
#[derive(Debug, Default)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Sets another.
    pub fn add(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    /// Clears all.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Those that are set, each with the times that it has left.
    pub fn list(&self) -> &[Fault] {
        &self.0
    }

    /// The fault that a call of an operation meets, which this call uses up.
    pub fn meet(&mut self, operation: &str) -> Option<Fault> {
        let is_about =
            |fault: &Fault| fault.operation == EVERY_OPERATION || fault.operation == operation;
        let at = self.0.iter().position(is_about)?;
        match self.0[at].times {
            0 => Some(self.0[at].clone()),
            1 => Some(self.0.remove(at)),
            _ => {
                self.0[at].times -= 1;
                Some(self.0[at].clone())
            }
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn fault(operation: &str, status: u16, times: u32) -> Fault {
        Fault {
            operation: operation.to_string(),
            fault: FaultKind::Error,
            status,
            delay_ms: 0,
            after_apply: false,
            times,
        }
    }

    /// The statuses that calls of these operations meet.
    fn met(faults: &mut Faults, calls: &[&str]) -> Vec<Option<u16>> {
        calls.iter().map(|call| faults.meet(call).map(|fault| fault.status)).collect()
    }

    #[test]
    fn times_are_used_up_by_calls_of_that_operation_only() {
        let mut faults = Faults::default();
        faults.add(fault("put", 503, 2));
        let seen = met(&mut faults, &["get", "put", "get", "put", "put"]);
        assert_eq!(seen, [None, Some(503), None, Some(503), None]);
        assert!(faults.list().is_empty());
    }

    #[test]
    fn faults_add_up_and_the_oldest_comes_first() {
        let mut faults = Faults::default();
        faults.add(fault("put", 500, 1));
        faults.add(fault("*", 503, 1));
        faults.add(fault("put", 504, 1));
        assert_eq!(
            met(&mut faults, &["put", "put", "put", "put"]),
            [Some(500), Some(503), Some(504), None]
        );
    }

    #[test]
    fn times_of_every_operation_count_together() {
        let mut faults = Faults::default();
        faults.add(fault("*", 503, 2));
        assert_eq!(met(&mut faults, &["get", "put", "get"]), [Some(503), Some(503), None]);
    }

    #[test]
    fn without_a_number_a_fault_lasts_until_cleared() {
        let mut faults = Faults::default();
        faults.add(fault("put", 503, 0));
        assert_eq!(met(&mut faults, &["put"; 100]), [Some(503); 100]);
        faults.clear();
        assert_eq!(met(&mut faults, &["put"]), [None]);
    }

    #[test]
    fn a_fault_says_little_and_nothing_unknown() {
        let read = |s: &str| serde_json::from_str::<Fault>(s);
        let short = read(r#"{"operation": "*", "fault": "error"}"#).expect("a fault");
        assert_eq!(short, fault("*", 503, 1));
        read(r#"{"operation": "*", "fault": "error", "delay": 5}"#).expect_err("a misspelt delay");
        read(r#"{"operation": "*", "fault": "burn"}"#).expect_err("an unknown fault");
    }
}
