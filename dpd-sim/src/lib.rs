//! A simulated switch daemon, dpd.
//!
//! It serves the NAT operations of the real daemon's API ([`api`], [`types`]) from a table that
//! does no I/O ([`model`]); the [`server`] connects the two. With `mode = "pull"` the
//! [`reconciler`] fills the table from Nexus. The [`control`] port shows the table, and follows a
//! packet through it and on to a simulated sled. Nothing is kept: a switch that starts has an empty
//! table.

#![warn(missing_docs)]

pub mod api;
pub mod config;
pub mod control;
pub mod dpd;
pub mod model;
pub mod reconciler;
pub mod server;
pub mod types;

use crate::api::dpd_api_mod;
use crate::config::{Config, NatMode};
use crate::dpd::Dpd;
use crate::reconciler::Reconciler;
use crate::server::Server;
use anyhow::Result;
use sim_kit::{Gate, NexusClients, SimContext, Simulator};
use slog::Logger;
use std::sync::Arc;

/// Starts a switch. It fails if the configuration does not fit or a port is taken.
pub async fn start(config: Config, log: Logger) -> Result<Simulator<Arc<Dpd>>> {
    let api = dpd_api_mod::api_description::<Server>()?;
    let nexus = NexusClients::new(&config.nexus)?;
    let gate = Gate::new(&api, api::VERSION)?;
    let dpd = Arc::new(Dpd::new(&config, gate, log.clone())?);
    let daemon = sim_kit::Server {
        api,
        bind: config.bind,
        version_policy: api::version_policy(),
        request_body_max: api::REQUEST_BODY_MAX,
    };
    let control = sim_kit::Server::control(control::api()?, config.sim_bind);
    let simulator = Simulator::start(Arc::clone(&dpd), daemon, control, &log)?;
    if config.nat.mode == NatMode::Pull {
        let page_size = config.nat.page_size.0.get();
        let reconciler = Reconciler::new(Arc::clone(&dpd), nexus, page_size);
        dpd.tasks().spawn(reconciler.run());
    }
    Ok(simulator)
}
