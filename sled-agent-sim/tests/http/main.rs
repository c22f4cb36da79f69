//! Simulated sleds, as those see them who talk to them over HTTP, and as Nexus hears of them.

#![allow(clippy::expect_used, reason = "what a test cannot go on without ends it")]

mod faults;
mod migration;
mod nexus;
mod packets;
mod registration;
mod sled;
mod vmm;
mod wire;
