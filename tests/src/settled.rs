//! What must hold when nothing is going on: the API, the switches and the sleds tell the same, and
//! the checker finds nothing.
//!
//! The first expectation is computed from what the API shows and from nothing else. An address is
//! to be in every switch's NAT table and on a port exactly if it belongs to an instance that has a
//! VMM. Once that holds, the checker, which sees the database too, must agree.

use crate::rack::TestRack;
use crate::wait::within;
use nexus_dev::check::check;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Switches and sleds follow within seconds of the last fault; the rest is for a busy machine.
const BOUND: Duration = Duration::from_secs(30);

/// An external address with its first and last port.
type Mapping = (String, u64, u64);

impl TestRack {
    /// Waits until everything has settled; panics with what does not agree if it never does.
    pub async fn settled(&self) {
        within(BOUND, "everything has settled", async || self.disagreement().await).await;
    }

    /// What does not agree, if anything.
    async fn disagreement(&self) -> Result<(), Vec<String>> {
        let mut wrong = Vec::new();
        let mut expected = self.expected(&mut wrong).await;
        let mut ports = BTreeMap::new();
        for sled in self.sleds() {
            ports.extend(addresses_of_instances(&sled.state().await));
        }
        // What addresses the instances of other silos have is not told: switches are to have those
        // that their ports do.
        for instance in self.instances_of_other_silos().await {
            expected.extend(ports.get(&instance).cloned().map(|addresses| (instance, addresses)));
        }
        let mappings: BTreeSet<Mapping> = expected.values().flatten().cloned().collect();
        for (index, switch) in self.switches().iter().enumerate() {
            let found = nat_table(&switch.state().await);
            differ(&format!("NAT table of switch {index}"), &mappings, &found, &mut wrong);
        }
        let instances: BTreeSet<_> = expected.keys().chain(ports.keys()).collect();
        let none = BTreeSet::new();
        for instance in instances {
            let what = format!("ports of instance {instance}");
            let (should, do_have) = (expected.get(instance), ports.get(instance));
            differ(&what, should.unwrap_or(&none), do_have.unwrap_or(&none), &mut wrong);
        }
        if wrong.is_empty() { self.checked().await } else { Err(wrong) }
    }

    /// What the checker finds, or could not check.
    async fn checked(&self) -> Result<(), Vec<String>> {
        let outcome = check(self.ready()).await.map_err(|error| vec![format!("{error:#}")])?;
        let unchecked = outcome.unchecked.into_iter().map(|what| format!("not checked: {what}"));
        let wrong: Vec<String> = outcome.violations.into_iter().chain(unchecked).collect();
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }

    /// The instances of other silos that have a VMM.
    async fn instances_of_other_silos(&self) -> Vec<String> {
        const SLEDS: &str = "/v1/system/hardware/sleds";
        let silo = self.get("/v1/me").await.expect(200)["silo_name"].clone();
        let mut found = Vec::new();
        for sled in self.all(SLEDS).await {
            let sled = sled["id"].as_str().expect("a view has an id");
            let instances = self.all(&format!("{SLEDS}/{sled}/instances")).await;
            let others = instances.iter().filter(|instance| instance["silo_name"] != silo);
            let ids = others.map(|instance| instance["id"].as_str().expect("a view has an id"));
            found.extend(ids.map(str::to_string));
        }
        found
    }

    /// The addresses of every instance that has a VMM, as the API tells.
    async fn expected(&self, wrong: &mut Vec<String>) -> BTreeMap<String, BTreeSet<Mapping>> {
        let mut expected = BTreeMap::new();
        for project in self.all("/v1/projects").await {
            let project = project["id"].as_str().expect("a view has an id").to_string();
            let mut owners = BTreeMap::new();
            for instance in self.all(&format!("/v1/instances?project={project}")).await {
                let id = instance["id"].as_str().expect("a view has an id").to_string();
                let addresses = self.external_ips_and_snat(&instance).await;
                for fip in addresses.iter().filter(|ip| ip["kind"] == "floating") {
                    owners.insert(fip["id"].clone().to_string(), instance["id"].clone());
                }
                match instance["run_state"].as_str() {
                    Some("running" | "rebooting") => {
                        expected.insert(id, addresses.iter().map(mapping).collect());
                    }
                    Some("stopped" | "failed") => {}
                    other => wrong.push(format!("instance {} is {other:?}", instance["name"])),
                }
            }
            for fip in self.all(&format!("/v1/floating-ips?project={project}")).await {
                let owner = owners.get(&fip["id"].to_string()).cloned().unwrap_or_default();
                if fip["instance_id"] != owner {
                    wrong.push(format!(
                        "floating IP {} says it is with {}, but {owner} lists it",
                        fip["name"], fip["instance_id"]
                    ));
                }
            }
        }
        expected
    }
}

fn differ(
    what: &str,
    expected: &BTreeSet<Mapping>,
    found: &BTreeSet<Mapping>,
    wrong: &mut Vec<String>,
) {
    for (words, set) in
        [("lacks", expected.difference(found)), ("should not have", found.difference(expected))]
    {
        for (ip, first, last) in set {
            wrong.push(format!("{what} {words} {ip} ports {first}-{last}"));
        }
    }
}

/// The ports of an element of `external-ips`: all of them, but for source NAT.
fn mapping(address: &Value) -> Mapping {
    let ip = address["ip"].as_str().expect("an address").to_string();
    let port = |field: &str, otherwise| address[field].as_u64().unwrap_or(otherwise);
    (ip, port("first_port", 0), port("last_port", 65_535))
}

fn nat_table(state: &Value) -> BTreeSet<Mapping> {
    let entries = state["nat"].as_array().expect("a switch has a NAT table");
    let read = |entry: &Value| {
        let ip = entry["external"].as_str().expect("an address").to_string();
        Some((ip, entry["low"].as_u64()?, entry["high"].as_u64()?))
    };
    entries.iter().filter_map(read).collect()
}

/// What the ports of a sled accept, by instance.
fn addresses_of_instances(state: &Value) -> BTreeMap<String, BTreeSet<Mapping>> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut found: BTreeMap<String, BTreeSet<Mapping>> = BTreeMap::new();
    for port in list(&state["ports"]) {
        let vmms = list(&state["vmms"]);
        let vmm = vmms.iter().find(|vmm| vmm["id"] == port["vmm_id"]);
        let instance = vmm.and_then(|vmm| vmm["instance_id"].as_str());
        let addresses = found.entry(instance.unwrap_or("of no VMM").to_string()).or_default();
        let external = &port["external_ips"];
        for kind in ["floating", "ephemeral"] {
            for ip in list(&external[kind]) {
                let ip = ip.as_str().expect("an address").to_string();
                addresses.insert((ip, 0, 65_535));
            }
        }
        addresses.extend(list(&external["snat"]).iter().map(mapping));
    }
    found
}
