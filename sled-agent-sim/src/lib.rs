//! A simulated sled agent.
//!
//! It serves the operations of the real agent that Nexus uses ([`api`], [`types`]) from a sled that
//! is a state machine ([`model`]); the [`server`] connects the two, and the [`agent`] carries out
//! what the model wants done: it lets time pass, tells Nexus of VMMs ([`reports`]), and takes over
//! instances from other sleds ([`take_over`]). It tells Nexus that the sled is there
//! ([`registration`]). The [`control`] port shows everything, and answers what would become of a
//! packet. Nothing is kept: a sled that starts has no VMMs.

#![warn(missing_docs)]

pub mod agent;
pub mod api;
pub mod config;
pub mod control;
pub mod model;
pub mod peer;
pub mod registration;
pub mod reports;
pub mod server;
pub mod take_over;
pub mod types;

use crate::agent::Agent;
use crate::api::sled_agent_api_mod;
use crate::config::Config;
use crate::server::Server;
use anyhow::Result;
use sim_kit::{Gate, SimContext, Simulator};
use slog::Logger;
use std::sync::Arc;

/// Starts a sled. It fails if a port is taken.
pub async fn start(config: Config, log: Logger) -> Result<Simulator<Arc<Agent>>> {
    let api = sled_agent_api_mod::api_description::<Server>()?;
    let gate = Gate::new(&api, api::VERSION)?;
    let (bind, sim_bind) = (config.bind, config.sim_bind);
    let agent = Arc::new(Agent::new(config, gate, log.clone())?);
    let daemon = sim_kit::Server {
        api,
        bind,
        version_policy: api::version_policy(),
        request_body_max: api::REQUEST_BODY_MAX,
    };
    let control = sim_kit::Server::control(control::api()?, sim_bind);
    let simulator = Simulator::start(Arc::clone(&agent), daemon, control, &log)?;
    agent.tasks().spawn(registration::run(Arc::clone(&agent)));
    Ok(simulator)
}
