//! What dpd serves: the operations on the NAT table, and who the switch is.

use crate::types::{
    BuildInfo, Ipv4Nat, Ipv6Nat, NatIpv4Path, NatIpv4PortPath, NatIpv4RangePath, NatIpv4Token,
    NatIpv6Path, NatIpv6PortPath, NatIpv6RangePath, NatIpv6Token, NatTarget, NatToken,
    SwitchIdentifiers,
};
use dropshot::{
    ClientSpecifiesVersionInHeader, EmptyScanParams, HttpError, HttpResponseDeleted,
    HttpResponseOk, HttpResponseUpdatedNoContent, PaginationParams, Path, Query, RequestContext,
    ResultsPage, TypedBody, VersionPolicy,
};
use semver::Version;
use sim_kit::Answer;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The newest version of dpd's API whose operations are here. Those on the NAT table have not
/// changed since the first.
pub const VERSION: Version = Version::new(13, 0, 0);

/// The most bytes of a request's body that are read.
pub const REQUEST_BODY_MAX: usize = 10_240;

/// The most items on a page.
pub const PAGE_MAX: usize = 64;

/// Which version of this API a request speaks: what its `api-version` header says, which it must
/// have, and which may be any up to [`VERSION`].
pub fn version_policy() -> VersionPolicy {
    VersionPolicy::Dynamic(Box::new(ClientSpecifiesVersionInHeader::new(
        http::HeaderName::from_static("api-version"),
        VERSION,
    )))
}

/// What dpd serves.
#[dropshot::api_description]
pub trait DpdApi {
    /// What the implementation keeps.
    type Context;

    /// List the IPv4 addresses that have mappings, in order
    ///
    /// A page has at most [`PAGE_MAX`] of them, whatever limit is asked for.
    #[endpoint { method = GET, path = "/nat/ipv4" }]
    async fn nat_ipv4_addresses_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<PaginationParams<EmptyScanParams, NatIpv4Token>>,
    ) -> Result<Answer<HttpResponseOk<ResultsPage<Ipv4Addr>>>, HttpError>;

    /// List the mappings of an IPv4 address, in the order of their ports
    ///
    /// A page has at most [`PAGE_MAX`] of them, whatever limit is asked for.
    #[endpoint { method = GET, path = "/nat/ipv4/{ipv4}" }]
    async fn nat_ipv4_list(
        rqctx: RequestContext<Self::Context>,
        path: Path<NatIpv4Path>,
        query: Query<PaginationParams<EmptyScanParams, NatToken>>,
    ) -> Result<Answer<HttpResponseOk<ResultsPage<Ipv4Nat>>>, HttpError>;

    /// Fetch where packets to a port of an IPv4 address go
    #[endpoint { method = GET, path = "/nat/ipv4/{ipv4}/{low}" }]
    async fn nat_ipv4_get(
        rqctx: RequestContext<Self::Context>,
        path: Path<NatIpv4PortPath>,
    ) -> Result<Answer<HttpResponseOk<NatTarget>>, HttpError>;

    /// Map ports of an IPv4 address
    ///
    /// To map them again in the same way is a success. Ports that are mapped in another way are a
    /// conflict, and nothing changes.
    #[endpoint { method = PUT, path = "/nat/ipv4/{ipv4}/{low}/{high}" }]
    async fn nat_ipv4_create(
        rqctx: RequestContext<Self::Context>,
        path: Path<NatIpv4RangePath>,
        target: TypedBody<NatTarget>,
    ) -> Result<Answer<HttpResponseUpdatedNoContent>, HttpError>;

    /// Remove the mapping of a port of an IPv4 address, with all its other ports
    ///
    /// That there is none is a success.
    #[endpoint { method = DELETE, path = "/nat/ipv4/{ipv4}/{low}" }]
    async fn nat_ipv4_delete(
        rqctx: RequestContext<Self::Context>,
        path: Path<NatIpv4PortPath>,
    ) -> Result<Answer<HttpResponseDeleted>, HttpError>;

    /// Remove all mappings of IPv4 addresses
    #[endpoint { method = DELETE, path = "/nat/ipv4" }]
    async fn nat_ipv4_reset(
        rqctx: RequestContext<Self::Context>,
    ) -> Result<Answer<HttpResponseUpdatedNoContent>, HttpError>;

    /// List the IPv6 addresses that have mappings, in order
    ///
    /// A page has at most [`PAGE_MAX`] of them, whatever limit is asked for.
    #[endpoint { method = GET, path = "/nat/ipv6" }]
    async fn nat_ipv6_addresses_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<PaginationParams<EmptyScanParams, NatIpv6Token>>,
    ) -> Result<Answer<HttpResponseOk<ResultsPage<Ipv6Addr>>>, HttpError>;

    /// List the mappings of an IPv6 address, in the order of their ports
    ///
    /// A page has at most [`PAGE_MAX`] of them, whatever limit is asked for.
    #[endpoint { method = GET, path = "/nat/ipv6/{ipv6}" }]
    async fn nat_ipv6_list(
        rqctx: RequestContext<Self::Context>,
        path: Path<NatIpv6Path>,
        query: Query<PaginationParams<EmptyScanParams, NatToken>>,
    ) -> Result<Answer<HttpResponseOk<ResultsPage<Ipv6Nat>>>, HttpError>;

    /// Fetch where packets to a port of an IPv6 address go
    #[endpoint { method = GET, path = "/nat/ipv6/{ipv6}/{low}" }]
    async fn nat_ipv6_get(
        rqctx: RequestContext<Self::Context>,
        path: Path<NatIpv6PortPath>,
    ) -> Result<Answer<HttpResponseOk<NatTarget>>, HttpError>;

    /// Map ports of an IPv6 address
    ///
    /// To map them again in the same way is a success. Ports that are mapped in another way are a
    /// conflict, and nothing changes.
    #[endpoint { method = PUT, path = "/nat/ipv6/{ipv6}/{low}/{high}" }]
    async fn nat_ipv6_create(
        rqctx: RequestContext<Self::Context>,
        path: Path<NatIpv6RangePath>,
        target: TypedBody<NatTarget>,
    ) -> Result<Answer<HttpResponseUpdatedNoContent>, HttpError>;

    /// Remove the mapping of a port of an IPv6 address, with all its other ports
    ///
    /// That there is none is a success.
    #[endpoint { method = DELETE, path = "/nat/ipv6/{ipv6}/{low}" }]
    async fn nat_ipv6_delete(
        rqctx: RequestContext<Self::Context>,
        path: Path<NatIpv6PortPath>,
    ) -> Result<Answer<HttpResponseDeleted>, HttpError>;

    /// Remove all mappings of IPv6 addresses
    #[endpoint { method = DELETE, path = "/nat/ipv6" }]
    async fn nat_ipv6_reset(
        rqctx: RequestContext<Self::Context>,
    ) -> Result<Answer<HttpResponseUpdatedNoContent>, HttpError>;

    /// Fetch the generation of the last change that was taken from Nexus
    #[endpoint { method = GET, path = "/rpw/nat/gen" }]
    async fn nat_generation(
        rqctx: RequestContext<Self::Context>,
    ) -> Result<Answer<HttpResponseOk<i64>>, HttpError>;

    /// Have changes taken from Nexus now
    #[endpoint { method = POST, path = "/rpw/nat/trigger" }]
    async fn nat_trigger_update(
        rqctx: RequestContext<Self::Context>,
    ) -> Result<Answer<HttpResponseOk<()>>, HttpError>;

    /// Fetch how the running program was built
    #[endpoint { method = GET, path = "/build-info" }]
    async fn build_info(
        rqctx: RequestContext<Self::Context>,
    ) -> Result<Answer<HttpResponseOk<BuildInfo>>, HttpError>;

    /// Fetch what identifies the switch
    #[endpoint { method = GET, path = "/switch/identifiers" }]
    async fn switch_identifiers(
        rqctx: RequestContext<Self::Context>,
    ) -> Result<Answer<HttpResponseOk<SwitchIdentifiers>>, HttpError>;
}
