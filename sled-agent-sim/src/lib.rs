//! A simulated sled agent.

pub mod api;
pub mod types;
