//! Serves the daemon's API from the model.

use crate::api::{DpdApi, PAGE_MAX};
use crate::dpd::Dpd;
use crate::model::{Mapping, Mappings, NatError};
use crate::types::{
    BuildInfo, Ipv4Nat, Ipv6Nat, NatIpv4Path, NatIpv4PortPath, NatIpv4RangePath, NatIpv4Token,
    NatIpv6Path, NatIpv6PortPath, NatIpv6RangePath, NatIpv6Token, NatTarget, NatToken,
    SwitchIdentifiers,
};
use dropshot::{
    ClientErrorStatusCode, EmptyScanParams, HttpError, HttpResponseDeleted, HttpResponseOk,
    HttpResponseUpdatedNoContent, PaginationParams, Path, Query, RequestContext, ResultsPage,
    TypedBody, WhichPage,
};
use nexus_common::IpVersion;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sim_kit::{Answer, SimContext};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use uuid::Uuid;

/// The implementation of the API.
#[derive(Debug)]
pub enum Server {}

type Rqctx = RequestContext<Arc<Dpd>>;
type PageQuery<Token> = Query<PaginationParams<EmptyScanParams, Token>>;

impl DpdApi for Server {
    type Context = Arc<Dpd>;

    async fn nat_ipv4_addresses_list(
        rqctx: Rqctx,
        query: PageQuery<NatIpv4Token>,
    ) -> Result<Answer<HttpResponseOk<ResultsPage<Ipv4Addr>>>, HttpError> {
        let dpd = rqctx.context();
        let (token, limit) = page_wanted(&rqctx, query)?;
        let list = || {
            let addresses = dpd.nat().ipv4.addresses(token.map(|token| token.ip), limit);
            page_of(addresses, |ip| NatIpv4Token { ip: *ip })
        };
        dpd.gate().call(&rqctx, list).await
    }

    async fn nat_ipv4_list(
        rqctx: Rqctx,
        path: Path<NatIpv4Path>,
        query: PageQuery<NatToken>,
    ) -> Result<Answer<HttpResponseOk<ResultsPage<Ipv4Nat>>>, HttpError> {
        let dpd = rqctx.context();
        let external = path.into_inner().ipv4;
        let (token, limit) = page_wanted(&rqctx, query)?;
        let view = |Mapping { low, high, target }| Ipv4Nat { external, low, high, target };
        let list = || {
            let mappings = dpd.nat().ipv4.list(external, token.map(|token| token.port), limit);
            let views = mappings.into_iter().map(view).collect();
            page_of(views, |nat: &Ipv4Nat| NatToken { port: nat.low })
        };
        dpd.gate().call(&rqctx, list).await
    }

    async fn nat_ipv4_get(
        rqctx: Rqctx,
        path: Path<NatIpv4PortPath>,
    ) -> Result<Answer<HttpResponseOk<NatTarget>>, HttpError> {
        let dpd = rqctx.context();
        let NatIpv4PortPath { ipv4, low } = path.into_inner();
        dpd.gate().call(&rqctx, || get(&dpd.nat().ipv4, ipv4, low)).await
    }

    async fn nat_ipv4_create(
        rqctx: Rqctx,
        path: Path<NatIpv4RangePath>,
        target: TypedBody<NatTarget>,
    ) -> Result<Answer<HttpResponseUpdatedNoContent>, HttpError> {
        let dpd = rqctx.context();
        let NatIpv4RangePath { ipv4, low, high } = path.into_inner();
        let mapping = Mapping { low, high, target: target.into_inner() };
        dpd.gate().call(&rqctx, || create(&mut dpd.nat().ipv4, ipv4, mapping)).await
    }

    async fn nat_ipv4_delete(
        rqctx: Rqctx,
        path: Path<NatIpv4PortPath>,
    ) -> Result<Answer<HttpResponseDeleted>, HttpError> {
        let dpd = rqctx.context();
        let NatIpv4PortPath { ipv4, low } = path.into_inner();
        let delete = || {
            dpd.nat().ipv4.remove(ipv4, low);
            Ok(HttpResponseDeleted())
        };
        dpd.gate().call(&rqctx, delete).await
    }

    async fn nat_ipv4_reset(
        rqctx: Rqctx,
    ) -> Result<Answer<HttpResponseUpdatedNoContent>, HttpError> {
        reset(&rqctx, IpVersion::V4).await
    }

    async fn nat_ipv6_addresses_list(
        rqctx: Rqctx,
        query: PageQuery<NatIpv6Token>,
    ) -> Result<Answer<HttpResponseOk<ResultsPage<Ipv6Addr>>>, HttpError> {
        let dpd = rqctx.context();
        let (token, limit) = page_wanted(&rqctx, query)?;
        let list = || {
            let addresses = dpd.nat().ipv6.addresses(token.map(|token| token.ip), limit);
            page_of(addresses, |ip| NatIpv6Token { ip: *ip })
        };
        dpd.gate().call(&rqctx, list).await
    }

    async fn nat_ipv6_list(
        rqctx: Rqctx,
        path: Path<NatIpv6Path>,
        query: PageQuery<NatToken>,
    ) -> Result<Answer<HttpResponseOk<ResultsPage<Ipv6Nat>>>, HttpError> {
        let dpd = rqctx.context();
        let external = path.into_inner().ipv6;
        let (token, limit) = page_wanted(&rqctx, query)?;
        let view = |Mapping { low, high, target }| Ipv6Nat { external, low, high, target };
        let list = || {
            let mappings = dpd.nat().ipv6.list(external, token.map(|token| token.port), limit);
            let views = mappings.into_iter().map(view).collect();
            page_of(views, |nat: &Ipv6Nat| NatToken { port: nat.low })
        };
        dpd.gate().call(&rqctx, list).await
    }

    async fn nat_ipv6_get(
        rqctx: Rqctx,
        path: Path<NatIpv6PortPath>,
    ) -> Result<Answer<HttpResponseOk<NatTarget>>, HttpError> {
        let dpd = rqctx.context();
        let NatIpv6PortPath { ipv6, low } = path.into_inner();
        dpd.gate().call(&rqctx, || get(&dpd.nat().ipv6, ipv6, low)).await
    }

    async fn nat_ipv6_create(
        rqctx: Rqctx,
        path: Path<NatIpv6RangePath>,
        target: TypedBody<NatTarget>,
    ) -> Result<Answer<HttpResponseUpdatedNoContent>, HttpError> {
        let dpd = rqctx.context();
        let NatIpv6RangePath { ipv6, low, high } = path.into_inner();
        let mapping = Mapping { low, high, target: target.into_inner() };
        dpd.gate().call(&rqctx, || create(&mut dpd.nat().ipv6, ipv6, mapping)).await
    }

    async fn nat_ipv6_delete(
        rqctx: Rqctx,
        path: Path<NatIpv6PortPath>,
    ) -> Result<Answer<HttpResponseDeleted>, HttpError> {
        let dpd = rqctx.context();
        let NatIpv6PortPath { ipv6, low } = path.into_inner();
        let delete = || {
            dpd.nat().ipv6.remove(ipv6, low);
            Ok(HttpResponseDeleted())
        };
        dpd.gate().call(&rqctx, delete).await
    }

    async fn nat_ipv6_reset(
        rqctx: Rqctx,
    ) -> Result<Answer<HttpResponseUpdatedNoContent>, HttpError> {
        reset(&rqctx, IpVersion::V6).await
    }

    async fn nat_generation(rqctx: Rqctx) -> Result<Answer<HttpResponseOk<i64>>, HttpError> {
        let dpd = rqctx.context();
        dpd.gate().call(&rqctx, || Ok(HttpResponseOk(dpd.nat().generation()))).await
    }

    async fn nat_trigger_update(rqctx: Rqctx) -> Result<Answer<HttpResponseOk<()>>, HttpError> {
        let dpd = rqctx.context();
        let trigger = || {
            dpd.trigger.notify_one();
            Ok(HttpResponseOk(()))
        };
        dpd.gate().call(&rqctx, trigger).await
    }

    async fn build_info(rqctx: Rqctx) -> Result<Answer<HttpResponseOk<BuildInfo>>, HttpError> {
        rqctx.context().gate().call(&rqctx, || Ok(HttpResponseOk(this_build()))).await
    }

    async fn switch_identifiers(
        rqctx: Rqctx,
    ) -> Result<Answer<HttpResponseOk<SwitchIdentifiers>>, HttpError> {
        let dpd = rqctx.context();
        dpd.gate().call(&rqctx, || Ok(HttpResponseOk(identifiers(dpd)))).await
    }
}

/// Where the page begins that is asked for, and how many items it may have.
fn page_wanted<Token>(
    rqctx: &Rqctx,
    query: PageQuery<Token>,
) -> Result<(Option<Token>, usize), HttpError>
where
    Token: DeserializeOwned + Serialize + Send + Sync + 'static,
{
    let params = query.into_inner();
    let limit = rqctx.page_limit(&params)?.get() as usize;
    let token = match params.page {
        WhichPage::First(EmptyScanParams {}) => None,
        WhichPage::Next(token) => Some(token),
    };
    Ok((token, limit.min(PAGE_MAX)))
}

fn page_of<T, Token>(
    items: Vec<T>,
    token: impl Fn(&T) -> Token,
) -> Result<HttpResponseOk<ResultsPage<T>>, HttpError>
where
    T: Serialize + JsonSchema + Send + Sync + 'static,
    Token: Serialize,
{
    let page = ResultsPage::new(items, &EmptyScanParams {}, |item, _| token(item))?;
    Ok(HttpResponseOk(page))
}

fn get<A: Ord + Copy>(
    mappings: &Mappings<A>,
    address: A,
    port: u16,
) -> Result<HttpResponseOk<NatTarget>, HttpError> {
    let Some(mapping) = mappings.get(address, port) else {
        return Err(refusal(ClientErrorStatusCode::NOT_FOUND, "no mapping", "Not Found"));
    };
    Ok(HttpResponseOk(mapping.target))
}

fn create<A: Ord + Copy>(
    mappings: &mut Mappings<A>,
    address: A,
    mapping: Mapping,
) -> Result<HttpResponseUpdatedNoContent, HttpError> {
    mappings.set(address, mapping).map_err(|error| match error {
        NatError::InvalidRange => {
            HttpError::for_bad_request(None, "invalid port range".to_string())
        }
        NatError::Conflict => {
            refusal(ClientErrorStatusCode::CONFLICT, "conflicting mapping", "Conflict")
        }
    })?;
    Ok(HttpResponseUpdatedNoContent())
}

async fn reset(
    rqctx: &Rqctx,
    version: IpVersion,
) -> Result<Answer<HttpResponseUpdatedNoContent>, HttpError> {
    let dpd = rqctx.context();
    let reset = || {
        dpd.nat().reset(version);
        Ok(HttpResponseUpdatedNoContent())
    };
    dpd.gate().call(rqctx, reset).await
}

/// An error in dpd's manner: the code says what is wrong, the message only what the status says.
fn refusal(status: ClientErrorStatusCode, code: &str, message: &str) -> HttpError {
    HttpError::for_client_error(Some(code.to_string()), status, message.to_string())
}

/// What is known of this build. The real daemon has more put into it when it is built.
fn this_build() -> BuildInfo {
    let unknown = || "unknown".to_string();
    BuildInfo {
        version: env!("CARGO_PKG_VERSION").to_string(),
        git_sha: unknown(),
        git_commit_timestamp: unknown(),
        git_branch: unknown(),
        rustc_semver: unknown(),
        rustc_channel: unknown(),
        rustc_host_triple: unknown(),
        rustc_commit_sha: unknown(),
        cargo_triple: unknown(),
        debug: cfg!(debug_assertions),
        opt_level: if cfg!(debug_assertions) { 0 } else { 3 },
        sde_commit_sha: unknown(),
    }
}

/// There is no chip, and so nothing that production has left in one.
fn identifiers(dpd: &Dpd) -> SwitchIdentifiers {
    SwitchIdentifiers {
        sidecar_id: Uuid::from_u128(dpd.slot_number.into()),
        asic_backend: "sim".to_string(),
        fab: None,
        lot: None,
        lotnum: None,
        wafer: None,
        wafer_loc: None,
        model: "dpd-sim".to_string(),
        revision: 0,
        serial: dpd.slot.clone(),
        slot: dpd.slot_number,
        fuse: None,
    }
}
