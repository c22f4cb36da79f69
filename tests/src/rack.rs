//! A rack for one test.

use crate::client::Client;
use crate::postgres::{TestDatabase, TestPostgres};
use crate::sim::{Sim, ip_of};
use crate::wait::eventually;
use futures::future::join_all;
use nexus_dev::part::Part;
use nexus_dev::rack::{Options, Rack, Stop};
use nexus_dev::ready::Ready;
use serde_json::Value;
use std::net::IpAddr;
use std::ops::Deref;

/// A rack for one test, on a database of its own. It is also a [`Client`]: the one of the
/// administrator, at the newest version, at the first Nexus.
#[derive(Debug)]
pub struct TestRack {
    client: Client,
    ready: Ready,
    rack: Rack,
    // Dropped after the rack that uses it.
    database: TestDatabase,
}

/// A VMM and where it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vmm {
    /// The index of its sled.
    pub sled: usize,
    /// Its id.
    pub id: String,
}

impl TestRack {
    /// Starts a rack of one Nexus, two sleds and two switches, with the default pools.
    pub async fn start() -> Self {
        TestRack::with(|_| {}).await
    }

    /// Starts a rack that differs from the usual one.
    pub async fn with(change: impl FnOnce(&mut Options)) -> Self {
        let database = TestPostgres::shared().await.database().await;
        let mut options = Options::new().expect("this program has a directory");
        options.request.port = Some(0);
        options.request.database_url = Some(database.url());
        change(&mut options);
        let rack = Rack::start(options).await.expect("the rack starts");
        let ready = rack.ready();
        let client = Client::new(&ready.external_api[0]).with_token(&ready.token);
        TestRack { client, ready, rack, database }
    }

    /// Where everything is.
    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    /// The rack's processes and files.
    pub fn rack(&self) -> &Rack {
        &self.rack
    }

    /// The rack's database.
    pub fn database(&self) -> &TestDatabase {
        &self.database
    }

    /// The administrator's client, at this Nexus.
    pub fn nexus(&self, index: usize) -> Client {
        self.client.at(&self.ready.external_api[index])
    }

    /// A client of the internal API.
    pub fn internal(&self) -> Client {
        Client::new(&self.ready.internal_api[0]).at_version("1.0.0")
    }

    /// A client of the operator's API.
    pub fn operator(&self) -> Client {
        Client::new(&self.ready.operator_api[0]).without_version()
    }

    /// The control port of a switch.
    pub fn switch(&self, index: usize) -> Sim {
        Sim::new(&self.ready.switches[index].sim_url)
    }

    /// The control ports of all switches.
    pub fn switches(&self) -> Vec<Sim> {
        self.ready.switches.iter().map(|switch| Sim::new(&switch.sim_url)).collect()
    }

    /// The control port of a sled.
    pub fn sled(&self, index: usize) -> Sim {
        Sim::new(&self.ready.sled_agents[index].sim_url)
    }

    /// The control ports of all sleds.
    pub fn sleds(&self) -> Vec<Sim> {
        self.ready.sled_agents.iter().map(|sled| Sim::new(&sled.sim_url)).collect()
    }

    /// Ends a part at once, as a crash would.
    pub fn kill(&self, part: Part) {
        self.rack.kill(part).expect("a part of the rack");
    }

    /// Starts a part again and waits until it answers.
    pub async fn restart(&self, part: Part) {
        self.rack.restart(part).await.expect("it comes back");
    }

    /// The VMM of an instance, if it has one that runs.
    pub async fn vmm_of(&self, instance: &Value) -> Option<Vmm> {
        for (sled, sim) in self.sleds().into_iter().enumerate() {
            let state = sim.state().await;
            let vmms = state["vmms"].as_array().expect("a sled has a list of VMMs");
            let running = |vmm: &&Value| {
                vmm["instance_id"] == instance["id"]
                    && !matches!(vmm["state"].as_str(), Some("destroyed" | "failed"))
            };
            if let Some(vmm) = vmms.iter().find(running) {
                let id = vmm["id"].as_str().expect("a VMM has an id").to_string();
                return Some(Vmm { sled, id });
            }
        }
        None
    }

    /// What each switch does with a packet from outside to this address.
    pub async fn inbound(&self, ip: IpAddr, port: u16) -> Vec<Value> {
        let switches = self.switches();
        join_all(switches.iter().map(|switch| switch.inbound(ip, port))).await
    }

    /// Waits until every switch delivers packets for the address in `view` to the instance.
    pub async fn delivered_to(&self, view: &Value, instance: &Value) {
        let ip = ip_of(view);
        eventually(&format!("packets for {ip} are delivered"), async || {
            let vmm = self.vmm_of(instance).await;
            let answers = self.inbound(ip, 22).await;
            let there = |answer: &Value| {
                answer["delivered"] == true
                    && vmm.as_ref().is_some_and(|vmm| answer["vmm_id"] == vmm.id.as_str())
            };
            if answers.iter().all(there) { Ok(()) } else { Err((vmm, answers)) }
        })
        .await;
    }

    /// Waits until no switch delivers packets for the address in `view`.
    pub async fn not_delivered(&self, view: &Value) {
        let ip = ip_of(view);
        eventually(&format!("packets for {ip} are not delivered"), async || {
            let answers = self.inbound(ip, 22).await;
            if answers.iter().all(|a| a["delivered"] == false) { Ok(()) } else { Err(answers) }
        })
        .await;
    }

    /// Whether every switch delivers packets for the address in `view` to the instance, now. What
    /// the API has answered must already be true.
    pub async fn delivers_now(&self, view: &Value, instance: &Value) -> bool {
        let Some(vmm) = self.vmm_of(instance).await else { return false };
        let answers = self.inbound(ip_of(view), 22).await;
        answers.iter().all(|a| a["delivered"] == true && a["vmm_id"] == vmm.id.as_str())
    }

    /// What becomes of a packet that an instance sends.
    pub async fn outbound(&self, instance: &Value) -> Value {
        let vmm = self.vmm_of(instance).await.expect("the instance runs");
        self.sled(vmm.sled).outbound(&vmm.id, "203.0.113.9", 40_000).await
    }
}

impl Deref for TestRack {
    type Target = Client;
    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Drop for TestRack {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.show_logs();
        }
        // Nobody will resume it.
        self.rack.stop(Stop::Abrupt);
    }
}

impl TestRack {
    /// The ends of the logs: all that is left of a rack whose test has failed.
    fn show_logs(&self) {
        const LINES: usize = 60;
        for process in self.rack.processes() {
            let log = std::fs::read(&process.spec().log).unwrap_or_default();
            let log = String::from_utf8_lossy(&log);
            let lines: Vec<_> = log.lines().collect();
            let ended = process.ended().map_or(String::new(), |status| format!(" ({status})"));
            eprintln!("--- {}{ended}", process.name());
            // A server tells much; a simulator's last words are enough.
            let shown = if process.name().starts_with("nexus") { LINES } else { LINES / 6 };
            for line in &lines[lines.len().saturating_sub(shown)..] {
                eprintln!("{line}");
            }
        }
    }
}
