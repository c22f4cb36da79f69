//! A switch on ports of its own, and those who talk to it.

use dpd_client::types::{MacAddr, NatTarget};
use dpd_client::{Client, Timeouts};
use dpd_sim::config::Config;
use dpd_sim::control::State;
use dpd_sim::dpd::Dpd;
use nexus_common::Vni;
use serde_json::Value;
use sim_kit::Simulator;
use slog::{Logger, o};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub const A6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

pub struct Switch {
    pub simulator: Simulator<Arc<Dpd>>,
    pub client: Client,
    pub http: reqwest::Client,
}

impl Switch {
    pub async fn start(more: &str) -> Switch {
        let text = format!(
            "bind = \"127.0.0.1:0\"\nsim_bind = \"127.0.0.1:0\"\nslot = \"switch0\"\n{more}"
        );
        let config: Config = toml::from_str(&text).expect("a configuration");
        let log = Logger::root(slog::Discard, o!());
        let simulator = dpd_sim::start(config, log).await.expect("a switch");
        let client = dpd_client::client(&simulator.url(), timeouts(30_000)).expect("a client");
        let http = nexus_common::client::http_client(timeouts(30_000)).expect("a client");
        Switch { simulator, client, http }
    }

    pub async fn fault(&self, fault: Value) {
        let url = format!("{}/sim/faults", self.simulator.sim_url());
        let answer = self.http.post(url).json(&fault).send().await.expect("an answer");
        assert_eq!(answer.status(), 204);
    }

    pub async fn clear_faults(&self) {
        let url = format!("{}/sim/faults", self.simulator.sim_url());
        let answer = self.http.delete(url).send().await.expect("an answer");
        assert_eq!(answer.status(), 204);
    }

    pub async fn get(&self, path: &str) -> Value {
        let url = format!("{}{path}", self.simulator.sim_url());
        let answer = self.http.get(url).send().await.expect("an answer");
        assert_eq!(answer.status(), 200);
        answer.json().await.expect("JSON")
    }

    pub async fn state(&self) -> State {
        serde_json::from_value(self.get("/sim/state").await).expect("a state")
    }

    /// Waits until the switch is in a state, and fails the test if it never is.
    pub async fn until(&self, what: &str, reached: impl Fn(&State) -> bool) {
        let start = Instant::now();
        while !reached(&self.state().await) {
            assert!(start.elapsed() < Duration::from_secs(20), "never: {what}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

pub fn timeouts(request_ms: u64) -> Timeouts {
    let request = Duration::from_millis(request_ms);
    Timeouts { connect: request, request }
}

pub fn target(guest: u8) -> NatTarget {
    NatTarget {
        internal_ip: "fd00:1122:3344:101::1".parse().expect("an address"),
        inner_mac: MacAddr { a: [0xA8, 0x40, 0x25, 0xF0, 0, guest] },
        vni: Vni::try_from(1024).expect("a VNI"),
    }
}
