//! The APIs of Nexus that no user sees.
//!
//! * [`internal`]: what sled agents and switches call. It is versioned: a sled and Nexus are not
//!   updated at the same moment, so every request says in the header `api-version` which version
//!   it speaks.
//! * [`operator`]: what the operator's tools call, on a listener of its own: sagas, background
//!   tasks, migration. It is not versioned: the tools are delivered with the Nexus that they talk
//!   to.
//!
//! Neither asks who calls. That both can be reached only from inside the rack is for the network
//! to ensure.

pub mod internal;
pub mod operator;
pub mod types;
