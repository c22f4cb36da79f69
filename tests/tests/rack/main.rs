//! Black-box tests of a whole rack: database, Nexus, simulated switches and sleds.
//!
//! They are one program, so that they share one database server. Each file is about one thing that
//! users or operators care about.

#![allow(clippy::expect_used, reason = "a test that cannot go on panics")]

mod allocation;
mod api_versions;
mod at_scale;
mod audit_log;
mod checker;
mod console;
mod dataplane;
mod disks;
mod external_ips;
mod firewall;
mod floating_ips;
mod guides;
mod images;
mod instance_disks;
mod instance_update;
mod instances;
mod ip_pools;
mod logins;
mod malformed;
mod metrics;
mod networking;
mod networks;
mod old_spellings;
mod own_nexus;
mod paging;
mod ping_and_auth;
mod projects;
mod quotas;
mod races;
mod refusals;
mod run_all;
mod sagas;
mod sdk;
mod secrets;
mod sleds;
mod ssh_keys;
mod tenants;
mod transport;
mod walk;
mod who_may_compute;
