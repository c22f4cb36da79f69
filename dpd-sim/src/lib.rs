//! A simulated dpd.

pub mod api;
pub mod types;
