//! What Nexus is still to be told about a VMM.
//!
//! The states of a VMM are reported in order. When a report does not get through, those that came
//! after it are worth more than it: the last of them says everything that the others would have
//! said, and so it is the only one that is tried again.

use crate::types::SledVmmState;
use std::collections::VecDeque;

/// The states of a VMM that Nexus has not been told, the oldest first.
#[derive(Debug, Default)]
pub struct Outbox(VecDeque<SledVmmState>);

impl Outbox {
    /// There is a new state.
    pub fn push(&mut self, state: SledVmmState) {
        self.0.push_back(state);
    }

    /// The state that is to be told next.
    pub fn next(&self) -> Option<&SledVmmState> {
        self.0.front()
    }

    /// Nexus has been told the next state, or will never want to hear it.
    pub fn done(&mut self) {
        self.0.pop_front();
    }

    /// Nexus could not be told the next state.
    pub fn failed(&mut self) {
        self.0.drain(..self.0.len().saturating_sub(1));
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::types::{Generation, VmmRuntimeState, VmmState};
    use chrono::DateTime;

    fn state(generation: u64) -> SledVmmState {
        SledVmmState {
            vmm_state: VmmRuntimeState {
                state: VmmState::Running,
                generation: Generation::try_from(generation).expect("a generation"),
                time_updated: DateTime::UNIX_EPOCH,
            },
            migration_in: None,
            migration_out: None,
        }
    }

    #[test]
    fn states_are_told_in_order() {
        let mut outbox = Outbox::default();
        (1..=3).for_each(|n| outbox.push(state(n)));
        for n in 1..=3 {
            assert_eq!(outbox.next(), Some(&state(n)));
            outbox.done();
        }
        assert_eq!(outbox.next(), None);
    }

    #[test]
    fn after_a_failure_only_the_last_counts() {
        let mut outbox = Outbox::default();
        outbox.push(state(1));
        outbox.failed();
        assert_eq!(outbox.next(), Some(&state(1)), "it is all there is");
        outbox.push(state(2));
        outbox.push(state(3));
        outbox.failed();
        assert_eq!(outbox.next(), Some(&state(3)));
        outbox.done();
        outbox.failed();
        assert_eq!(outbox.next(), None);
    }
}
