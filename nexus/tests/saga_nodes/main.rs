//! Every node of every saga: run twice, failed, and lost in a crash.
//!
//! The graphs come from the code, so a saga or a node that is new is tested, or makes the test
//! fail for want of a case. Each case begins with objects of its own; the rack's processes are all
//! real but for the Nexus, which runs in here, where faults can be planned and where it can die
//! between two instructions.

#![allow(clippy::expect_used, reason = "a test that cannot go on panics")]

mod case;
mod process;
mod world;

use case::{Caller, Case};
use nexus::sagas::faults::Fault;
use nexus_tests::wait::within;
use process::{Identity, World};
use std::time::Duration;

/// Names of a saga's nodes, in order.
fn nodes(saga: &str) -> Vec<String> {
    let graphs = nexus::sagas::graphs().expect("the graphs are sound");
    let dag = graphs
        .into_iter()
        .map(|dag| steno::SagaDag::new(dag, serde_json::Value::Null))
        .find(|dag| dag.saga_name().to_string() == saga)
        .expect("a saga of this name");
    dag.get_nodes().map(|node| node.name().as_ref().to_string()).collect()
}

#[test]
fn every_saga_has_a_case() {
    for dag in nexus::sagas::graphs().expect("the graphs are sound") {
        let name = steno::SagaDag::new(dag, serde_json::Value::Null).saga_name().to_string();
        assert!(Case::SAGAS.contains(&name.as_str()), "no case for saga {name}");
    }
}

async fn at_rest(world: &World) {
    within(Duration::from_secs(60), "the world is at rest", async || {
        let sagas = world.rack.operator().all("/sagas").await;
        let open: Vec<_> = sagas
            .into_iter()
            .filter(|saga| !matches!(saga["state"]["state"].as_str(), Some("succeeded" | "failed")))
            .collect();
        if open.is_empty() { Ok(()) } else { Err(open) }
    })
    .await;
    world.rack.settled().await;
}

async fn twice(world: &World, saga: &'static str) {
    for node in nodes(saga) {
        let case = Case::prepare(world, saga).await;
        world.plan(saga, vec![Fault::Repeat(node.clone())]);
        let reply = case.trigger().await;
        assert!((200..300).contains(&reply.status), "{saga}, {node} twice: {}", reply.body);
        at_rest(world).await;
        case.assert_done(world, &node).await;
    }
}

/// The last node fails, so everything before it is undone; with each node's undo run twice.
async fn undone_twice(world: &World, saga: &'static str) {
    let nodes = nodes(saga);
    let Some((last, rest)) = nodes.split_last() else { return };
    for node in rest {
        let case = Case::prepare(world, saga).await;
        let before = world.look().await;
        world.plan(saga, vec![Fault::Repeat(node.clone()), Fault::Fail(last.clone())]);
        let reply = case.trigger().await;
        at_rest(world).await;
        case.assert_ending(world, &before, last, Caller::Answered(reply)).await;
    }
}

async fn failed(world: &World, saga: &'static str) {
    for node in nodes(saga) {
        let case = Case::prepare(world, saga).await;
        let before = world.look().await;
        world.plan(saga, vec![Fault::Fail(node.clone())]);
        let reply = case.trigger().await;
        at_rest(world).await;
        case.assert_ending(world, &before, &node, Caller::Answered(reply)).await;
    }
}

/// Each node is done, but not recorded; then Nexus is gone. The same one comes back, or another
/// takes over, by turns.
async fn crashed(world: &mut World, saga: &'static str) {
    for (n, node) in nodes(saga).into_iter().enumerate() {
        let case = Case::prepare(world, saga).await;
        let before = world.look().await;
        world.plan(saga, vec![Fault::CrashAfterAction(node.clone())]);
        crash(world, &case, n).await;
        case.assert_done_or_undone(world, &before, &node).await;
    }
}

/// The last node fails, and Nexus is gone in the middle of the unwinding, after each undo.
async fn crashed_unwinding(world: &mut World, saga: &'static str) {
    let nodes = nodes(saga);
    let Some((last, rest)) = nodes.split_last() else { return };
    for (n, node) in rest.iter().enumerate() {
        let case = Case::prepare(world, saga).await;
        let before = world.look().await;
        world.plan(saga, vec![Fault::Fail(last.clone()), Fault::CrashAfterUndo(node.clone())]);
        crash(world, &case, n).await;
        case.assert_ending(world, &before, last, Caller::Gone).await;
    }
}

async fn crash(world: &mut World, case: &Case, n: usize) {
    {
        let request = case.trigger_and_forget();
        tokio::select! {
            () = world.crashed() => {}
            () = tokio::time::sleep(Duration::from_secs(60)) => panic!("no crash in {}", case.saga),
        }
        request.abort();
    }
    let next = if n.is_multiple_of(2) { Identity::Same } else { Identity::Another };
    world.die_and_come_back(next).await;
    at_rest(world).await;
}

async fn all(saga: &'static str) {
    let mut world = World::start().await;
    twice(&world, saga).await;
    failed(&world, saga).await;
    undone_twice(&world, saga).await;
    crashed(&mut world, saga).await;
    crashed_unwinding(&mut world, saga).await;
}

#[tokio::test]
async fn external_ip_attach() {
    all("external-ip-attach").await;
}

#[tokio::test]
async fn external_ip_detach() {
    all("external-ip-detach").await;
}

#[tokio::test]
async fn instance_create() {
    all("instance-create").await;
}

#[tokio::test]
async fn instance_start() {
    all("instance-start").await;
}

#[tokio::test]
async fn instance_delete() {
    all("instance-delete").await;
}

#[tokio::test]
async fn instance_migrate() {
    all("instance-migrate").await;
}
