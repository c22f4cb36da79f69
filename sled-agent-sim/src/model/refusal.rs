//! Why a sled agent does not do what it is asked to.

use crate::types::VmmState;
use std::net::IpAddr;
use uuid::Uuid;

/// Why a sled agent does not do what it is asked to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such VMM.
    NoSuchVmm(Uuid),
    /// The VMM has ended; only its last state is still to be reported.
    Terminating,
    /// The VMM belongs to another instance.
    OtherInstance(Uuid),
    /// The VMM cannot do that in its state.
    State(VmmState),
    /// The VMM has another ephemeral address of that version.
    OtherEphemeral(IpAddr),
    /// The VMM's network interfaces have no place for that external address.
    NoPlaceForIp(String),
    /// That migration is not, or no longer, under way.
    NoSuchMigration(Uuid),
}
