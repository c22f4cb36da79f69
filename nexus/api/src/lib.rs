//! The external API of Nexus: what users, the console, the CLI and the SDKs talk to.
//!
//! Here is what the API *is*: the operations ([`api`]) and their versions ([`version`]), the types
//! that they take and give ([`types`]), and the ways of reading a request that several of them
//! share ([`paging`], [`compat`]). What the operations *do* is in the `nexus` crate, which
//! implements the trait. The OpenAPI document is generated from here, doc comments included.

pub mod api;
pub mod compat;
// The code that schemars derives for a flattened field qualifies the field's type and gives the
// result the field's own place, so that the lint takes the qualification for one of ours.
#[allow(unused_qualifications)]
pub mod older;
pub mod paging;
// As above.
#[allow(unused_qualifications)]
pub mod types;
pub mod version;
