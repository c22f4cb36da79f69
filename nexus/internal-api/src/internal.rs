//! What sled agents and switches call.

use crate::types::{NatEntryView, SledAgentInfo, SledVmmState};
use dropshot::{
    ClientSpecifiesVersionInHeader, HttpError, HttpResponseOk, HttpResponseUpdatedNoContent, Path,
    Query, RequestContext, TypedBody, VersionPolicy,
};
use dropshot_api_manager_types::api_versions;
use nexus_api::types::Ping;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

api_versions!([
    // A new version goes on top: (2, WHAT_IT_BRINGS), and the operations that it changes say
    // `versions = VERSION_WHAT_IT_BRINGS..`.
    (1, INITIAL),
]);

/// The most bytes of a request's body that are read.
pub const REQUEST_BODY_MAX: usize = 1 << 20;

/// Which version of this API a request speaks: what its `api-version` header says, which it must
/// have.
pub fn version_policy() -> VersionPolicy {
    VersionPolicy::Dynamic(Box::new(ClientSpecifiesVersionInHeader::new(
        http::HeaderName::from_static("api-version"),
        latest_version(),
    )))
}

/// What sled agents and switches call.
#[dropshot::api_description]
pub trait NexusInternalApi {
    /// What the implementation keeps.
    type Context;

    /// Check that the server answers
    #[endpoint { method = GET, path = "/v1/ping" }]
    async fn ping(
        _rqctx: RequestContext<Self::Context>,
    ) -> Result<HttpResponseOk<Ping>, HttpError> {
        Ok(HttpResponseOk(Ping::OK))
    }

    /// Fetch what is known of a sled
    #[endpoint { method = GET, path = "/sled-agents/{sled_id}" }]
    async fn sled_agent_get(
        rqctx: RequestContext<Self::Context>,
        path: Path<SledAgentPath>,
    ) -> Result<HttpResponseOk<SledAgentInfo>, HttpError>;

    /// Report that a sled has started, and what it has
    ///
    /// Only a report of a newer generation than the last one counts. Whoever repeats a report
    /// must raise its generation.
    #[endpoint { method = POST, path = "/sled-agents/{sled_id}" }]
    async fn sled_agent_put(
        rqctx: RequestContext<Self::Context>,
        path: Path<SledAgentPath>,
        info: TypedBody<SledAgentInfo>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError>;

    /// Report what a VMM is doing
    ///
    /// The VMM and each side of a migration have a generation of their own. What is older than
    /// the last report is ignored, and that is a success.
    #[endpoint { method = PUT, path = "/vmms/{propolis_id}" }]
    async fn cpapi_instances_put(
        rqctx: RequestContext<Self::Context>,
        path: Path<VmmPath>,
        state: TypedBody<SledVmmState>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError>;

    /// Fetch the changes of the NAT table after a generation
    ///
    /// In the order of their generations, IPv4 and IPv6 alike. An entry that was added and
    /// removed again shows its removal only. No changes: nothing is newer.
    #[endpoint { method = GET, path = "/nat/ipv4/changeset/{from_gen}" }]
    async fn ipv4_nat_changeset(
        rqctx: RequestContext<Self::Context>,
        path: Path<NatChangesetPath>,
        query: Query<NatChangesetQuery>,
    ) -> Result<HttpResponseOk<Vec<NatEntryView>>, HttpError>;
}

/// A sled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct SledAgentPath {
    /// The sled's id
    pub sled_id: Uuid,
}

/// A VMM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct VmmPath {
    /// The VMM's id
    pub propolis_id: Uuid,
}

/// Where a switch is in the changes of the NAT table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct NatChangesetPath {
    /// The last generation that the switch has; 0 to start with
    pub from_gen: i64,
}

/// How many changes of the NAT table a switch takes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct NatChangesetQuery {
    /// The most changes in the answer
    pub limit: u32,
}
