//! What the model wants done outside of it.
//!
//! The model does no I/O and knows no clock. A change that takes time, and everything that others
//! have to be told, is an effect: the model notes it, and whoever changes the model carries it out
//! afterwards.

use crate::types::SledVmmState;
use std::net::SocketAddr;
use std::time::Duration;
use uuid::Uuid;

/// Something to be done outside of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nexus is told of the state of a VMM.
    Report {
        /// The VMM.
        vmm: Uuid,
        /// Its state.
        state: SledVmmState,
    },
    /// Nexus need not be told of a VMM any more, not even what was to be reported before.
    Unreport {
        /// The VMM.
        vmm: Uuid,
    },
    /// A step is taken later.
    Later {
        /// How much later.
        after: Duration,
        /// The step.
        step: Step,
    },
    /// An instance is taken over from another sled.
    TakeOver(TakeOver),
}

/// A step of a VMM that takes time to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The VMM.
    pub vmm: Uuid,
    /// Which plan of the VMM the step belongs to. If the VMM has another by the time, the step is
    /// not taken.
    pub plan: u64,
    /// What the step is.
    pub kind: StepKind,
}

/// A step of a VMM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// The guest has booted.
    Booted,
    /// The guest has stopped, and the VMM ends.
    Stopped,
    /// The VMM that takes over the instance has not been heard of for too long.
    TargetLost {
        /// How often it had been heard of when the waiting began.
        heard: u64,
    },
}

/// An instance that is to be taken over from a VMM on another sled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakeOver {
    /// The VMM that takes it over.
    pub vmm: Uuid,
    /// The plan of that VMM, as in [`Step`].
    pub plan: u64,
    /// The instance.
    pub instance_id: Uuid,
    /// The migration.
    pub migration_id: Uuid,
    /// Where the VMM listens that has the instance.
    pub source: SocketAddr,
    /// How long it takes.
    pub after: Duration,
}
