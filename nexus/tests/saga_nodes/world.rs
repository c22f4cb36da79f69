//! What the world looks like from outside: what the API says, and what switches and sleds hold.

use crate::process::World;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A look at everything that a saga may change, without what no user cares about: times, and the
/// ids of VMMs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    pub instances: BTreeSet<String>,
    floating_ips: BTreeSet<String>,
    addresses: BTreeSet<String>,
    nat: BTreeSet<String>,
    ports: BTreeSet<String>,
}

fn lines(values: impl IntoIterator<Item = Value>) -> BTreeSet<String> {
    values.into_iter().map(|value| value.to_string()).collect()
}

/// What is said of an instance.
pub fn instance_line(name: &Value, state: &str) -> String {
    json!([name, state]).to_string()
}

impl World {
    pub async fn look(&self) -> Look {
        let rack = &self.rack;
        let instances = rack.all("/v1/instances?project=demo").await;
        let fips = rack.all("/v1/floating-ips?project=demo").await;
        let mut addresses = Vec::new();
        for instance in &instances {
            addresses.extend(
                rack.external_ips_and_snat(instance)
                    .await
                    .into_iter()
                    .map(|ip| json!([instance["name"], ip["kind"], ip["ip"], ip["first_port"]])),
            );
        }
        let mut nat = Vec::new();
        for (n, switch) in rack.switches().iter().enumerate() {
            let state = switch.state().await;
            let table = state["nat"].as_array().expect("a table").clone();
            nat.extend(table.into_iter().map(|entry| json!([n, entry])));
        }
        let mut ports = Vec::new();
        for (n, sled) in rack.sleds().iter().enumerate() {
            let state = sled.state().await;
            let list = state["ports"].as_array().expect("ports").clone();
            ports.extend(list.into_iter().map(|port| json!([n, port["ip"], port["external_ips"]])));
        }
        Look {
            instances: instances
                .iter()
                .map(|i| instance_line(&i["name"], i["run_state"].as_str().expect("a state")))
                .collect(),
            floating_ips: lines(fips.into_iter().map(|ip| json!([ip["name"], ip["instance_id"]]))),
            addresses: lines(addresses),
            nat: lines(nat),
            ports: lines(ports),
        }
    }
}
