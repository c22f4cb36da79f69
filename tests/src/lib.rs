//! What the tests of the running system share.
//!
//! A test is a client of a rack: it speaks HTTP to Nexus and to the control ports of the
//! simulators, and knows nothing of what is inside. [`TestRack::start`] starts a rack of its own
//! for it, on a database of its own, in about a second:
//!
//! ```no_run
//! use nexus_tests::TestRack;
//! use serde_json::json;
//!
//! # async fn test() {
//! let rack = TestRack::start().await;
//! rack.project("demo").await;
//! let fip = rack.floating_ip("demo", "front").await;
//! let web = rack.running_instance("demo", "web").await;
//! let body = json!({"kind": "instance", "parent": web["id"]});
//! rack.post("/v1/floating-ips/front/attach?project=demo", body).await.expect(202);
//! rack.delivered_to(&fip, &web).await;
//! rack.settled().await;
//! # }
//! ```
//!
//! * [`rack`]: the rack, its parts, crashes and restarts;
//! * [`client`]: requests and what to expect of answers;
//! * [`make`]: projects, pools, addresses, instances and disks;
//! * [`sim`]: the simulators: packets, faults, state;
//! * [`settled`]: what must hold when nothing is going on;
//! * [`tenants`]: silos, users, roles, logins;
//! * [`wait`]: waiting for a condition, within a bound;
//! * [`postgres`]: one database server for all tests of a process.

#![warn(missing_docs)]
#![allow(clippy::expect_used, reason = "a test that cannot go on panics")]

pub mod client;
pub mod make;
pub mod metrics;
pub mod postgres;
pub mod rack;
pub mod settled;
pub mod sim;
pub mod tenants;
pub mod wait;

pub use client::{Client, Reply};
pub use rack::TestRack;
pub use wait::eventually;
