//! A whole rack on one machine, for development and for tests.
//!
//! The program `nexus-dev` is a thin command line over this library, and the tests use the library
//! directly: what a test has started is what a developer gets from `run-all`.
//!
//! * [`rack`]: start, drive and stop a rack;
//! * [`check`]: proves that a rack is consistent;
//! * [`layout`]: what a rack consists of, saved so that it can be resumed;
//! * [`postgres`]: the private database;
//! * [`process`], [`watchdog`]: processes that leave nothing behind;
//! * [`state_dir`], [`ports`], [`config`], [`seed`], [`ready`]: what these need.

#![warn(missing_docs)]

pub mod check;
pub mod config;
pub mod exec_postgres;
pub mod layout;
pub mod os_user;
pub mod part;
pub mod ports;
pub mod postgres;
pub mod proc_fs;
pub mod process;
pub mod rack;
pub mod ready;
pub mod run_all;
pub mod seed;
pub mod state_dir;
pub mod watchdog;
