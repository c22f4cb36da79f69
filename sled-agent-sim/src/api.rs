//! What a sled agent serves, as far as Nexus uses it.

use crate::types::{
    ExternalIpGatewayMap, InstanceEnsureBody, InstanceExternalIpBody, ResolvedVpcRouteSet,
    ResolvedVpcRouteState, SledIdentifiers, SledVmmState, VirtualNetworkInterfaceHost, VmmPath,
    VmmPutStateBody, VmmPutStateResponse, VmmUnregisterResponse, VpcFirewallRulesEnsureBody,
    VpcPath,
};
use dropshot::{
    ClientSpecifiesVersionInHeader, HttpError, HttpResponseOk, HttpResponseUpdatedNoContent, Path,
    RequestContext, TypedBody, VersionPolicy,
};
use semver::Version;
use sim_kit::Answer;

/// The newest version of the sled agent's API whose operations are here.
pub const VERSION: Version = Version::new(48, 0, 0);

/// The oldest version in which these operations had the same shapes.
pub const OLDEST_VERSION: Version = Version::new(44, 0, 0);

/// The most bytes of a request's body that are read.
pub const REQUEST_BODY_MAX: usize = 1 << 20;

/// Which version of this API a request speaks: what its `api-version` header says, which it must
/// have.
pub fn version_policy() -> VersionPolicy {
    VersionPolicy::Dynamic(Box::new(
        ClientSpecifiesVersionInHeader::new(http::HeaderName::from_static("api-version"), VERSION)
            .min_version(OLDEST_VERSION),
    ))
}

/// What a sled agent serves.
#[dropshot::api_description]
pub trait SledAgentApi {
    /// What the implementation keeps.
    type Context;

    /// Make a VMM
    ///
    /// It does nothing until it is asked to run or to take over an instance. To make it again is
    /// a success that answers its present state.
    #[endpoint { method = PUT, path = "/vmms/{propolis_id}" }]
    async fn vmm_register(
        rqctx: RequestContext<Self::Context>,
        path: Path<VmmPath>,
        body: TypedBody<InstanceEnsureBody>,
    ) -> Result<Answer<HttpResponseOk<SledVmmState>>, HttpError>;

    /// Remove a VMM at once, whatever it is doing
    #[endpoint { method = DELETE, path = "/vmms/{propolis_id}" }]
    async fn vmm_unregister(
        rqctx: RequestContext<Self::Context>,
        path: Path<VmmPath>,
    ) -> Result<Answer<HttpResponseOk<VmmUnregisterResponse>>, HttpError>;

    /// Ask a VMM to do something
    ///
    /// That it has been asked is all that the answer to `running` and `migration_target` says.
    #[endpoint { method = PUT, path = "/vmms/{propolis_id}/state" }]
    async fn vmm_put_state(
        rqctx: RequestContext<Self::Context>,
        path: Path<VmmPath>,
        body: TypedBody<VmmPutStateBody>,
    ) -> Result<Answer<HttpResponseOk<VmmPutStateResponse>>, HttpError>;

    /// Fetch the state of a VMM
    #[endpoint { method = GET, path = "/vmms/{propolis_id}/state" }]
    async fn vmm_get_state(
        rqctx: RequestContext<Self::Context>,
        path: Path<VmmPath>,
    ) -> Result<Answer<HttpResponseOk<SledVmmState>>, HttpError>;

    /// Give an external address to a VMM
    ///
    /// To give it again is a success.
    #[endpoint { method = PUT, path = "/vmms/{propolis_id}/external-ip" }]
    async fn vmm_put_external_ip(
        rqctx: RequestContext<Self::Context>,
        path: Path<VmmPath>,
        body: TypedBody<InstanceExternalIpBody>,
    ) -> Result<Answer<HttpResponseUpdatedNoContent>, HttpError>;

    /// Take an external address from a VMM
    ///
    /// That it does not have it is a success.
    #[endpoint { method = DELETE, path = "/vmms/{propolis_id}/external-ip" }]
    async fn vmm_delete_external_ip(
        rqctx: RequestContext<Self::Context>,
        path: Path<VmmPath>,
        body: TypedBody<InstanceExternalIpBody>,
    ) -> Result<Answer<HttpResponseUpdatedNoContent>, HttpError>;

    /// Say where a virtual address is
    ///
    /// This takes the place of what was said of it before.
    #[endpoint { method = PUT, path = "/v2p" }]
    async fn set_v2p(
        rqctx: RequestContext<Self::Context>,
        body: TypedBody<VirtualNetworkInterfaceHost>,
    ) -> Result<Answer<HttpResponseUpdatedNoContent>, HttpError>;

    /// Forget where a virtual address is
    ///
    /// That it is not known is a success.
    #[endpoint { method = DELETE, path = "/v2p" }]
    async fn del_v2p(
        rqctx: RequestContext<Self::Context>,
        body: TypedBody<VirtualNetworkInterfaceHost>,
    ) -> Result<Answer<HttpResponseUpdatedNoContent>, HttpError>;

    /// List where virtual addresses are
    #[endpoint { method = GET, path = "/v2p" }]
    async fn list_v2p(
        rqctx: RequestContext<Self::Context>,
    ) -> Result<Answer<HttpResponseOk<Vec<VirtualNetworkInterfaceHost>>>, HttpError>;

    /// List which routes the VPCs of this sled have
    #[endpoint { method = GET, path = "/vpc-routes" }]
    async fn list_vpc_routes(
        rqctx: RequestContext<Self::Context>,
    ) -> Result<Answer<HttpResponseOk<Vec<ResolvedVpcRouteState>>>, HttpError>;

    /// Set the routes of VPCs
    ///
    /// Those that are not of this sled are passed over, and so is what is not newer than what the
    /// sled has.
    #[endpoint { method = PUT, path = "/vpc-routes" }]
    async fn set_vpc_routes(
        rqctx: RequestContext<Self::Context>,
        body: TypedBody<Vec<ResolvedVpcRouteSet>>,
    ) -> Result<Answer<HttpResponseUpdatedNoContent>, HttpError>;

    /// Set which internet gateways external addresses may be used with
    #[endpoint { method = PUT, path = "/eip-gateways" }]
    async fn set_eip_gateways(
        rqctx: RequestContext<Self::Context>,
        body: TypedBody<ExternalIpGatewayMap>,
    ) -> Result<Answer<HttpResponseUpdatedNoContent>, HttpError>;

    /// Set the firewall rules of a VPC
    #[endpoint { method = PUT, path = "/vpc/{vpc_id}/firewall/rules" }]
    async fn vpc_firewall_rules_put(
        rqctx: RequestContext<Self::Context>,
        path: Path<VpcPath>,
        body: TypedBody<VpcFirewallRulesEnsureBody>,
    ) -> Result<Answer<HttpResponseUpdatedNoContent>, HttpError>;

    /// Fetch what identifies the sled
    #[endpoint { method = GET, path = "/sled-identifiers" }]
    async fn sled_identifiers(
        rqctx: RequestContext<Self::Context>,
    ) -> Result<Answer<HttpResponseOk<SledIdentifiers>>, HttpError>;
}
