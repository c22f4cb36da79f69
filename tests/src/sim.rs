//! The control ports of the simulators: packets, faults, state.

use crate::client::Client;
use serde_json::{Value, json};
use std::net::IpAddr;

/// The control port of a simulated switch or sled.
#[derive(Clone, Debug)]
pub struct Sim {
    client: Client,
}

impl Sim {
    /// The control port at `url`.
    pub fn new(url: &str) -> Self {
        Sim { client: Client::new(url).without_version() }
    }

    /// Everything that it holds.
    pub async fn state(&self) -> Value {
        self.client.get("/sim/state").await.expect(200)
    }

    /// Lets the next calls of an operation go wrong: `fault` is what `POST /sim/faults` takes.
    pub async fn fault(&self, fault: Value) {
        let reply = self.client.post("/sim/faults", fault).await;
        assert!(reply.status < 300, "{}: {:#}", reply.request, reply.body);
    }

    /// Lets every call of every operation fail until faults are cleared, as a daemon that is down.
    pub async fn down(&self) {
        self.fault(json!({"operation": "*", "fault": "disconnect", "times": 0})).await;
    }

    /// Takes back every fault, and lets go of calls that hang.
    pub async fn clear_faults(&self) {
        let reply = self.client.delete("/sim/faults").await;
        assert!(reply.status < 300, "{}: {:#}", reply.request, reply.body);
    }

    /// The last calls of the daemon.
    pub async fn calls(&self) -> Vec<Value> {
        let calls = self.client.get("/sim/calls").await.expect(200);
        calls.as_array().or(calls["items"].as_array()).expect("a list of calls").clone()
    }

    /// How many of the last calls were of this operation.
    pub async fn calls_of(&self, operation: &str) -> usize {
        self.calls().await.iter().filter(|call| call["operation"] == operation).count()
    }

    /// What becomes of a packet from outside that comes to this switch.
    pub async fn inbound(&self, ip: IpAddr, port: u16) -> Value {
        self.client.post("/sim/inbound", json!({"ip": ip, "port": port})).await.expect(200)
    }

    /// What becomes of a packet that a guest on this sled sends.
    pub async fn outbound(&self, vmm: &str, dst: &str, port: u16) -> Value {
        let body = json!({"vmm_id": vmm, "dst": dst, "port": port});
        self.client.post("/sim/outbound", body).await.expect(200)
    }

    /// Lets a VMM on this sled crash.
    pub async fn crash(&self, vmm: &str) {
        let reply = self.client.call(&format!("/sim/vmms/{vmm}/crash")).await;
        assert!(reply.status < 300, "{}: {:#}", reply.request, reply.body);
    }

    /// Sets how long VMMs on this sled take to boot, stop and migrate.
    pub async fn pace(&self, boot_ms: u64, stop_ms: u64, migrate_ms: u64) {
        let body = json!({"boot_ms": boot_ms, "stop_ms": stop_ms, "migrate_ms": migrate_ms});
        let reply = self.client.put("/sim/pace", body).await;
        assert!(reply.status < 300, "{}: {:#}", reply.request, reply.body);
    }
}

/// The address in a view: of a floating IP, or of an element of `external-ips`.
pub fn ip_of(view: &Value) -> IpAddr {
    let ip = view["ip"].as_str().expect("a view with an address");
    ip.parse().expect("an address")
}
