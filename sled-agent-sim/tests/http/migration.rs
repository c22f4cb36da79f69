//! An instance moves from one sled to another.

use crate::nexus::Nexus;
use crate::sled::{Sled, body, floating};
use nexus_internal_api::types::{MigrationState, VmmState};
use serde_json::json;
use sled_agent_client::types::{InstanceMigrationTargetParams, VmmStateRequested};
use uuid::Uuid;

const SOURCE: Uuid = Uuid::from_u128(1);
const TARGET: Uuid = Uuid::from_u128(2);
const MIGRATION: Uuid = Uuid::from_u128(3);

/// Two sleds and an instance on the first of them that the second begins to take over.
async fn migrating(nexus: &Nexus, migrate_ms: u64) -> (Sled, Sled) {
    let from = Sled::start(1, nexus, vec![]).await;
    let to = Sled::start(2, nexus, vec![from.as_peer()]).await;
    from.run(SOURCE, nexus).await;
    to.pace(json!({"migrate_ms": migrate_ms})).await;
    let ensure = body(to.addr(), Some(MIGRATION));
    let made = to.client.vmm_register(&TARGET, &ensure).await.expect("a VMM").into_inner();
    assert_eq!(made.vmm_state.state, VmmState::Migrating);
    let params = InstanceMigrationTargetParams { src_propolis_addr: from.addr() };
    to.put_state(TARGET, VmmStateRequested::MigrationTarget(params)).await;
    nexus.until_state(SOURCE, VmmState::Migrating).await;
    (from, to)
}

fn migration_in(nexus: &Nexus) -> MigrationState {
    nexus.last(TARGET).and_then(|state| state.migration_in).expect("a migration").state
}

fn migration_out(nexus: &Nexus) -> MigrationState {
    nexus.last(SOURCE).and_then(|state| state.migration_out).expect("a migration").state
}

#[tokio::test]
async fn an_instance_moves_and_runs_on() {
    let nexus = Nexus::start();
    let (from, to) = migrating(&nexus, 100).await;
    to.client.vmm_put_external_ip(&TARGET, &floating("10.0.0.7")).await.expect("room");
    nexus.until_state(TARGET, VmmState::Running).await;
    nexus.until_state(SOURCE, VmmState::Destroyed).await;
    assert_eq!(migration_in(&nexus), MigrationState::Completed);
    assert_eq!(migration_out(&nexus), MigrationState::Completed);
    from.until("the source is forgotten", |state| state["vmms"] == json!([])).await;
    let outbound = json!({"vmm_id": TARGET, "dst": "203.0.113.9", "port": 40000});
    assert_eq!(to.post("/sim/outbound", outbound).await["source_ip"], "10.0.0.7");
}

#[tokio::test]
async fn a_source_that_crashes_takes_the_target_with_it() {
    let nexus = Nexus::start();
    let (from, _to) = migrating(&nexus, 60_000).await;
    from.crash(SOURCE).await;
    nexus.until_state(SOURCE, VmmState::Failed).await;
    nexus.until_state(TARGET, VmmState::Failed).await;
    assert_eq!(migration_in(&nexus), MigrationState::Failed);
    assert_eq!(migration_out(&nexus), MigrationState::Failed);
}

#[tokio::test]
async fn a_source_that_is_gone_takes_the_target_with_it() {
    let nexus = Nexus::start();
    let (from, _to) = migrating(&nexus, 60_000).await;
    from.simulator.close().await.expect("an end");
    nexus.until_state(TARGET, VmmState::Failed).await;
    assert_eq!(migration_in(&nexus), MigrationState::Failed);
}

#[tokio::test]
async fn an_instance_stays_when_its_target_ends() {
    let nexus = Nexus::start();
    let (_from, to) = migrating(&nexus, 60_000).await;
    to.client.vmm_unregister(&TARGET).await.expect("an answer");
    nexus.until_state(SOURCE, VmmState::Running).await;
    assert_eq!(migration_out(&nexus), MigrationState::Failed);
}

#[tokio::test]
async fn an_instance_stays_when_its_targets_sled_is_gone() {
    let nexus = Nexus::start();
    let (_from, to) = migrating(&nexus, 60_000).await;
    to.simulator.close().await.expect("an end");
    nexus.until_state(SOURCE, VmmState::Running).await;
    assert_eq!(migration_out(&nexus), MigrationState::Failed);
}

#[tokio::test]
async fn a_target_without_a_source_fails() {
    let nexus = Nexus::start();
    let sled = Sled::start(2, &nexus, vec![]).await;
    let ensure = body(sled.addr(), Some(MIGRATION));
    sled.client.vmm_register(&TARGET, &ensure).await.expect("a VMM");
    let params = InstanceMigrationTargetParams { src_propolis_addr: "[fd00::9]:12400".into() };
    sled.put_state(TARGET, VmmStateRequested::MigrationTarget(params)).await;
    nexus.until_state(TARGET, VmmState::Failed).await;
}
