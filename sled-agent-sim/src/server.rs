//! Serves the daemon's API from the model.

use crate::agent::Agent;
use crate::api::SledAgentApi;
use crate::model::{Refusal, Sled};
use crate::types::{
    ExternalIpGatewayMap, InstanceEnsureBody, InstanceExternalIpBody, ResolvedVpcRouteSet,
    ResolvedVpcRouteState, SledIdentifiers, SledVmmState, VirtualNetworkInterfaceHost, VmmPath,
    VmmPutStateBody, VmmPutStateResponse, VmmUnregisterResponse, VpcFirewallRulesEnsureBody,
    VpcPath,
};
use chrono::Utc;
use dropshot::{
    ClientErrorStatusCode, HttpCodedResponse, HttpError, HttpResponseOk,
    HttpResponseUpdatedNoContent, Path, RequestContext, TypedBody,
};
use sim_kit::{Answer, SimContext};
use std::sync::Arc;

/// The implementation of the API.
#[derive(Debug)]
pub enum Server {}

type Rqctx = RequestContext<Arc<Agent>>;

impl SledAgentApi for Server {
    type Context = Arc<Agent>;

    async fn vmm_register(
        rqctx: Rqctx,
        path: Path<VmmPath>,
        body: TypedBody<InstanceEnsureBody>,
    ) -> Result<Answer<HttpResponseOk<SledVmmState>>, HttpError> {
        let (id, body) = (path.into_inner().propolis_id, body.into_inner());
        let register = |sled: &mut Sled| {
            let state = sled.register(id, &body, Utc::now()).map_err(refusal)?;
            Ok(HttpResponseOk(state))
        };
        call(&rqctx, register).await
    }

    async fn vmm_unregister(
        rqctx: Rqctx,
        path: Path<VmmPath>,
    ) -> Result<Answer<HttpResponseOk<VmmUnregisterResponse>>, HttpError> {
        let id = path.into_inner().propolis_id;
        let unregister = |sled: &mut Sled| {
            let updated_runtime = sled.unregister(id, Utc::now());
            Ok(HttpResponseOk(VmmUnregisterResponse { updated_runtime }))
        };
        call(&rqctx, unregister).await
    }

    async fn vmm_put_state(
        rqctx: Rqctx,
        path: Path<VmmPath>,
        body: TypedBody<VmmPutStateBody>,
    ) -> Result<Answer<HttpResponseOk<VmmPutStateResponse>>, HttpError> {
        let (id, wanted) = (path.into_inner().propolis_id, body.into_inner().state);
        let request = |sled: &mut Sled| {
            let updated_runtime = sled.request(id, wanted, Utc::now()).map_err(refusal)?;
            Ok(HttpResponseOk(VmmPutStateResponse { updated_runtime }))
        };
        call(&rqctx, request).await
    }

    async fn vmm_get_state(
        rqctx: Rqctx,
        path: Path<VmmPath>,
    ) -> Result<Answer<HttpResponseOk<SledVmmState>>, HttpError> {
        let id = path.into_inner().propolis_id;
        call(&rqctx, |sled| Ok(HttpResponseOk(sled.state(id).map_err(refusal)?))).await
    }

    async fn vmm_put_external_ip(
        rqctx: Rqctx,
        path: Path<VmmPath>,
        body: TypedBody<InstanceExternalIpBody>,
    ) -> Result<Answer<HttpResponseUpdatedNoContent>, HttpError> {
        let (id, ip) = (path.into_inner().propolis_id, body.into_inner());
        change(&rqctx, |sled| sled.put_external_ip(id, ip).map_err(ip_refusal)).await
    }

    async fn vmm_delete_external_ip(
        rqctx: Rqctx,
        path: Path<VmmPath>,
        body: TypedBody<InstanceExternalIpBody>,
    ) -> Result<Answer<HttpResponseUpdatedNoContent>, HttpError> {
        let (id, ip) = (path.into_inner().propolis_id, body.into_inner());
        change(&rqctx, |sled| sled.delete_external_ip(id, ip).map_err(ip_refusal)).await
    }

    async fn set_v2p(
        rqctx: Rqctx,
        body: TypedBody<VirtualNetworkInterfaceHost>,
    ) -> Result<Answer<HttpResponseUpdatedNoContent>, HttpError> {
        let host = body.into_inner();
        let set = |sled: &mut Sled| {
            sled.set_v2p(host);
            Ok(())
        };
        change(&rqctx, set).await
    }

    async fn del_v2p(
        rqctx: Rqctx,
        body: TypedBody<VirtualNetworkInterfaceHost>,
    ) -> Result<Answer<HttpResponseUpdatedNoContent>, HttpError> {
        let host = body.into_inner();
        let set = |sled: &mut Sled| {
            sled.delete_v2p(&host);
            Ok(())
        };
        change(&rqctx, set).await
    }

    async fn list_v2p(
        rqctx: Rqctx,
    ) -> Result<Answer<HttpResponseOk<Vec<VirtualNetworkInterfaceHost>>>, HttpError> {
        call(&rqctx, |sled| Ok(HttpResponseOk(sled.list_v2p()))).await
    }

    async fn list_vpc_routes(
        rqctx: Rqctx,
    ) -> Result<Answer<HttpResponseOk<Vec<ResolvedVpcRouteState>>>, HttpError> {
        call(&rqctx, |sled| Ok(HttpResponseOk(sled.routes().list()))).await
    }

    async fn set_vpc_routes(
        rqctx: Rqctx,
        body: TypedBody<Vec<ResolvedVpcRouteSet>>,
    ) -> Result<Answer<HttpResponseUpdatedNoContent>, HttpError> {
        let sets = body.into_inner();
        let set = |sled: &mut Sled| {
            sled.routes().set(sets);
            Ok(())
        };
        change(&rqctx, set).await
    }

    async fn set_eip_gateways(
        rqctx: Rqctx,
        body: TypedBody<ExternalIpGatewayMap>,
    ) -> Result<Answer<HttpResponseUpdatedNoContent>, HttpError> {
        let gateways = body.into_inner();
        let set = |sled: &mut Sled| {
            sled.set_gateways(gateways);
            Ok(())
        };
        change(&rqctx, set).await
    }

    async fn vpc_firewall_rules_put(
        rqctx: Rqctx,
        path: Path<VpcPath>,
        body: TypedBody<VpcFirewallRulesEnsureBody>,
    ) -> Result<Answer<HttpResponseUpdatedNoContent>, HttpError> {
        let (vpc, rules) = (path.into_inner().vpc_id, body.into_inner());
        let set = |sled: &mut Sled| {
            sled.set_firewall(vpc, rules);
            Ok(())
        };
        change(&rqctx, set).await
    }

    async fn sled_identifiers(
        rqctx: Rqctx,
    ) -> Result<Answer<HttpResponseOk<SledIdentifiers>>, HttpError> {
        let config = &rqctx.context().config;
        let identifiers = SledIdentifiers {
            rack_id: config.rack_id,
            sled_id: config.id,
            model: "sled-agent-sim".to_string(),
            revision: 0,
            serial: config.serial.clone(),
        };
        call(&rqctx, |_| Ok(HttpResponseOk(identifiers))).await
    }
}

/// Lets a call through the gate to the sled.
async fn call<R: HttpCodedResponse>(
    rqctx: &Rqctx,
    f: impl FnOnce(&mut Sled) -> Result<R, HttpError>,
) -> Result<Answer<R>, HttpError> {
    let agent = rqctx.context();
    agent.gate().call(rqctx, || agent.with(f)).await
}

/// Lets a call through that changes something and has nothing to say about it.
async fn change(
    rqctx: &Rqctx,
    f: impl FnOnce(&mut Sled) -> Result<(), HttpError>,
) -> Result<Answer<HttpResponseUpdatedNoContent>, HttpError> {
    call(rqctx, |sled| f(sled).map(|()| HttpResponseUpdatedNoContent())).await
}

/// The code by which Nexus knows that a VMM is gone.
const NO_SUCH_INSTANCE: &str = "NO_SUCH_INSTANCE";

/// A refusal as the real sled agent puts it.
pub fn refusal(refusal: Refusal) -> HttpError {
    let client_error = |code: Option<&str>, status, message| {
        HttpError::for_client_error(code.map(String::from), status, message)
    };
    match refusal {
        Refusal::NoSuchVmm(id) => client_error(
            Some(NO_SUCH_INSTANCE),
            ClientErrorStatusCode::NOT_FOUND,
            format!("VMM with ID {id} not found"),
        ),
        Refusal::Terminating => client_error(
            Some(NO_SUCH_INSTANCE),
            ClientErrorStatusCode::GONE,
            "Instance is terminating".to_string(),
        ),
        Refusal::State(state) => client_error(
            None,
            ClientErrorStatusCode::FORBIDDEN,
            format!("not possible while the VMM is {state}"),
        ),
        Refusal::NoSuchMigration(id) => client_error(
            None,
            ClientErrorStatusCode::CONFLICT,
            format!("migration {id} is not under way here"),
        ),
        Refusal::OtherInstance(id) => {
            HttpError::for_internal_error(format!("the VMM belongs to instance {id}"))
        }
        Refusal::OtherEphemeral(ip) => {
            HttpError::for_internal_error(format!("the VMM has another ephemeral address, {ip}"))
        }
        Refusal::NoPlaceForIp(message) => HttpError::for_internal_error(message),
    }
}

/// A refusal of a request about external addresses. The real sled agent loses track of one that is
/// about a VMM that it does not have, and all that is left to say then is that something went
/// wrong.
fn ip_refusal(why: Refusal) -> HttpError {
    match why {
        Refusal::NoSuchVmm(id) => {
            HttpError::for_internal_error(format!("VMM with ID {id} not found"))
        }
        why => refusal(why),
    }
}
