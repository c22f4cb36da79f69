//! What every part of the project means by a name, an address, a size and an
//! error.
//!
//! The types here validate when they are made (from a string, or by serde), so
//! that a value of the type is a valid value. They know nothing of HTTP
//! endpoints or of the database.

pub mod address;
pub mod bounded;
pub mod client;
pub mod error;
pub mod firewall;
pub mod name;
pub mod paging;
pub mod size;

pub use address::{IpRange, IpVersion, MacAddr, Vni};
pub use error::{Error, LookupBy, ResourceType};
pub use name::{Hostname, Name, NameOrId, UserId};
pub use paging::{Direction, PageBy, PageParams};
pub use size::ByteCount;
