//! What the ports on the simulated sleds have, against what they are to have.
//!
//! What a sled holds comes in one answer; what is intended is read page by page and struck off.
//! Nexus and the sleds are not read at one moment, so what does not fit is read again, and only
//! what does not fit at any look is a violation.

use crate::ready::{Ready, ReadySled};
use anyhow::{Context, Result};
use nexus_client::operator::Client;
use nexus_client::operator::types::IntendedPort;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;
use uuid::Uuid;

/// The pauses before the second look and the third, which is the last.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(400)];
/// VMMs on one page.
const PAGE: NonZeroU32 = NonZeroU32::new(500).unwrap();
/// How long a simulator may take to show what it holds.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What the comparison has found.
#[derive(Debug, Default)]
pub struct Ports {
    pub violations: Vec<String>,
    pub unchecked: Vec<String>,
    /// VMMs whose ports were compared.
    pub compared: usize,
}

/// An external address of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Address {
    Floating(IpAddr),
    Ephemeral(IpAddr),
    Snat(IpAddr, u16, u16),
}

impl Address {
    fn ip(self) -> IpAddr {
        match self {
            Address::Floating(ip) | Address::Ephemeral(ip) | Address::Snat(ip, ..) => ip,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Floating(ip) => write!(f, "the floating IP {ip}"),
            Address::Ephemeral(ip) => write!(f, "the ephemeral IP {ip}"),
            Address::Snat(ip, first, last) => {
                write!(f, "the SNAT IP {ip} (ports {first} to {last})")
            }
        }
    }
}

/// What a simulated sled shows of itself, as far as it matters here.
#[derive(Deserialize)]
struct SledState {
    vmms: Vec<SledVmm>,
    ports: Vec<SledPort>,
}

#[derive(Deserialize)]
struct SledVmm {
    id: Uuid,
    state: String,
}

#[derive(Deserialize)]
struct SledPort {
    vmm_id: Uuid,
    external_ips: ExternalIps,
}

#[derive(Deserialize)]
struct ExternalIps {
    floating: Vec<IpAddr>,
    ephemeral: Vec<IpAddr>,
    snat: Vec<SnatBlock>,
}

#[derive(Deserialize)]
struct SnatBlock {
    ip: IpAddr,
    first_port: u16,
    last_port: u16,
}

/// The VMMs that have not ended, each with the sleds that have it and the addresses of its ports
/// there.
type Held = BTreeMap<Uuid, BTreeMap<Uuid, BTreeSet<Address>>>;

/// All that the sleds hold, and those of them that did not tell.
struct Sleds {
    held: Held,
    silent: BTreeMap<Uuid, String>,
}

/// Compares what all sleds of the rack have with what they are to have.
pub async fn check(ready: &Ready, api: &Client) -> Result<Ports> {
    let http = reqwest::Client::builder().no_proxy().timeout(TIMEOUT).build()?;
    let mut ports = Ports::default();
    let mut sleds = read(&http, &ready.sled_agents).await;
    let mut suspects = strike_off(api, &ready.sled_agents, &mut sleds, &mut ports).await?;
    suspects.extend(sleds.held.into_keys());
    let mut silent = sleds.silent;
    let mut wrong = BTreeMap::new();
    for pause in PAUSES {
        if suspects.is_empty() {
            break;
        }
        tokio::time::sleep(pause).await;
        let sleds = read(&http, &ready.sled_agents).await;
        wrong = BTreeMap::new();
        for vmm in std::mem::take(&mut suspects) {
            let intended = intended(api, vmm).await?;
            let lines = judge(vmm, intended.as_ref(), &sleds);
            if !lines.is_empty() {
                suspects.insert(vmm);
                wrong.insert(vmm, lines);
            }
        }
        silent.extend(sleds.silent);
    }
    let say = |(id, why)| format!("sled {id}: its ports: {why}");
    ports.unchecked.extend(silent.into_iter().map(say));
    ports.violations.extend(wrong.into_values().flatten());
    Ok(ports)
}

/// Takes what is as intended from what the sleds have. Returns the VMMs that are not.
async fn strike_off(
    api: &Client,
    known: &[ReadySled],
    sleds: &mut Sleds,
    ports: &mut Ports,
) -> Result<BTreeSet<Uuid>> {
    let mut suspects = BTreeSet::new();
    let mut strangers = BTreeSet::new();
    let mut token: Option<String> = None;
    loop {
        let page = api.check_port_list(Some(PAGE), token.as_deref(), None).await?.into_inner();
        for port in &page.items {
            if !known.iter().any(|sled| sled.id == port.sled_id) {
                strangers.insert(port.sled_id);
            } else if !sleds.silent.contains_key(&port.sled_id) {
                ports.compared += 1;
                if !judge(port.vmm_id, Some(port), sleds).is_empty() {
                    suspects.insert(port.vmm_id);
                }
            }
            sleds.held.remove(&port.vmm_id);
        }
        match page.next_page {
            Some(next) => token = Some(next),
            None => break,
        }
    }
    let say = |id| format!("sled {id}: its ports: it is not in the ready file");
    ports.unchecked.extend(strangers.into_iter().map(say));
    Ok(suspects)
}

/// What the ports of a VMM are to have; none if it is to have no ports.
async fn intended(api: &Client, vmm: Uuid) -> Result<Option<IntendedPort>> {
    match api.check_port_view(&vmm).await {
        Ok(port) => Ok(Some(port.into_inner())),
        Err(error) if error.status().is_some_and(|status| status.as_u16() == 404) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

async fn read(http: &reqwest::Client, sleds: &[ReadySled]) -> Sleds {
    let mut all = Sleds { held: BTreeMap::new(), silent: BTreeMap::new() };
    for sled in sleds {
        match state(http, sled).await {
            Ok(state) => hold(&mut all.held, sled.id, state),
            Err(error) => {
                all.silent.insert(sled.id, format!("{error:#}"));
            }
        }
    }
    all
}

async fn state(http: &reqwest::Client, sled: &ReadySled) -> Result<SledState> {
    let response = http.get(format!("{}/sim/state", sled.sim_url)).send().await;
    let response = response.and_then(reqwest::Response::error_for_status);
    response.context("no answer")?.json().await.context("no sensible answer")
}

fn hold(held: &mut Held, sled: Uuid, state: SledState) {
    let lives = |vmm: &SledVmm| !matches!(vmm.state.as_str(), "failed" | "destroyed");
    for vmm in state.vmms.into_iter().filter(lives) {
        held.entry(vmm.id).or_default().entry(sled).or_default();
    }
    for port in state.ports {
        let addresses = held.entry(port.vmm_id).or_default().entry(sled).or_default();
        let ExternalIps { floating, ephemeral, snat } = port.external_ips;
        addresses.extend(floating.into_iter().map(Address::Floating));
        addresses.extend(ephemeral.into_iter().map(Address::Ephemeral));
        let block = |block: SnatBlock| Address::Snat(block.ip, block.first_port, block.last_port);
        addresses.extend(snat.into_iter().map(block));
    }
}

/// What is wrong with what the sleds have of a VMM. That its sled has none at all is for Nexus to
/// say, which asks the sled itself.
fn judge(vmm: Uuid, intended: Option<&IntendedPort>, sleds: &Sleds) -> Vec<String> {
    let mut wrong = Vec::new();
    for (sled, has) in sleds.held.get(&vmm).into_iter().flatten() {
        let Some(port) = intended.filter(|port| port.sled_id == *sled) else {
            let ids = format!("sled {sled}; vmm {vmm}");
            wrong.push(format!("vmm: the sled has a VMM that it is not to have; {ids}"));
            continue;
        };
        let should = addresses(port);
        let certain = |address: &&Address| !port.in_transition.contains(&address.ip());
        let lacks = should.difference(has).map(|it| format!("lacks {it}"));
        let extra = has.difference(&should).filter(certain);
        let extra = extra.map(|it| format!("should not have {it}"));
        let ids = format!("instance {}; sled {sled}; vmm {vmm}", port.instance_id);
        wrong.extend(lacks.chain(extra).map(|what| format!("port: the port {what}; {ids}")));
    }
    wrong
}

fn addresses(port: &IntendedPort) -> BTreeSet<Address> {
    let floating = port.floating.iter().copied().map(Address::Floating);
    let ephemeral = port.ephemeral.iter().copied().map(Address::Ephemeral);
    let snat = port.snat.iter().map(|it| Address::Snat(it.ip, it.first_port, it.last_port));
    floating.chain(ephemeral).chain(snat).collect()
}
