//! The rack that is tormented, and how its parts are reached.

use crate::history::{Event, History, Outcome, Time};
use crate::plan::{NEXUSES, SLEDS, SWITCHES};
use crate::request::{POOL, POOL_V6, PROJECT, Request, SPARE, pool_range, pool_v6_range};
use anyhow::{Context, Result, ensure};
use nexus_dev::layout::{self, NatMode};
use nexus_dev::part::Part;
use nexus_dev::rack::{Options, Rack, SILO};
use nexus_dev::ready::Ready;
use nexus_tests::make::with;
use nexus_tests::{Client, Reply};
use reqwest::Method;
use serde_json::{Value, json};
use std::path::Path;

/// A rack, and the history of what is done to it.
#[derive(Debug)]
pub struct Rig {
    /// The rack.
    pub rack: Rack,
    /// Where everything is.
    pub ready: Ready,
    /// What has happened.
    pub history: History,
    client: Client,
}

impl Rig {
    /// Starts a rack with a database of its own in a directory, and makes the project and the
    /// pools. The switches get NAT in this way.
    pub async fn start(dir: &Path, nat: NatMode) -> Result<Self> {
        let ready_file = dir.join("ready.json");
        let request = layout::Request {
            sleds: Some(SLEDS),
            switches: Some(SWITCHES),
            nexus: Some(NEXUSES),
            port: Some(0),
            nat: Some(nat),
            ..layout::Request::default()
        };
        let state_dir = Some(dir.join("rack"));
        let ready = Some(ready_file.clone());
        let options = Options { request, state_dir, ready_file: ready, ..Options::new()? };
        let rack = Rack::start(options).await?;
        let ready = rack.ready();
        let url = ready.external_api.first().context("a rack has a Nexus")?;
        let client = Client::new(url).with_token(&ready.token);
        let rig = Rig { rack, ready, history: History::default(), client };
        rig.furnish().await?;
        Ok(rig)
    }

    async fn furnish(&self) -> Result<()> {
        let named = |name: &str| json!({"name": name, "description": "for chaos"});
        self.make("/v1/projects", named(PROJECT)).await?;
        // The spare pool's ranges and link come from the clients.
        self.make("/v1/system/ip-pools", named(SPARE)).await?;
        for (pool, version, (first, last)) in
            [(POOL, "v4", pool_range()), (POOL_V6, "v6", pool_v6_range())]
        {
            let path = format!("/v1/system/ip-pools/{pool}");
            let body = with(named(pool), json!({"ip_version": version}));
            self.make("/v1/system/ip-pools", body).await?;
            self.make(&format!("{path}/ranges/add"), json!({"first": first, "last": last})).await?;
            let link = json!({"silo": SILO, "is_default": false});
            self.make(&format!("{path}/silos"), link).await?;
        }
        Ok(())
    }

    async fn make(&self, path: &str, body: Value) -> Result<()> {
        let reply = self.client.try_send(Method::POST, path, Some(body)).await?;
        ensure!(reply.status == 201, "{}: {}: {}", reply.request, reply.status, reply.body);
        Ok(())
    }

    /// A client of the external API of a Nexus.
    pub fn external(&self, nexus: usize) -> Client {
        let url = self.ready.external_api.get(nexus);
        url.map_or_else(|| self.client.clone(), |url| self.client.at(url))
    }

    /// A client of the operator's API of a Nexus.
    pub fn operator(&self, nexus: usize) -> Client {
        let url = self.ready.operator_api.get(nexus).map_or("", String::as_str);
        Client::new(url).without_version()
    }

    /// The control port of a switch or a sled.
    pub fn control(&self, part: Part) -> Result<Client> {
        let url = match part {
            Part::Dpd(index) => self.ready.switches.get(index).map(|switch| &switch.sim_url),
            Part::SledAgent(index) => self.ready.sled_agents.get(index).map(|sled| &sled.sim_url),
            Part::Postgres | Part::Nexus(_) => None,
        };
        Ok(Client::new(url.context("a simulator")?).without_version())
    }

    /// The simulated parts.
    pub fn simulators(&self) -> Vec<Part> {
        let is_simulator = |part: &Part| matches!(part, Part::Dpd(_) | Part::SledAgent(_));
        self.rack.parts().into_iter().filter(is_simulator).collect()
    }

    /// Makes a request to a Nexus, and notes what becomes of it.
    pub async fn request(&self, who: &str, nexus: usize, request: Request) -> Outcome {
        let client =
            if request.is_operators() { self.operator(nexus) } else { self.external(nexus) };
        let start = self.history.now();
        let (method, path, body) = request.http();
        let outcome = match client.try_send(method, &path, body).await {
            Ok(Reply { status, body, .. }) => Outcome::Answer(status, body),
            Err(error) => Outcome::Lost(innermost(&error)),
        };
        self.history.add(who, start, Event::Request(request, outcome.clone()));
        outcome
    }

    /// Notes something that was made to go wrong, or was put right.
    pub fn trouble(&self, start: Time, what: String) {
        self.history.add("trouble", start, Event::Trouble(what));
    }
}

/// The cause of an error that says most.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
