//! Faults, where they meet the state of a sled.

use crate::nexus::Nexus;
use crate::sled::{Sled, floating, refusal};
use nexus_internal_api::types::VmmState;
use serde_json::json;
use sled_agent_client::Error;
use sled_agent_client::types::{VmmPutStateBody, VmmStateRequested};
use uuid::Uuid;

const VMM: Uuid = Uuid::from_u128(1);

#[tokio::test]
async fn an_answer_is_lost_after_the_change_was_made() {
    let nexus = Nexus::start();
    let sled = Sled::start(1, &nexus, vec![]).await;
    sled.run(VMM, &nexus).await;
    let fault = json!({
        "operation": "vmm_put_external_ip", "fault": "disconnect", "after_apply": true, "times": 1
    });
    sled.post("/sim/faults", fault).await;
    let result = sled.client.vmm_put_external_ip(&VMM, &floating("10.0.0.7")).await;
    assert!(matches!(result, Err(Error::CommunicationError(_))), "{result:?}");
    let ips = |state: &serde_json::Value| state["ports"][0]["external_ips"]["floating"].clone();
    assert_eq!(ips(&sled.get("/sim/state").await), json!(["10.0.0.7"]));

    let fault = json!({"operation": "*", "fault": "error", "status": 500, "times": 1});
    sled.post("/sim/faults", fault).await;
    assert_eq!(
        refusal(sled.client.vmm_delete_external_ip(&VMM, &floating("10.0.0.7")).await).0,
        500
    );
    assert_eq!(ips(&sled.get("/sim/state").await), json!(["10.0.0.7"]), "nothing was done");
    sled.client.vmm_delete_external_ip(&VMM, &floating("10.0.0.7")).await.expect("no fault");
}

#[tokio::test]
async fn what_a_lost_request_began_goes_on() {
    let nexus = Nexus::start();
    let sled = Sled::start(1, &nexus, vec![]).await;
    sled.run(VMM, &nexus).await;
    let fault = json!({"operation": "vmm_put_state", "fault": "disconnect", "after_apply": true});
    sled.post("/sim/faults", fault).await;
    let body = VmmPutStateBody { state: VmmStateRequested::Stopped };
    sled.client.vmm_put_state(&VMM, &body).await.expect_err("the connection is closed");
    nexus.until_state(VMM, VmmState::Destroyed).await;
}
