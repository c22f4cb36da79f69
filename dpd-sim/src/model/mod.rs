//! The NAT table of a switch, without any I/O.

mod mappings;
mod table;

pub use mappings::{Mapping, Mappings, NatError};
pub use table::{Change, Entry, NatTable};
