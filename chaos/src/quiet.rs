//! The end: everything comes to rest, and then the system must agree with itself.

use crate::plan::{NEXUSES, Packet, SWITCHES};
use crate::probe::{Probed, Prober};
use crate::request::{ADDRESSES, FLOATING_IPS, INSTANCES, Request};
use crate::rig::Rig;
use nexus_tests::Client;
use reqwest::Method;
use serde_json::Value;
use std::time::{Duration, Instant};

/// How long everything may take to come to rest after the last fault.
const BOUND: Duration = Duration::from_secs(60);
/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(500);
/// Who looks, in the history.
const WHO: &str = "auditor";

/// Waits until nothing is going on and the checker agrees. Returns what is still wrong when the
/// time is up.
pub async fn wait(rig: &Rig) -> Vec<String> {
    let since = Instant::now();
    loop {
        let mut wrong = unfinished_sagas(&rig.operator(0)).await;
        if wrong.is_empty() {
            wrong = check(rig).await;
        }
        if wrong.is_empty() || since.elapsed() > BOUND {
            return wrong;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Reads everything once more, and sends a packet to every address through every switch.
pub async fn read_all(rig: &Rig) -> Probed {
    for nexus in 0..NEXUSES {
        for fip in 0..FLOATING_IPS {
            rig.request(WHO, nexus, Request::FipView { fip }).await;
        }
        for instance in 0..INSTANCES {
            rig.request(WHO, nexus, Request::InstanceView { instance }).await;
            rig.request(WHO, nexus, Request::Addresses { instance }).await;
        }
        rig.request(WHO, nexus, Request::Ranges).await;
        rig.request(WHO, nexus, Request::Links).await;
    }
    let mut prober = Prober::new(rig);
    for address in 0..ADDRESSES {
        for switch in 0..SWITCHES {
            prober.send(Packet::In { switch, address }).await;
        }
    }
    prober.probed
}

/// The sagas that are not finished, in words.
async fn unfinished_sagas(operator: &Client) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut path = "/sagas?limit=1000".to_string();
    loop {
        let page = match operator.try_send(Method::GET, &path, None).await {
            Ok(reply) if reply.status == 200 => reply.body,
            Ok(reply) => return vec![format!("the list of sagas is {}", reply.status)],
            Err(error) => return vec![format!("the list of sagas is not answered: {error}")],
        };
        let sagas = page["items"].as_array().into_iter().flatten();
        let unfinished = |saga: &&Value| {
            !matches!(saga["state"]["state"].as_str(), Some("succeeded" | "failed"))
        };
        let told = |saga: &Value| {
            format!("saga {} {} is {}", saga["name"], saga["id"], saga["state"]["state"])
        };
        wrong.extend(sagas.filter(unfinished).map(told));
        match page["next_page"].as_str() {
            Some(token) => path = format!("/sagas?limit=1000&page_token={token}"),
            None => return wrong,
        }
    }
}

/// What the checker finds, or could not check, a line for each.
async fn check(rig: &Rig) -> Vec<String> {
    match nexus_dev::check::check(&rig.ready).await {
        Ok(outcome) => outcome.violations.into_iter().chain(outcome.unchecked).collect(),
        Err(error) => vec![format!("{error:#}")],
    }
}
