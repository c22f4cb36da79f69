//! The control plane: floating IPs from the API to the packets.
//!
//! A request's way is one direction: `http → app → db`, or `http → app → sagas → db, dataplane`.

// The bundled libpq is linked through this.
use pq_sys as _;

pub mod app;
pub mod background;
pub mod config;
pub mod dataplane;
pub mod db;
pub mod http;
pub mod sagas;
pub mod turns;
