//! A sled on ports of its own, and those who talk to it.

use crate::nexus::Nexus;
use serde_json::{Value, json};
use sim_kit::Simulator;
use sled_agent_client::types::{InstanceEnsureBody, InstanceExternalIpBody, VmmStateRequested};
use sled_agent_client::{Client, Timeouts};
use sled_agent_sim::agent::Agent;
use sled_agent_sim::config::{Config, PeerConfig};
use slog::{Logger, o};
use std::sync::Arc;
use std::time::{Duration, Instant};
use uuid::Uuid;

pub const MAC: &str = "A8:40:25:F0:00:01";
pub const NIC_IP: &str = "172.30.0.5";

pub struct Sled {
    pub id: Uuid,
    pub simulator: Simulator<Arc<Agent>>,
    pub client: Client,
    pub http: reqwest::Client,
}

impl Sled {
    /// The sled with a number, in which its address on the underlay has its place too.
    pub async fn start(number: u128, nexus: &Nexus, peers: Vec<PeerConfig>) -> Sled {
        let id = Uuid::from_u128(0x1000 + number);
        let any = "127.0.0.1:0".parse().expect("an address");
        let config = Config {
            id,
            rack_id: Uuid::nil(),
            bind: any,
            sim_bind: any,
            underlay: format!("fd00:1122:3344:{number}::1").parse().expect("an address"),
            serial: format!("sled-{number}"),
            nexus: vec![nexus.url()],
            resources: Default::default(),
            peers,
            log: Default::default(),
        };
        let log = Logger::root(slog::Discard, o!());
        let simulator = sled_agent_sim::start(config, log).await.expect("a sled");
        let client = sled_agent_client::client(&simulator.url(), timeouts()).expect("a client");
        let http = nexus_common::client::http_client(timeouts()).expect("a client");
        Sled { id, simulator, client, http }
    }

    /// Has a VMM made and its guest booted.
    pub async fn run(&self, vmm: Uuid, nexus: &Nexus) {
        self.client.vmm_register(&vmm, &body(self.addr(), None)).await.expect("a VMM");
        self.put_state(vmm, VmmStateRequested::Running).await;
        nexus.until_state(vmm, nexus_internal_api::types::VmmState::Running).await;
    }

    pub async fn put_state(&self, vmm: Uuid, state: VmmStateRequested) {
        let body = sled_agent_client::types::VmmPutStateBody { state };
        self.client.vmm_put_state(&vmm, &body).await.expect("a request");
    }

    /// Where the VMMs of this sled listen.
    pub fn addr(&self) -> String {
        format!("[{}]:12400", self.simulator.context().config.underlay)
    }

    pub fn as_peer(&self) -> PeerConfig {
        let underlay = self.simulator.context().config.underlay;
        PeerConfig { underlay, sim_url: self.simulator.sim_url() }
    }

    pub async fn get(&self, path: &str) -> Value {
        let url = format!("{}{path}", self.simulator.sim_url());
        let answer = self.http.get(url).send().await.expect("an answer");
        assert_eq!(answer.status(), 200);
        answer.json().await.expect("JSON")
    }

    pub async fn post(&self, path: &str, body: Value) -> Value {
        let url = format!("{}{path}", self.simulator.sim_url());
        let answer = self.http.post(url).json(&body).send().await.expect("an answer");
        assert!(answer.status().is_success(), "{}", answer.text().await.expect("a body"));
        let body = answer.bytes().await.expect("a body");
        if body.is_empty() { Value::Null } else { serde_json::from_slice(&body).expect("JSON") }
    }

    pub async fn crash(&self, vmm: Uuid) {
        self.post(&format!("/sim/vmms/{vmm}/crash"), json!({})).await;
    }

    pub async fn pace(&self, pace: Value) {
        let url = format!("{}/sim/pace", self.simulator.sim_url());
        let answer = self.http.put(url).json(&pace).send().await.expect("an answer");
        assert_eq!(answer.status(), 204);
    }

    /// Waits until the sled is in a state, and fails the test if it never is.
    pub async fn until(&self, what: &str, reached: impl Fn(&Value) -> bool) {
        let start = Instant::now();
        loop {
            let state = self.get("/sim/state").await;
            if reached(&state) {
                return;
            }
            assert!(start.elapsed() < Duration::from_secs(20), "never: {what}: {state}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

pub fn timeouts() -> Timeouts {
    let request = Duration::from_secs(30);
    Timeouts { connect: request, request }
}

pub fn floating(ip: &str) -> InstanceExternalIpBody {
    InstanceExternalIpBody::Floating(ip.parse().expect("an address"))
}

pub fn ephemeral(ip: &str) -> InstanceExternalIpBody {
    InstanceExternalIpBody::Ephemeral(ip.parse().expect("an address"))
}

/// A VMM with one interface, IPv4 only, and source NAT.
pub fn body(propolis_addr: String, migration_id: Option<Uuid>) -> InstanceEnsureBody {
    let instance = Uuid::from_u128(7);
    let ip_config = json!({
        "type": "v4", "value": {"ip": NIC_IP, "subnet": "172.30.0.0/22", "transit_ips": []}
    });
    let nic = json!({
        "id": Uuid::from_u128(8), "kind": {"type": "instance", "id": instance}, "name": "net0",
        "ip_config": ip_config, "mac": MAC, "vni": 1024, "primary": true, "slot": 0
    });
    let snat = json!({"ip": "10.0.0.1", "first_port": 16384, "last_port": 32767});
    serde_json::from_value(json!({
        "vmm_spec": {
            "board": {
                "cpus": 2, "memory_mb": 1024,
                "chipset": {"type": "i440_fx", "value": {"enable_pcie": false}}
            },
            "components": {"com1": {"type": "serial_port", "component": {"num": "com1"}}}
        },
        "local_config": {
            "hostname": "web", "nics": [nic],
            "external_ips": {
                "v4": {"source_nat": snat, "ephemeral_ip": null, "floating_ips": []}, "v6": null
            },
            "attached_subnets": [], "multicast_groups": [], "firewall_rules": [],
            "dhcp_config": {"dns_servers": [], "host_domain": null, "search_domains": []},
            "delegated_zvols": [], "primary_nic_mtu": null
        },
        "vmm_runtime": {"state": "starting", "gen": 1, "time_updated": "2026-01-01T00:00:00Z"},
        "instance_id": instance, "migration_id": migration_id, "propolis_addr": propolis_addr,
        "metadata": {"silo_id": instance, "project_id": instance}
    }))
    .expect("a body")
}

/// Status and code of an error.
pub fn refusal<T>(
    result: Result<T, sled_agent_client::Error<sled_agent_client::types::Error>>,
) -> (u16, Option<String>) {
    match result.err().expect("a refusal") {
        sled_agent_client::Error::ErrorResponse(answer) => {
            let status = answer.status().as_u16();
            (status, answer.into_inner().error_code)
        }
        error => panic!("no answer: {error}"),
    }
}
