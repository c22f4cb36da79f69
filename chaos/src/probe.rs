//! The prober: sends packets, and notes whom they reach and with which address they leave.

use crate::faults::running;
use crate::history::{Event, Passed};
use crate::plan::{Packet, packets};
use crate::request::address;
use crate::rig::Rig;
use nexus_dev::part::Part;
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// Packets that were sent, and those that passed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Probed {
    /// Packets that a simulator has answered for.
    pub sent: usize,
    /// Packets that were delivered, or that left.
    pub passed: usize,
    /// Packets that passed at a VMM whose instance could not be found out.
    pub unknown: usize,
}

/// Sends packets until told to stop.
pub async fn run(rig: &Rig, seed: u64, stop: &AtomicBool) -> Probed {
    let mut prober = Prober::new(rig);
    for (packet, pause) in packets(seed) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        prober.send(packet).await;
        tokio::time::sleep(pause).await;
    }
    prober.probed
}

/// Sends packets, and remembers whose the VMMs are.
pub struct Prober<'a> {
    rig: &'a Rig,
    instances: BTreeMap<String, String>,
    /// What has been sent.
    pub probed: Probed,
}

impl<'a> Prober<'a> {
    /// A prober that has sent nothing.
    pub fn new(rig: &'a Rig) -> Self {
        Prober { rig, instances: BTreeMap::new(), probed: Probed::default() }
    }

    /// Sends a packet and notes what becomes of it. A simulator that is down tells nothing.
    pub async fn send(&mut self, packet: Packet) {
        let start = self.rig.history.now();
        let passed = match packet {
            Packet::In { switch, address } => self.inbound(switch, address).await,
            Packet::Out { sled, number } => self.outbound(sled, number).await,
        };
        if let Some(passed) = passed {
            self.rig.history.add("prober", start, Event::Packet(passed));
        }
    }

    async fn inbound(&mut self, switch: usize, number: usize) -> Option<Passed> {
        let ip = address(number);
        let body = json!({"ip": ip, "port": 22});
        let answer = self.ask(Part::Dpd(switch), "/sim/inbound", body).await?;
        self.probed.sent += 1;
        if answer["delivered"] != true {
            return None;
        }
        let instance = self.instance(answer["vmm_id"].as_str()?).await?;
        let way = format!("in by switch {switch}");
        Some(Passed { way, ip, instance })
    }

    async fn outbound(&mut self, sled: usize, number: usize) -> Option<Passed> {
        let part = Part::SledAgent(sled);
        let state = self.state(part).await?;
        let vmm = running(&state, number)?;
        let instance = vmm["instance_id"].as_str()?.to_string();
        let body = json!({"vmm_id": vmm["id"], "dst": "203.0.113.9", "port": 40_000});
        let answer = self.ask(part, "/sim/outbound", body).await?;
        self.probed.sent += 1;
        // Source NAT is nobody's to give or take.
        let ip = answer["source_ip"].as_str().filter(|_| answer["kind"] != "snat")?;
        self.probed.passed += 1;
        Some(Passed { way: format!("out from sled {sled}"), ip: ip.parse().ok()?, instance })
    }

    /// The instance that a VMM runs.
    async fn instance(&mut self, vmm: &str) -> Option<String> {
        if !self.instances.contains_key(vmm) {
            self.learn().await;
        }
        let instance = self.instances.get(vmm).cloned();
        match instance {
            Some(_) => self.probed.passed += 1,
            None => self.probed.unknown += 1,
        }
        instance
    }

    async fn learn(&mut self) {
        for sled in 0..self.rig.ready.sled_agents.len() {
            let state = self.state(Part::SledAgent(sled)).await.unwrap_or_default();
            for vmm in state["vmms"].as_array().into_iter().flatten() {
                if let (Some(id), Some(instance)) =
                    (vmm["id"].as_str(), vmm["instance_id"].as_str())
                {
                    self.instances.insert(id.to_string(), instance.to_string());
                }
            }
        }
    }

    async fn state(&self, part: Part) -> Option<Value> {
        let control = self.rig.control(part).ok()?;
        let reply = control.try_send(Method::GET, "/sim/state", None).await.ok()?;
        (reply.status == 200).then_some(reply.body)
    }

    async fn ask(&self, part: Part, path: &str, body: Value) -> Option<Value> {
        let control = self.rig.control(part).ok()?;
        let reply = control.try_send(Method::POST, path, Some(body)).await.ok()?;
        (reply.status == 200).then_some(reply.body)
    }
}
