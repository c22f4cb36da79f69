//! The control port: what only a simulator has.

use crate::dpd::Dpd;
use crate::model::Entry;
use dropshot::{ApiDescription, HttpError, HttpResponseOk, RequestContext, TypedBody, endpoint};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_kit::packet::Delivery;
use std::net::IpAddr;
use std::sync::Arc;

/// Everything that a switch holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct State {
    /// The NAT table.
    pub nat: Vec<Entry>,
    /// The generation of the last change that was taken from Nexus.
    pub generation: i64,
}

/// A packet from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Inbound {
    /// The external address that it is for.
    pub ip: IpAddr,
    /// The port that it is for.
    pub port: u16,
}

/// What the control port serves.
pub fn api() -> anyhow::Result<ApiDescription<Arc<Dpd>>> {
    let mut api = ApiDescription::new();
    api.register(sim_state)?;
    api.register(sim_inbound)?;
    sim_kit::control::register(&mut api)?;
    Ok(api)
}

/// Fetch everything that the switch holds
#[endpoint { method = GET, path = "/sim/state" }]
async fn sim_state(rqctx: RequestContext<Arc<Dpd>>) -> Result<HttpResponseOk<State>, HttpError> {
    let nat = rqctx.context().nat();
    Ok(HttpResponseOk(State { nat: nat.entries(), generation: nat.generation() }))
}

/// Follow a packet from outside on its way through the switch and the sled
#[endpoint { method = POST, path = "/sim/inbound" }]
async fn sim_inbound(
    rqctx: RequestContext<Arc<Dpd>>,
    body: TypedBody<Inbound>,
) -> Result<HttpResponseOk<Delivery>, HttpError> {
    let Inbound { ip, port } = body.into_inner();
    Ok(HttpResponseOk(rqctx.context().inbound(ip, port).await))
}
