//! A simulated switch, as those see it who talk to it over HTTP.

#![allow(clippy::expect_used, reason = "what a test cannot go on without ends it")]

mod faults;
mod nat;
mod pull;
mod switch;
