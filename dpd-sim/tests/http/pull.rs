//! A switch that takes its NAT table from Nexus.

use crate::switch::Switch;
use dpd_sim::model::Entry;
use dropshot::{
    ConfigDropshot, HttpError, HttpResponseOk, HttpResponseUpdatedNoContent, HttpServer, Path,
    Query, RequestContext, ServerBuilder, TypedBody,
};
use nexus_common::{MacAddr, Vni};
use nexus_internal_api::internal::{
    NatChangesetPath, NatChangesetQuery, NexusInternalApi, SledAgentPath, VmmPath,
    nexus_internal_api_mod, version_policy,
};
use nexus_internal_api::types::{NatEntryView, SledAgentInfo, SledVmmState};
use slog::{Logger, o};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

/// A Nexus that has changes of the NAT table and nothing else.
#[derive(Clone, Default)]
struct Changes(Arc<Mutex<Vec<NatEntryView>>>);

enum Nexus {}

impl NexusInternalApi for Nexus {
    type Context = Changes;

    async fn sled_agent_get(
        _: RequestContext<Changes>,
        _: Path<SledAgentPath>,
    ) -> Result<HttpResponseOk<SledAgentInfo>, HttpError> {
        Err(HttpError::for_not_found(None, String::new()))
    }

    async fn sled_agent_put(
        _: RequestContext<Changes>,
        _: Path<SledAgentPath>,
        _: TypedBody<SledAgentInfo>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError> {
        Err(HttpError::for_not_found(None, String::new()))
    }

    async fn cpapi_instances_put(
        _: RequestContext<Changes>,
        _: Path<VmmPath>,
        _: TypedBody<SledVmmState>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError> {
        Err(HttpError::for_not_found(None, String::new()))
    }

    async fn ipv4_nat_changeset(
        rqctx: RequestContext<Changes>,
        path: Path<NatChangesetPath>,
        query: Query<NatChangesetQuery>,
    ) -> Result<HttpResponseOk<Vec<NatEntryView>>, HttpError> {
        let (from, limit) = (path.into_inner().from_gen, query.into_inner().limit as usize);
        let changes = rqctx.context().0.lock().expect("a lock");
        let newer = changes.iter().filter(|change| change.generation > from).take(limit);
        Ok(HttpResponseOk(newer.cloned().collect()))
    }
}

fn nexus(changes: &Changes, bind_address: SocketAddr) -> HttpServer<Changes> {
    let api = nexus_internal_api_mod::api_description::<Nexus>().expect("an API");
    ServerBuilder::new(api, changes.clone(), Logger::root(slog::Discard, o!()))
        .config(ConfigDropshot { bind_address, ..ConfigDropshot::default() })
        .version_policy(version_policy())
        .start()
        .expect("a server")
}

const ANY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

fn change(generation: i64, host: u8, deleted: bool) -> NatEntryView {
    NatEntryView {
        external_address: Ipv4Addr::new(10, 0, 0, host).into(),
        first_port: 0,
        last_port: 65535,
        sled_address: "fd00:1122:3344:101::1".parse().expect("an address"),
        vni: Vni::try_from(1024).expect("a VNI"),
        mac: MacAddr::new([0xA8, 0x40, 0x25, 0xF0, 0, host]),
        generation,
        deleted,
    }
}

#[tokio::test]
async fn changes_are_taken_page_by_page_and_again_when_triggered() {
    let changes = Changes::default();
    *changes.0.lock().expect("a lock") = (1..=10).map(|n| change(n.into(), n, n == 4)).collect();
    let server = nexus(&changes, ANY);
    // The first of them is down, which is no matter.
    let urls = format!("nexus = [\"http://127.0.0.1:1\", \"http://{}\"]\n", server.local_addr());
    let switch = Switch::start(&format!("{urls}[nat]\nmode = \"pull\"\npage_size = 3\n")).await;
    switch.until("the first changes", |state| state.generation == 10).await;
    let hosts = |nat: &[Entry]| -> Vec<String> {
        nat.iter().map(|entry| entry.external.to_string()).collect()
    };
    assert_eq!(hosts(&switch.state().await.nat).len(), 9, "all but the one that was removed");

    changes.0.lock().expect("a lock").push(change(12, 1, true));
    switch.client.nat_trigger_update().await.expect("a trigger");
    switch.until("the triggered change", |state| state.generation == 12).await;
    assert!(!hosts(&switch.state().await.nat).contains(&"10.0.0.1".to_string()));
    assert_eq!(switch.client.nat_generation().await.expect("a generation").into_inner(), 12);
}

#[tokio::test]
async fn a_nexus_that_comes_back_is_asked_again_by_itself() {
    let changes = Changes::default();
    changes.0.lock().expect("a lock").push(change(1, 1, false));
    let server = nexus(&changes, ANY);
    let address = server.local_addr();
    server.close().await.expect("an end");
    let config = format!("nexus = [\"http://{address}\"]\n[nat]\nmode = \"pull\"\n");
    let switch = Switch::start(&config).await;
    let _server = nexus(&changes, address);
    switch.until("the change", |state| state.generation == 1).await;
}

#[tokio::test]
async fn a_switch_that_pulls_needs_a_nexus() {
    let text = "bind = \"127.0.0.1:0\"\nsim_bind = \"127.0.0.1:0\"\nslot = \"switch0\"\n\
                [nat]\nmode = \"pull\"\n";
    let config = toml::from_str(text).expect("a configuration");
    let result = dpd_sim::start(config, Logger::root(slog::Discard, o!())).await;
    let error = result.err().expect("nothing to pull from").to_string();
    assert!(error.contains("nexus"), "{error}");
}
