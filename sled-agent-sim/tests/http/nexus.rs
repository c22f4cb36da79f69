//! A Nexus that listens to sleds and does nothing about it.

use dropshot::{
    HttpError, HttpResponseOk, HttpResponseUpdatedNoContent, HttpServer, Path, Query,
    RequestContext, ServerBuilder, TypedBody,
};
use nexus_internal_api::internal::{
    NatChangesetPath, NatChangesetQuery, NexusInternalApi, SledAgentPath, VmmPath,
    nexus_internal_api_mod, version_policy,
};
use nexus_internal_api::types::{NatEntryView, SledAgentInfo, SledVmmState, VmmState};
use slog::{Logger, o};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// What Nexus has heard.
#[derive(Default)]
pub struct Heard {
    /// The reports of VMMs that it has accepted, in order.
    pub reports: Vec<(Uuid, SledVmmState)>,
    /// The sleds that it knows.
    pub sleds: BTreeMap<Uuid, SledAgentInfo>,
    /// Whether it fails.
    pub fails: bool,
    /// How many requests failed.
    pub failures: usize,
}

type Context = Arc<Mutex<Heard>>;

/// A Nexus that listens.
pub struct Nexus {
    heard: Context,
    server: HttpServer<Context>,
}

impl Nexus {
    pub fn start() -> Nexus {
        let heard = Context::default();
        let api = nexus_internal_api_mod::api_description::<Listener>().expect("an API");
        let server = ServerBuilder::new(api, heard.clone(), Logger::root(slog::Discard, o!()))
            .version_policy(version_policy())
            .start()
            .expect("a server");
        Nexus { heard, server }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.server.local_addr())
    }

    pub fn heard<R>(&self, f: impl FnOnce(&mut Heard) -> R) -> R {
        f(&mut self.heard.lock().expect("a lock"))
    }

    /// The states of a VMM that were reported, in order.
    pub fn states(&self, vmm: Uuid) -> Vec<VmmState> {
        let reports = |heard: &mut Heard| heard.reports.clone();
        let of_vmm = self.heard(reports).into_iter().filter(|(id, _)| *id == vmm);
        of_vmm.map(|(_, state)| state.vmm_state.state).collect()
    }

    /// The last state of a VMM that was reported.
    pub fn last(&self, vmm: Uuid) -> Option<SledVmmState> {
        let find =
            |heard: &mut Heard| heard.reports.iter().rev().find(|(id, _)| *id == vmm).cloned();
        self.heard(find).map(|(_, state)| state)
    }

    /// Waits until Nexus has heard something, and fails the test if it never does.
    pub async fn until(&self, what: &str, reached: impl Fn(&mut Heard) -> bool) {
        let start = Instant::now();
        while !self.heard(&reached) {
            assert!(start.elapsed() < Duration::from_secs(20), "never: {what}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until the last state of a VMM that was reported is this one.
    pub async fn until_state(&self, vmm: Uuid, state: VmmState) {
        let is_last = |heard: &mut Heard| {
            let last = heard.reports.iter().rev().find(|(id, _)| *id == vmm);
            last.is_some_and(|(_, last)| last.vmm_state.state == state)
        };
        self.until(&format!("{vmm} is {state}"), is_last).await;
    }
}

enum Listener {}

fn works(rqctx: &RequestContext<Context>) -> Result<std::sync::MutexGuard<'_, Heard>, HttpError> {
    let mut heard = rqctx.context().lock().expect("a lock");
    if heard.fails {
        heard.failures += 1;
        return Err(HttpError::for_unavail(None, "it fails".to_string()));
    }
    Ok(heard)
}

impl NexusInternalApi for Listener {
    type Context = Context;

    async fn sled_agent_get(
        rqctx: RequestContext<Context>,
        path: Path<SledAgentPath>,
    ) -> Result<HttpResponseOk<SledAgentInfo>, HttpError> {
        let heard = works(&rqctx)?;
        let sled = heard.sleds.get(&path.into_inner().sled_id).cloned();
        sled.map(HttpResponseOk)
            .ok_or_else(|| HttpError::for_not_found(None, "no such sled".to_string()))
    }

    async fn sled_agent_put(
        rqctx: RequestContext<Context>,
        path: Path<SledAgentPath>,
        info: TypedBody<SledAgentInfo>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError> {
        works(&rqctx)?.sleds.insert(path.into_inner().sled_id, info.into_inner());
        Ok(HttpResponseUpdatedNoContent())
    }

    async fn cpapi_instances_put(
        rqctx: RequestContext<Context>,
        path: Path<VmmPath>,
        state: TypedBody<SledVmmState>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError> {
        works(&rqctx)?.reports.push((path.into_inner().propolis_id, state.into_inner()));
        Ok(HttpResponseUpdatedNoContent())
    }

    async fn ipv4_nat_changeset(
        _: RequestContext<Context>,
        _: Path<NatChangesetPath>,
        _: Query<NatChangesetQuery>,
    ) -> Result<HttpResponseOk<Vec<NatEntryView>>, HttpError> {
        Ok(HttpResponseOk(Vec::new()))
    }
}
