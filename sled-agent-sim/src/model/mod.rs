//! A sled as a state machine, without I/O and without a clock.
//!
//! Everything that happens to a sled is a method of [`Sled`], which changes it and notes
//! [effects](Effect): what Nexus is to be told, and what comes later.

mod effect;
mod external_ips;
mod migration;
mod outbox;
mod packets;
mod port;
mod refusal;
mod routes;
mod sled;
#[cfg(test)]
mod test;
mod vmm;

pub use effect::{Effect, Step, StepKind, TakeOver};
pub use external_ips::{ExternalIps, OtherEphemeral, SnatBlock, Source, SourceKind};
pub use migration::TARGET_BOUND;
pub use outbox::Outbox;
pub use packets::{Arrival, NoWayOut};
pub use port::{Port, PortError};
pub use refusal::Refusal;
pub use routes::Routes;
pub use sled::{Pace, Sled};
pub use vmm::{Side, Vmm};
