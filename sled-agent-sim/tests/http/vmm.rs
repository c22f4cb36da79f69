//! VMMs from their making to their end, and what Nexus hears of them.

use crate::nexus::Nexus;
use crate::sled::{Sled, body, floating, refusal};
use nexus_internal_api::types::VmmState;
use serde_json::json;
use sled_agent_client::types::VmmStateRequested;
use uuid::Uuid;

const VMM: Uuid = Uuid::from_u128(1);

fn gone() -> (u16, Option<String>) {
    (404, Some("NO_SUCH_INSTANCE".to_string()))
}

#[tokio::test]
async fn nexus_hears_every_state_in_order() {
    let nexus = Nexus::start();
    let sled = Sled::start(1, &nexus, vec![]).await;
    sled.pace(json!({"boot_ms": 20, "stop_ms": 20})).await;
    sled.run(VMM, &nexus).await;
    sled.put_state(VMM, VmmStateRequested::Reboot).await;
    nexus.until_state(VMM, VmmState::Running).await;
    sled.put_state(VMM, VmmStateRequested::Stopped).await;
    nexus.until_state(VMM, VmmState::Destroyed).await;
    let states = nexus.states(VMM);
    let end = [VmmState::Stopping, VmmState::Destroyed];
    assert!(states.starts_with(&[VmmState::Running]) && states.ends_with(&end), "{states:?}");
    sled.until("it is forgotten", |state| state["vmms"] == json!([])).await;
    assert_eq!(refusal(sled.client.vmm_get_state(&VMM).await), gone());
    let none = sled.client.vmm_unregister(&VMM).await.expect("an answer").into_inner();
    assert_eq!(none.updated_runtime, None);
}

#[tokio::test]
async fn nexus_hears_the_last_state_when_it_is_back() {
    let nexus = Nexus::start();
    let sled = Sled::start(1, &nexus, vec![]).await;
    sled.run(VMM, &nexus).await;
    nexus.heard(|heard| heard.fails = true);
    sled.put_state(VMM, VmmStateRequested::Stopped).await;
    nexus.until("a report fails", |heard| heard.failures > 0).await;
    sled.until("it has ended", |state| state["vmms"][0]["state"] == "destroyed").await;

    // It is still there, but only to be reported.
    let terminating = (410, Some("NO_SUCH_INSTANCE".to_string()));
    assert_eq!(
        refusal(sled.client.vmm_put_external_ip(&VMM, &floating("10.0.0.7")).await),
        terminating
    );
    let state = sled.client.vmm_get_state(&VMM).await.expect("a state").into_inner();
    assert_eq!(state.vmm_state.state, VmmState::Destroyed);
    assert_eq!(sled.get("/sim/state").await["ports"], json!([]));

    nexus.heard(|heard| heard.fails = false);
    nexus.until_state(VMM, VmmState::Destroyed).await;
    sled.until("it is forgotten", |state| state["vmms"] == json!([])).await;
}

#[tokio::test]
async fn a_crashed_vmm_is_reported_and_has_no_port() {
    let nexus = Nexus::start();
    let sled = Sled::start(1, &nexus, vec![]).await;
    sled.run(VMM, &nexus).await;
    assert_eq!(sled.get("/sim/state").await["ports"].as_array().map(Vec::len), Some(1));
    sled.crash(VMM).await;
    nexus.until_state(VMM, VmmState::Failed).await;
    assert_eq!(sled.get("/sim/state").await["ports"], json!([]));
    sled.until("it is forgotten", |state| state["vmms"] == json!([])).await;
    let url = format!("{}/sim/vmms/{VMM}/crash", sled.simulator.sim_url());
    assert_eq!(sled.http.post(url).send().await.expect("an answer").status(), 404);
}

#[tokio::test]
async fn an_unregistered_vmm_is_not_reported() {
    let nexus = Nexus::start();
    let sled = Sled::start(1, &nexus, vec![]).await;
    sled.client.vmm_register(&VMM, &body(sled.addr(), None)).await.expect("a VMM");
    let last = sled.client.vmm_unregister(&VMM).await.expect("an answer").into_inner();
    let last = last.updated_runtime.expect("a state");
    assert_eq!(last.vmm_state.state, VmmState::Destroyed);
    assert_eq!(last.vmm_state.generation.to_u64(), 2);
    assert_eq!(refusal(sled.client.vmm_get_state(&VMM).await), gone());
    // Another VMM's report comes through after it.
    sled.run(Uuid::from_u128(2), &nexus).await;
    assert_eq!(nexus.last(VMM), None);
}
