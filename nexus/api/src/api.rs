//! The operations of the external API.

use crate::compat::CompatBody;
use crate::older::{
    self, OlderBody, v0_0_1, v0_0_6, v2024032700, v2024120400, v2025100800, v2025112000,
    v2025120300, v2025122300, v2026010300, v2026010500, v2026011600,
};
use crate::paging::{ListByAddress, ListById, ListByName, ListByNameOrId, ListByTime};
use crate::types::*;
use crate::version::*;
use dropshot::{
    Body, EndpointTagPolicy, HttpError, HttpResponseAccepted, HttpResponseCreated,
    HttpResponseDeleted, HttpResponseHeaders, HttpResponseOk, HttpResponseUpdatedNoContent, Path,
    Query, RequestContext, ResultsPage, TypedBody,
};
use http::Response;

/// The most bytes of a request's body that are read. A server sets it as
/// `default_request_body_max_bytes`.
pub const REQUEST_BODY_MAX: usize = 1 << 20;

/// The same of operations that anyone may call.
pub const LOGIN_BODY_MAX: usize = 16 << 10;

/// The operations that users have.
#[dropshot::api_description {
    tag_config = {
        policy = EndpointTagPolicy::ExactlyOne,
        allow_other_tags = false,
        tags = {
            "current-user" = { description = "The user as whom requests are made." },
            "disks" = { description = "Virtual disks of instances." },
            "images" = { description = "What disks are made from." },
            "floating-ips" = {
                description = "External addresses that a project owns and gives to instances.",
            },
            "instances" = {
                description = "Virtual machines, their network interfaces and external addresses.",
            },
            "ip-pools" = { description = "The IP pools that the caller's silo may use." },
            "console-auth" = { description = "How programs and browsers are let in." },
            "login" = { description = "How people log in." },
            "policy" = { description = "Who may do what in the fleet." },
            "silos" = { description = "The caller's silo: its users, groups, policy, settings, use." },
            "tokens" = { description = "API tokens." },
            "projects" = { description = "What groups instances, disks and networks." },
            "snapshots" = { description = "Disks as they were at some time." },
            "system/audit-log" = { description = "Who changed what, for operators." },
            "system/hardware" = { description = "The sleds, for operators." },
            "system/ip-pools" = { description = "All IP pools, for operators." },
            "system/silos" = { description = "Silos, for operators." },
            "system/status" = { description = "Whether the system answers." },
            "vpcs" = { description = "Private networks of a project." },
        },
    },
}]
pub trait NexusExternalApi {
    /// What the implementation keeps.
    type Context;

    /// Check that the server answers
    ///
    /// Needs no credentials.
    #[endpoint { method = GET, path = "/v1/ping", tags = ["system/status"] }]
    async fn ping(
        _rqctx: RequestContext<Self::Context>,
    ) -> Result<HttpResponseOk<Ping>, HttpError> {
        Ok(HttpResponseOk(Ping::OK))
    }

    /// Fetch the current user
    #[endpoint { method = GET, path = "/v1/me", tags = ["current-user"] }]
    async fn current_user_view(
        rqctx: RequestContext<Self::Context>,
    ) -> Result<HttpResponseOk<CurrentUser>, HttpError>;

    // SSH keys

    /// List SSH keys of the current user
    #[endpoint { method = GET, path = "/v1/me/ssh-keys", tags = ["current-user"] }]
    async fn current_user_ssh_key_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId>,
    ) -> Result<HttpResponseOk<ResultsPage<SshKey>>, HttpError>;

    /// Create an SSH key
    ///
    /// Instances that are created from now on can be told of it.
    #[endpoint { method = POST, path = "/v1/me/ssh-keys", tags = ["current-user"] }]
    async fn current_user_ssh_key_create(
        rqctx: RequestContext<Self::Context>,
        body: TypedBody<SshKeyCreate>,
    ) -> Result<HttpResponseCreated<SshKey>, HttpError>;

    /// Fetch an SSH key of the current user
    #[endpoint { method = GET, path = "/v1/me/ssh-keys/{ssh_key}", tags = ["current-user"] }]
    async fn current_user_ssh_key_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<SshKeyPath>,
    ) -> Result<HttpResponseOk<SshKey>, HttpError>;

    /// Delete an SSH key
    ///
    /// Guests that were told of it are not told otherwise.
    #[endpoint { method = DELETE, path = "/v1/me/ssh-keys/{ssh_key}", tags = ["current-user"] }]
    async fn current_user_ssh_key_delete(
        rqctx: RequestContext<Self::Context>,
        path: Path<SshKeyPath>,
    ) -> Result<HttpResponseDeleted, HttpError>;

    // Projects

    /// List projects
    #[endpoint { method = GET, path = "/v1/projects", tags = ["projects"] }]
    async fn project_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId>,
    ) -> Result<HttpResponseOk<ResultsPage<Project>>, HttpError>;

    /// Create a project
    #[endpoint { method = POST, path = "/v1/projects", tags = ["projects"] }]
    async fn project_create(
        rqctx: RequestContext<Self::Context>,
        body: TypedBody<ProjectCreate>,
    ) -> Result<HttpResponseCreated<Project>, HttpError>;

    /// Fetch a project
    #[endpoint { method = GET, path = "/v1/projects/{project}", tags = ["projects"] }]
    async fn project_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<ProjectPath>,
    ) -> Result<HttpResponseOk<Project>, HttpError>;

    /// Update a project
    #[endpoint { method = PUT, path = "/v1/projects/{project}", tags = ["projects"] }]
    async fn project_update(
        rqctx: RequestContext<Self::Context>,
        path: Path<ProjectPath>,
        body: TypedBody<ProjectUpdate>,
    ) -> Result<HttpResponseOk<Project>, HttpError>;

    /// Delete a project
    ///
    /// It must be empty.
    #[endpoint { method = DELETE, path = "/v1/projects/{project}", tags = ["projects"] }]
    async fn project_delete(
        rqctx: RequestContext<Self::Context>,
        path: Path<ProjectPath>,
    ) -> Result<HttpResponseDeleted, HttpError>;

    // Floating IPs

    /// List floating IPs
    #[endpoint { method = GET, path = "/v1/floating-ips", tags = ["floating-ips"] }]
    async fn floating_ip_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId<ProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<FloatingIp>>, HttpError>;

    /// Create a floating IP
    ///
    /// It is detached at first.
    #[endpoint {
        method = POST,
        path = "/v1/floating-ips",
        tags = ["floating-ips"],
        versions = VERSION_ALLOCATOR_WITHOUT_POOL..,
    }]
    async fn floating_ip_create(
        rqctx: RequestContext<Self::Context>,
        query: Query<ProjectSelector>,
        body: CompatBody<FloatingIpCreate>,
    ) -> Result<HttpResponseCreated<FloatingIp>, HttpError>;

    /// Create a floating IP
    ///
    /// It is detached at first.
    #[endpoint {
        method = POST,
        path = "/v1/floating-ips",
        tags = ["floating-ips"],
        operation_id = "floating_ip_create",
        versions = ..VERSION_FLOATING_IP_UPDATE,
    }]
    async fn floating_ip_create_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        query: Query<ProjectSelector>,
        body: OlderBody<v0_0_1::FloatingIpCreate, FloatingIpCreate>,
    ) -> Result<HttpResponseCreated<FloatingIp>, HttpError> {
        Self::floating_ip_create(rqctx, query, body.newest()).await
    }

    /// Create a floating IP
    ///
    /// It is detached at first.
    #[endpoint {
        method = POST,
        path = "/v1/floating-ips",
        tags = ["floating-ips"],
        operation_id = "floating_ip_create",
        versions = VERSION_FLOATING_IP_UPDATE..VERSION_IP_VERSIONS,
    }]
    async fn floating_ip_create_v20240327(
        rqctx: RequestContext<Self::Context>,
        query: Query<ProjectSelector>,
        body: OlderBody<v2024032700::FloatingIpCreate, FloatingIpCreate>,
    ) -> Result<HttpResponseCreated<FloatingIp>, HttpError> {
        Self::floating_ip_create(rqctx, query, body.newest()).await
    }

    /// Create a floating IP
    ///
    /// It is detached at first.
    #[endpoint {
        method = POST,
        path = "/v1/floating-ips",
        tags = ["floating-ips"],
        operation_id = "floating_ip_create",
        versions = VERSION_IP_VERSIONS..VERSION_POOL_SELECTORS,
    }]
    async fn floating_ip_create_v2025122300(
        rqctx: RequestContext<Self::Context>,
        query: Query<ProjectSelector>,
        body: OlderBody<v2025122300::FloatingIpCreate, FloatingIpCreate>,
    ) -> Result<HttpResponseCreated<FloatingIp>, HttpError> {
        Self::floating_ip_create(rqctx, query, body.newest()).await
    }

    /// Create a floating IP
    ///
    /// It is detached at first.
    #[endpoint {
        method = POST,
        path = "/v1/floating-ips",
        tags = ["floating-ips"],
        operation_id = "floating_ip_create",
        versions = VERSION_POOL_SELECTORS..VERSION_ADDRESS_ALLOCATOR,
    }]
    async fn floating_ip_create_v2026010500(
        rqctx: RequestContext<Self::Context>,
        query: Query<ProjectSelector>,
        body: OlderBody<v2026010500::FloatingIpCreate, FloatingIpCreate>,
    ) -> Result<HttpResponseCreated<FloatingIp>, HttpError> {
        Self::floating_ip_create(rqctx, query, body.newest()).await
    }

    /// Create a floating IP
    ///
    /// It is detached at first.
    #[endpoint {
        method = POST,
        path = "/v1/floating-ips",
        tags = ["floating-ips"],
        operation_id = "floating_ip_create",
        versions = VERSION_ADDRESS_ALLOCATOR..VERSION_ALLOCATOR_WITHOUT_POOL,
    }]
    async fn floating_ip_create_v2026011600(
        rqctx: RequestContext<Self::Context>,
        query: Query<ProjectSelector>,
        body: OlderBody<v2026011600::FloatingIpCreate, FloatingIpCreate>,
    ) -> Result<HttpResponseCreated<FloatingIp>, HttpError> {
        Self::floating_ip_create(rqctx, query, body.newest()).await
    }

    /// Fetch a floating IP
    #[endpoint { method = GET, path = "/v1/floating-ips/{floating_ip}", tags = ["floating-ips"] }]
    async fn floating_ip_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<FloatingIpPath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseOk<FloatingIp>, HttpError>;

    /// Update a floating IP
    #[endpoint { method = PUT, path = "/v1/floating-ips/{floating_ip}", tags = ["floating-ips"] }]
    async fn floating_ip_update(
        rqctx: RequestContext<Self::Context>,
        path: Path<FloatingIpPath>,
        query: Query<OptionalProjectSelector>,
        body: TypedBody<FloatingIpUpdate>,
    ) -> Result<HttpResponseOk<FloatingIp>, HttpError>;

    /// Delete a floating IP
    ///
    /// It must be detached. Its address goes back to its pool.
    #[endpoint {
        method = DELETE,
        path = "/v1/floating-ips/{floating_ip}",
        tags = ["floating-ips"],
    }]
    async fn floating_ip_delete(
        rqctx: RequestContext<Self::Context>,
        path: Path<FloatingIpPath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseDeleted, HttpError>;

    /// Attach a floating IP
    ///
    /// The instance must be of the same project and be running or stopped. When this answers, a
    /// running instance can be reached at the address.
    #[endpoint {
        method = POST,
        path = "/v1/floating-ips/{floating_ip}/attach",
        tags = ["floating-ips"],
    }]
    async fn floating_ip_attach(
        rqctx: RequestContext<Self::Context>,
        path: Path<FloatingIpPath>,
        query: Query<OptionalProjectSelector>,
        body: TypedBody<FloatingIpAttach>,
    ) -> Result<HttpResponseAccepted<FloatingIp>, HttpError>;

    /// Detach a floating IP
    ///
    /// When this answers, the instance can no longer be reached at the address.
    #[endpoint {
        method = POST,
        path = "/v1/floating-ips/{floating_ip}/detach",
        tags = ["floating-ips"],
    }]
    async fn floating_ip_detach(
        rqctx: RequestContext<Self::Context>,
        path: Path<FloatingIpPath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseAccepted<FloatingIp>, HttpError>;

    // Instances

    /// List instances
    #[endpoint {
        method = GET,
        path = "/v1/instances",
        tags = ["instances"],
        versions = VERSION_TURIN_V2..,
    }]
    async fn instance_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId<ProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<Instance>>, HttpError>;

    /// List instances
    #[endpoint {
        method = GET,
        path = "/v1/instances",
        tags = ["instances"],
        operation_id = "instance_list",
        versions = ..VERSION_TURIN_V2,
    }]
    async fn instance_list_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId<ProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<v0_0_1::Instance>>, HttpError> {
        Ok(older::page(Self::instance_list(rqctx, query).await?))
    }

    /// Create an instance
    ///
    /// With everything that it is to have, or not at all. That it cannot be started does not undo
    /// its creation.
    #[endpoint {
        method = POST,
        path = "/v1/instances",
        tags = ["instances"],
        versions = VERSION_TURIN_V2..,
    }]
    async fn instance_create(
        rqctx: RequestContext<Self::Context>,
        query: Query<ProjectSelector>,
        body: CompatBody<InstanceCreate>,
    ) -> Result<HttpResponseCreated<Instance>, HttpError>;

    /// Create an instance
    ///
    /// With everything that it is to have, or not at all. That it cannot be started does not undo
    /// its creation.
    #[endpoint {
        method = POST,
        path = "/v1/instances",
        tags = ["instances"],
        operation_id = "instance_create",
        versions = ..VERSION_POOL_LINKS,
    }]
    async fn instance_create_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        query: Query<ProjectSelector>,
        body: OlderBody<v0_0_1::InstanceCreate, InstanceCreate>,
    ) -> Result<HttpResponseCreated<v0_0_1::Instance>, HttpError> {
        older::created(Self::instance_create(rqctx, query, body.newest()).await?)
    }

    /// Create an instance
    ///
    /// With everything that it is to have, or not at all. That it cannot be started does not undo
    /// its creation.
    #[endpoint {
        method = POST,
        path = "/v1/instances",
        tags = ["instances"],
        operation_id = "instance_create",
        versions = VERSION_POOL_LINKS..VERSION_LOCAL_DISKS,
    }]
    async fn instance_create_v0_0_6(
        rqctx: RequestContext<Self::Context>,
        query: Query<ProjectSelector>,
        body: OlderBody<v0_0_6::InstanceCreate, InstanceCreate>,
    ) -> Result<HttpResponseCreated<v0_0_1::Instance>, HttpError> {
        older::created(Self::instance_create(rqctx, query, body.newest()).await?)
    }

    /// Create an instance
    ///
    /// With everything that it is to have, or not at all. That it cannot be started does not undo
    /// its creation.
    #[endpoint {
        method = POST,
        path = "/v1/instances",
        tags = ["instances"],
        operation_id = "instance_create",
        versions = VERSION_LOCAL_DISKS..VERSION_IP_VERSIONS,
    }]
    async fn instance_create_v2025120300(
        rqctx: RequestContext<Self::Context>,
        query: Query<ProjectSelector>,
        body: OlderBody<v2025120300::InstanceCreate, InstanceCreate>,
    ) -> Result<HttpResponseCreated<v0_0_1::Instance>, HttpError> {
        older::created(Self::instance_create(rqctx, query, body.newest()).await?)
    }

    /// Create an instance
    ///
    /// With everything that it is to have, or not at all. That it cannot be started does not undo
    /// its creation.
    #[endpoint {
        method = POST,
        path = "/v1/instances",
        tags = ["instances"],
        operation_id = "instance_create",
        versions = VERSION_IP_VERSIONS..VERSION_DUAL_STACK_NICS,
    }]
    async fn instance_create_v2025122300(
        rqctx: RequestContext<Self::Context>,
        query: Query<ProjectSelector>,
        body: OlderBody<v2025122300::InstanceCreate, InstanceCreate>,
    ) -> Result<HttpResponseCreated<v0_0_1::Instance>, HttpError> {
        older::created(Self::instance_create(rqctx, query, body.newest()).await?)
    }

    /// Create an instance
    ///
    /// With everything that it is to have, or not at all. That it cannot be started does not undo
    /// its creation.
    #[endpoint {
        method = POST,
        path = "/v1/instances",
        tags = ["instances"],
        operation_id = "instance_create",
        versions = VERSION_DUAL_STACK_NICS..VERSION_POOL_SELECTORS,
    }]
    async fn instance_create_v2026010300(
        rqctx: RequestContext<Self::Context>,
        query: Query<ProjectSelector>,
        body: OlderBody<v2026010300::InstanceCreate, InstanceCreate>,
    ) -> Result<HttpResponseCreated<v0_0_1::Instance>, HttpError> {
        older::created(Self::instance_create(rqctx, query, body.newest()).await?)
    }

    /// Create an instance
    ///
    /// With everything that it is to have, or not at all. That it cannot be started does not undo
    /// its creation.
    #[endpoint {
        method = POST,
        path = "/v1/instances",
        tags = ["instances"],
        operation_id = "instance_create",
        versions = VERSION_POOL_SELECTORS..VERSION_JOIN_SPECS,
    }]
    async fn instance_create_v2026010500(
        rqctx: RequestContext<Self::Context>,
        query: Query<ProjectSelector>,
        body: OlderBody<v2026010500::InstanceCreate, InstanceCreate>,
    ) -> Result<HttpResponseCreated<v0_0_1::Instance>, HttpError> {
        older::created(Self::instance_create(rqctx, query, body.newest()).await?)
    }

    /// Create an instance
    ///
    /// With everything that it is to have, or not at all. That it cannot be started does not undo
    /// its creation.
    #[endpoint {
        method = POST,
        path = "/v1/instances",
        tags = ["instances"],
        operation_id = "instance_create",
        versions = VERSION_JOIN_SPECS..VERSION_TURIN_V2,
    }]
    async fn instance_create_v2026010800(
        rqctx: RequestContext<Self::Context>,
        query: Query<ProjectSelector>,
        body: CompatBody<InstanceCreate>,
    ) -> Result<HttpResponseCreated<v0_0_1::Instance>, HttpError> {
        older::created(Self::instance_create(rqctx, query, body).await?)
    }

    /// Fetch an instance
    #[endpoint {
        method = GET,
        path = "/v1/instances/{instance}",
        tags = ["instances"],
        versions = VERSION_TURIN_V2..,
    }]
    async fn instance_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseOk<Instance>, HttpError>;

    /// Fetch an instance
    #[endpoint {
        method = GET,
        path = "/v1/instances/{instance}",
        tags = ["instances"],
        operation_id = "instance_view",
        versions = ..VERSION_TURIN_V2,
    }]
    async fn instance_view_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseOk<v0_0_1::Instance>, HttpError> {
        older::ok(Self::instance_view(rqctx, path, query).await?)
    }

    /// Delete an instance
    ///
    /// It must be stopped or failed. Its floating IPs are detached, its other external addresses
    /// go back to their pools.
    #[endpoint { method = DELETE, path = "/v1/instances/{instance}", tags = ["instances"] }]
    async fn instance_delete(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseDeleted, HttpError>;

    /// Start an instance
    #[endpoint {
        method = POST,
        path = "/v1/instances/{instance}/start",
        tags = ["instances"],
        versions = VERSION_TURIN_V2..,
    }]
    async fn instance_start(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseAccepted<Instance>, HttpError>;

    /// Start an instance
    #[endpoint {
        method = POST,
        path = "/v1/instances/{instance}/start",
        tags = ["instances"],
        operation_id = "instance_start",
        versions = ..VERSION_TURIN_V2,
    }]
    async fn instance_start_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseAccepted<v0_0_1::Instance>, HttpError> {
        older::accepted(Self::instance_start(rqctx, path, query).await?)
    }

    /// Stop an instance
    ///
    /// This does not wait for the guest.
    #[endpoint {
        method = POST,
        path = "/v1/instances/{instance}/stop",
        tags = ["instances"],
        versions = VERSION_TURIN_V2..,
    }]
    async fn instance_stop(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseAccepted<Instance>, HttpError>;

    /// Stop an instance
    ///
    /// This does not wait for the guest.
    #[endpoint {
        method = POST,
        path = "/v1/instances/{instance}/stop",
        tags = ["instances"],
        operation_id = "instance_stop",
        versions = ..VERSION_TURIN_V2,
    }]
    async fn instance_stop_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseAccepted<v0_0_1::Instance>, HttpError> {
        older::accepted(Self::instance_stop(rqctx, path, query).await?)
    }

    /// Reboot an instance
    #[endpoint {
        method = POST,
        path = "/v1/instances/{instance}/reboot",
        tags = ["instances"],
        versions = VERSION_TURIN_V2..,
    }]
    async fn instance_reboot(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseAccepted<Instance>, HttpError>;

    /// Reboot an instance
    #[endpoint {
        method = POST,
        path = "/v1/instances/{instance}/reboot",
        tags = ["instances"],
        operation_id = "instance_reboot",
        versions = ..VERSION_TURIN_V2,
    }]
    async fn instance_reboot_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseAccepted<v0_0_1::Instance>, HttpError> {
        older::accepted(Self::instance_reboot(rqctx, path, query).await?)
    }

    /// Update an instance
    ///
    /// What needs a stopped instance is refused for one that runs, unless nothing would change.
    #[endpoint {
        method = PUT,
        path = "/v1/instances/{instance}",
        tags = ["instances"],
        versions = VERSION_TURIN_V2..,
    }]
    async fn instance_update(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
        body: CompatBody<InstanceUpdate>,
    ) -> Result<HttpResponseOk<Instance>, HttpError>;

    /// Update an instance
    ///
    /// What needs a stopped instance is refused for one that runs, unless nothing would change.
    #[endpoint {
        method = PUT,
        path = "/v1/instances/{instance}",
        tags = ["instances"],
        operation_id = "instance_update",
        versions = ..VERSION_NULLABLE_UPDATES,
    }]
    async fn instance_update_v20241204(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
        body: OlderBody<v2024120400::InstanceUpdate, InstanceUpdate>,
    ) -> Result<HttpResponseOk<v0_0_1::Instance>, HttpError> {
        older::ok(Self::instance_update(rqctx, path, query, body.newest()).await?)
    }

    /// Update an instance
    ///
    /// What needs a stopped instance is refused for one that runs, unless nothing would change.
    #[endpoint {
        method = PUT,
        path = "/v1/instances/{instance}",
        tags = ["instances"],
        operation_id = "instance_update",
        versions = VERSION_NULLABLE_UPDATES..VERSION_JUMBO_FRAMES,
    }]
    async fn instance_update_v2025112000(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
        body: OlderBody<v2025112000::InstanceUpdate, InstanceUpdate>,
    ) -> Result<HttpResponseOk<v0_0_1::Instance>, HttpError> {
        older::ok(Self::instance_update(rqctx, path, query, body.newest()).await?)
    }

    /// Update an instance
    ///
    /// What needs a stopped instance is refused for one that runs, unless nothing would change.
    #[endpoint {
        method = PUT,
        path = "/v1/instances/{instance}",
        tags = ["instances"],
        operation_id = "instance_update",
        versions = VERSION_JUMBO_FRAMES..VERSION_TURIN_V2,
    }]
    async fn instance_update_v2026060500(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
        body: CompatBody<InstanceUpdate>,
    ) -> Result<HttpResponseOk<v0_0_1::Instance>, HttpError> {
        older::ok(Self::instance_update(rqctx, path, query, body).await?)
    }

    /// List the disks of an instance
    #[endpoint {
        method = GET,
        path = "/v1/instances/{instance}/disks",
        tags = ["instances"],
        versions = VERSION_BLOCK_SIZES..,
    }]
    async fn instance_disk_list(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<ListByNameOrId<OptionalProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<Disk>>, HttpError>;

    /// List the disks of an instance
    #[endpoint {
        method = GET,
        path = "/v1/instances/{instance}/disks",
        tags = ["instances"],
        operation_id = "instance_disk_list",
        versions = ..VERSION_LOCAL_DISKS,
    }]
    async fn instance_disk_list_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<ListByNameOrId<OptionalProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<v0_0_1::Disk>>, HttpError> {
        Ok(older::page(Self::instance_disk_list(rqctx, path, query).await?))
    }

    /// List the disks of an instance
    #[endpoint {
        method = GET,
        path = "/v1/instances/{instance}/disks",
        tags = ["instances"],
        operation_id = "instance_disk_list",
        versions = VERSION_LOCAL_DISKS..VERSION_BLOCK_SIZES,
    }]
    async fn instance_disk_list_v2025120300(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<ListByNameOrId<OptionalProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<v2025120300::Disk>>, HttpError> {
        Ok(older::page(Self::instance_disk_list(rqctx, path, query).await?))
    }

    /// Attach a disk to an instance
    ///
    /// The instance must be stopped, and the disk detached and of the same project.
    #[endpoint {
        method = POST,
        path = "/v1/instances/{instance}/disks/attach",
        tags = ["instances"],
        versions = VERSION_BLOCK_SIZES..,
    }]
    async fn instance_disk_attach(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
        body: TypedBody<DiskPath>,
    ) -> Result<HttpResponseAccepted<Disk>, HttpError>;

    /// Attach a disk to an instance
    ///
    /// The instance must be stopped, and the disk detached and of the same project.
    #[endpoint {
        method = POST,
        path = "/v1/instances/{instance}/disks/attach",
        tags = ["instances"],
        operation_id = "instance_disk_attach",
        versions = ..VERSION_LOCAL_DISKS,
    }]
    async fn instance_disk_attach_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
        body: TypedBody<DiskPath>,
    ) -> Result<HttpResponseAccepted<v0_0_1::Disk>, HttpError> {
        older::accepted(Self::instance_disk_attach(rqctx, path, query, body).await?)
    }

    /// Attach a disk to an instance
    ///
    /// The instance must be stopped, and the disk detached and of the same project.
    #[endpoint {
        method = POST,
        path = "/v1/instances/{instance}/disks/attach",
        tags = ["instances"],
        operation_id = "instance_disk_attach",
        versions = VERSION_LOCAL_DISKS..VERSION_BLOCK_SIZES,
    }]
    async fn instance_disk_attach_v2025120300(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
        body: TypedBody<DiskPath>,
    ) -> Result<HttpResponseAccepted<v2025120300::Disk>, HttpError> {
        older::accepted(Self::instance_disk_attach(rqctx, path, query, body).await?)
    }

    /// Detach a disk from an instance
    ///
    /// The instance must be stopped, and not be meant to boot from the disk.
    #[endpoint {
        method = POST,
        path = "/v1/instances/{instance}/disks/detach",
        tags = ["instances"],
        versions = VERSION_BLOCK_SIZES..,
    }]
    async fn instance_disk_detach(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
        body: TypedBody<DiskPath>,
    ) -> Result<HttpResponseAccepted<Disk>, HttpError>;

    /// Detach a disk from an instance
    ///
    /// The instance must be stopped, and not be meant to boot from the disk.
    #[endpoint {
        method = POST,
        path = "/v1/instances/{instance}/disks/detach",
        tags = ["instances"],
        operation_id = "instance_disk_detach",
        versions = ..VERSION_LOCAL_DISKS,
    }]
    async fn instance_disk_detach_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
        body: TypedBody<DiskPath>,
    ) -> Result<HttpResponseAccepted<v0_0_1::Disk>, HttpError> {
        older::accepted(Self::instance_disk_detach(rqctx, path, query, body).await?)
    }

    /// Detach a disk from an instance
    ///
    /// The instance must be stopped, and not be meant to boot from the disk.
    #[endpoint {
        method = POST,
        path = "/v1/instances/{instance}/disks/detach",
        tags = ["instances"],
        operation_id = "instance_disk_detach",
        versions = VERSION_LOCAL_DISKS..VERSION_BLOCK_SIZES,
    }]
    async fn instance_disk_detach_v2025120300(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
        body: TypedBody<DiskPath>,
    ) -> Result<HttpResponseAccepted<v2025120300::Disk>, HttpError> {
        older::accepted(Self::instance_disk_detach(rqctx, path, query, body).await?)
    }

    /// List the SSH keys that an instance was created with
    ///
    /// Those that were deleted since are not among them.
    #[endpoint {
        method = GET,
        path = "/v1/instances/{instance}/ssh-public-keys",
        tags = ["instances"],
    }]
    async fn instance_ssh_public_key_list(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<ListByNameOrId<OptionalProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<SshKey>>, HttpError>;

    /// List external addresses of an instance
    ///
    /// All of them, on one page.
    #[endpoint {
        method = GET,
        path = "/v1/instances/{instance}/external-ips",
        tags = ["instances"],
        versions = VERSION_SNAT..,
    }]
    async fn instance_external_ip_list(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseOk<ResultsPage<ExternalIp>>, HttpError>;

    /// List external addresses of an instance
    ///
    /// All of them, on one page.
    #[endpoint {
        method = GET,
        path = "/v1/instances/{instance}/external-ips",
        tags = ["instances"],
        operation_id = "instance_external_ip_list",
        versions = ..VERSION_POOL_LINKS,
    }]
    async fn instance_external_ip_list_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseOk<ResultsPage<v0_0_1::ExternalIp>>, HttpError> {
        Ok(older::page(Self::instance_external_ip_list(rqctx, path, query).await?))
    }

    /// List external addresses of an instance
    ///
    /// All of them, on one page.
    #[endpoint {
        method = GET,
        path = "/v1/instances/{instance}/external-ips",
        tags = ["instances"],
        operation_id = "instance_external_ip_list",
        versions = VERSION_POOL_LINKS..VERSION_SNAT,
    }]
    async fn instance_external_ip_list_v0_0_6(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseOk<ResultsPage<v0_0_6::ExternalIp>>, HttpError> {
        Ok(older::page(Self::instance_external_ip_list(rqctx, path, query).await?))
    }

    /// Give an ephemeral address to an instance
    ///
    /// If the instance has one of that IP version already, this answers with that one.
    #[endpoint {
        method = POST,
        path = "/v1/instances/{instance}/external-ips/ephemeral",
        tags = ["instances"],
        versions = VERSION_POOL_SELECTORS..,
    }]
    async fn instance_ephemeral_ip_attach(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
        body: CompatBody<EphemeralIpCreate>,
    ) -> Result<HttpResponseAccepted<ExternalIp>, HttpError>;

    /// Give an ephemeral address to an instance
    ///
    /// If the instance has one of that IP version already, this answers with that one.
    #[endpoint {
        method = POST,
        path = "/v1/instances/{instance}/external-ips/ephemeral",
        tags = ["instances"],
        operation_id = "instance_ephemeral_ip_attach",
        versions = ..VERSION_SNAT,
    }]
    async fn instance_ephemeral_ip_attach_v0_0_6(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
        body: OlderBody<v0_0_6::EphemeralIpCreate, EphemeralIpCreate>,
    ) -> Result<HttpResponseAccepted<v0_0_6::ExternalIp>, HttpError> {
        older::accepted(
            Self::instance_ephemeral_ip_attach(rqctx, path, query, body.newest()).await?,
        )
    }

    /// Give an ephemeral address to an instance
    ///
    /// If the instance has one of that IP version already, this answers with that one.
    #[endpoint {
        method = POST,
        path = "/v1/instances/{instance}/external-ips/ephemeral",
        tags = ["instances"],
        operation_id = "instance_ephemeral_ip_attach",
        versions = VERSION_SNAT..VERSION_IP_VERSIONS,
    }]
    async fn instance_ephemeral_ip_attach_v20250730(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
        body: OlderBody<v0_0_6::EphemeralIpCreate, EphemeralIpCreate>,
    ) -> Result<HttpResponseAccepted<ExternalIp>, HttpError> {
        Self::instance_ephemeral_ip_attach(rqctx, path, query, body.newest()).await
    }

    /// Give an ephemeral address to an instance
    ///
    /// If the instance has one of that IP version already, this answers with that one.
    #[endpoint {
        method = POST,
        path = "/v1/instances/{instance}/external-ips/ephemeral",
        tags = ["instances"],
        operation_id = "instance_ephemeral_ip_attach",
        versions = VERSION_IP_VERSIONS..VERSION_POOL_SELECTORS,
    }]
    async fn instance_ephemeral_ip_attach_v2025122300(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
        body: OlderBody<v2025122300::EphemeralIpCreate, EphemeralIpCreate>,
    ) -> Result<HttpResponseAccepted<ExternalIp>, HttpError> {
        Self::instance_ephemeral_ip_attach(rqctx, path, query, body.newest()).await
    }

    /// Take an ephemeral address from an instance
    ///
    /// It goes back to its pool.
    #[endpoint {
        method = DELETE,
        path = "/v1/instances/{instance}/external-ips/ephemeral",
        tags = ["instances"],
    }]
    async fn instance_ephemeral_ip_detach(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<EphemeralIpDetachSelector>,
    ) -> Result<HttpResponseDeleted, HttpError>;

    /// List network interfaces
    #[endpoint {
        method = GET,
        path = "/v1/network-interfaces",
        tags = ["instances"],
        versions = VERSION_DUAL_STACK_NICS..,
    }]
    async fn instance_network_interface_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId<InstanceSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<InstanceNetworkInterface>>, HttpError>;

    /// List network interfaces
    #[endpoint {
        method = GET,
        path = "/v1/network-interfaces",
        tags = ["instances"],
        operation_id = "instance_network_interface_list",
        versions = ..VERSION_DUAL_STACK_NICS,
    }]
    async fn instance_network_interface_list_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId<InstanceSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<v0_0_1::InstanceNetworkInterface>>, HttpError> {
        Ok(older::page(Self::instance_network_interface_list(rqctx, query).await?))
    }

    /// Fetch a network interface
    #[endpoint {
        method = GET,
        path = "/v1/network-interfaces/{interface}",
        tags = ["instances"],
        versions = VERSION_DUAL_STACK_NICS..,
    }]
    async fn instance_network_interface_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<InterfacePath>,
        query: Query<OptionalInstanceSelector>,
    ) -> Result<HttpResponseOk<InstanceNetworkInterface>, HttpError>;

    /// Fetch a network interface
    #[endpoint {
        method = GET,
        path = "/v1/network-interfaces/{interface}",
        tags = ["instances"],
        operation_id = "instance_network_interface_view",
        versions = ..VERSION_DUAL_STACK_NICS,
    }]
    async fn instance_network_interface_view_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<InterfacePath>,
        query: Query<OptionalInstanceSelector>,
    ) -> Result<HttpResponseOk<v0_0_1::InstanceNetworkInterface>, HttpError> {
        older::ok(Self::instance_network_interface_view(rqctx, path, query).await?)
    }

    /// Create a network interface
    ///
    /// The instance must be stopped. Its first interface is the primary one.
    #[endpoint {
        method = POST,
        path = "/v1/network-interfaces",
        tags = ["instances"],
        versions = VERSION_DUAL_STACK_NICS..,
    }]
    async fn instance_network_interface_create(
        rqctx: RequestContext<Self::Context>,
        query: Query<InstanceSelector>,
        body: CompatBody<InstanceNetworkInterfaceCreate>,
    ) -> Result<HttpResponseCreated<InstanceNetworkInterface>, HttpError>;

    /// Create a network interface
    ///
    /// The instance must be stopped. Its first interface is the primary one.
    #[endpoint {
        method = POST,
        path = "/v1/network-interfaces",
        tags = ["instances"],
        operation_id = "instance_network_interface_create",
        versions = ..VERSION_DUAL_STACK_NICS,
    }]
    async fn instance_network_interface_create_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        query: Query<InstanceSelector>,
        body: OlderBody<v0_0_1::InstanceNetworkInterfaceCreate, InstanceNetworkInterfaceCreate>,
    ) -> Result<HttpResponseCreated<v0_0_1::InstanceNetworkInterface>, HttpError> {
        older::created(Self::instance_network_interface_create(rqctx, query, body.newest()).await?)
    }

    /// Change a network interface
    ///
    /// The instance must be stopped.
    #[endpoint {
        method = PUT,
        path = "/v1/network-interfaces/{interface}",
        tags = ["instances"],
        versions = VERSION_DUAL_STACK_NICS..,
    }]
    async fn instance_network_interface_update(
        rqctx: RequestContext<Self::Context>,
        path: Path<InterfacePath>,
        query: Query<OptionalInstanceSelector>,
        body: TypedBody<InstanceNetworkInterfaceUpdate>,
    ) -> Result<HttpResponseOk<InstanceNetworkInterface>, HttpError>;

    /// Change a network interface
    ///
    /// The instance must be stopped.
    #[endpoint {
        method = PUT,
        path = "/v1/network-interfaces/{interface}",
        tags = ["instances"],
        operation_id = "instance_network_interface_update",
        versions = ..VERSION_DUAL_STACK_NICS,
    }]
    async fn instance_network_interface_update_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<InterfacePath>,
        query: Query<OptionalInstanceSelector>,
        body: TypedBody<InstanceNetworkInterfaceUpdate>,
    ) -> Result<HttpResponseOk<v0_0_1::InstanceNetworkInterface>, HttpError> {
        older::ok(Self::instance_network_interface_update(rqctx, path, query, body).await?)
    }

    /// Delete a network interface
    ///
    /// The instance must be stopped or have failed. The primary interface goes last, and not while
    /// the instance has floating or ephemeral IPs.
    #[endpoint {
        method = DELETE,
        path = "/v1/network-interfaces/{interface}",
        tags = ["instances"],
    }]
    async fn instance_network_interface_delete(
        rqctx: RequestContext<Self::Context>,
        path: Path<InterfacePath>,
        query: Query<OptionalInstanceSelector>,
    ) -> Result<HttpResponseDeleted, HttpError>;

    /// List the affinity groups of an instance
    ///
    /// There are none so far.
    #[endpoint {
        method = GET,
        path = "/v1/instances/{instance}/affinity-groups",
        tags = ["instances"],
    }]
    async fn instance_affinity_group_list(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<ListByNameOrId<OptionalProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<AffinityGroup>>, HttpError>;

    /// List affinity groups
    ///
    /// There are none so far.
    #[endpoint { method = GET, path = "/v1/affinity-groups", tags = ["instances"] }]
    async fn affinity_group_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId<ProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<AffinityGroup>>, HttpError>;

    /// List the anti-affinity groups of an instance
    ///
    /// There are none so far.
    #[endpoint {
        method = GET,
        path = "/v1/instances/{instance}/anti-affinity-groups",
        tags = ["instances"],
    }]
    async fn instance_anti_affinity_group_list(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<ListByNameOrId<OptionalProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<AntiAffinityGroup>>, HttpError>;

    /// List anti-affinity groups
    ///
    /// There are none so far.
    #[endpoint { method = GET, path = "/v1/anti-affinity-groups", tags = ["instances"] }]
    async fn anti_affinity_group_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId<ProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<AntiAffinityGroup>>, HttpError>;

    /// List the external subnets of an instance
    ///
    /// There are none so far.
    #[endpoint {
        method = GET,
        path = "/v1/instances/{instance}/external-subnets",
        tags = ["instances"],
    }]
    async fn instance_external_subnet_list(
        rqctx: RequestContext<Self::Context>,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseOk<ResultsPage<ExternalSubnet>>, HttpError>;

    /// List external subnets
    ///
    /// There are none so far.
    #[endpoint { method = GET, path = "/v1/external-subnets", tags = ["floating-ips"] }]
    async fn external_subnet_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId<ProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<ExternalSubnet>>, HttpError>;

    // Disks

    /// List disks
    #[endpoint {
        method = GET,
        path = "/v1/disks",
        tags = ["disks"],
        versions = VERSION_BLOCK_SIZES..,
    }]
    async fn disk_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId<ProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<Disk>>, HttpError>;

    /// List disks
    #[endpoint {
        method = GET,
        path = "/v1/disks",
        tags = ["disks"],
        operation_id = "disk_list",
        versions = ..VERSION_LOCAL_DISKS,
    }]
    async fn disk_list_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId<ProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<v0_0_1::Disk>>, HttpError> {
        Ok(older::page(Self::disk_list(rqctx, query).await?))
    }

    /// List disks
    #[endpoint {
        method = GET,
        path = "/v1/disks",
        tags = ["disks"],
        operation_id = "disk_list",
        versions = VERSION_LOCAL_DISKS..VERSION_BLOCK_SIZES,
    }]
    async fn disk_list_v2025120300(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId<ProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<v2025120300::Disk>>, HttpError> {
        Ok(older::page(Self::disk_list(rqctx, query).await?))
    }

    /// Create a disk
    #[endpoint {
        method = POST,
        path = "/v1/disks",
        tags = ["disks"],
        versions = VERSION_BLOCK_SIZES..,
    }]
    async fn disk_create(
        rqctx: RequestContext<Self::Context>,
        query: Query<ProjectSelector>,
        body: CompatBody<DiskCreate>,
    ) -> Result<HttpResponseCreated<Disk>, HttpError>;

    /// Create a disk
    #[endpoint {
        method = POST,
        path = "/v1/disks",
        tags = ["disks"],
        operation_id = "disk_create",
        versions = ..VERSION_LOCAL_DISKS,
    }]
    async fn disk_create_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        query: Query<ProjectSelector>,
        body: OlderBody<v0_0_1::DiskCreate, DiskCreate>,
    ) -> Result<HttpResponseCreated<v0_0_1::Disk>, HttpError> {
        older::created(Self::disk_create(rqctx, query, body.newest()).await?)
    }

    /// Create a disk
    #[endpoint {
        method = POST,
        path = "/v1/disks",
        tags = ["disks"],
        operation_id = "disk_create",
        versions = VERSION_LOCAL_DISKS..VERSION_BLOCK_SIZES,
    }]
    async fn disk_create_v2025120300(
        rqctx: RequestContext<Self::Context>,
        query: Query<ProjectSelector>,
        body: CompatBody<DiskCreate>,
    ) -> Result<HttpResponseCreated<v2025120300::Disk>, HttpError> {
        older::created(Self::disk_create(rqctx, query, body).await?)
    }

    /// Fetch a disk
    #[endpoint {
        method = GET,
        path = "/v1/disks/{disk}",
        tags = ["disks"],
        versions = VERSION_BLOCK_SIZES..,
    }]
    async fn disk_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<DiskPath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseOk<Disk>, HttpError>;

    /// Fetch a disk
    #[endpoint {
        method = GET,
        path = "/v1/disks/{disk}",
        tags = ["disks"],
        operation_id = "disk_view",
        versions = ..VERSION_LOCAL_DISKS,
    }]
    async fn disk_view_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<DiskPath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseOk<v0_0_1::Disk>, HttpError> {
        older::ok(Self::disk_view(rqctx, path, query).await?)
    }

    /// Fetch a disk
    #[endpoint {
        method = GET,
        path = "/v1/disks/{disk}",
        tags = ["disks"],
        operation_id = "disk_view",
        versions = VERSION_LOCAL_DISKS..VERSION_BLOCK_SIZES,
    }]
    async fn disk_view_v2025120300(
        rqctx: RequestContext<Self::Context>,
        path: Path<DiskPath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseOk<v2025120300::Disk>, HttpError> {
        older::ok(Self::disk_view(rqctx, path, query).await?)
    }

    /// Delete a disk
    ///
    /// It must be detached.
    #[endpoint { method = DELETE, path = "/v1/disks/{disk}", tags = ["disks"] }]
    async fn disk_delete(
        rqctx: RequestContext<Self::Context>,
        path: Path<DiskPath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseDeleted, HttpError>;

    /// Start to write to a disk
    ///
    /// It must have been created to wait for its content.
    #[endpoint { method = POST, path = "/v1/disks/{disk}/bulk-write-start", tags = ["disks"] }]
    async fn disk_bulk_write_import_start(
        rqctx: RequestContext<Self::Context>,
        path: Path<DiskPath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError>;

    /// Write to a disk
    ///
    /// Disks are records, with no storage behind them: the data is checked, and not kept.
    #[endpoint {
        method = POST,
        path = "/v1/disks/{disk}/bulk-write",
        tags = ["disks"],
    }]
    async fn disk_bulk_write_import(
        rqctx: RequestContext<Self::Context>,
        path: Path<DiskPath>,
        query: Query<OptionalProjectSelector>,
        body: TypedBody<ImportBlocksBulkWrite>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError>;

    /// Stop writing to a disk
    ///
    /// It waits for more, or for its import to be finished.
    #[endpoint { method = POST, path = "/v1/disks/{disk}/bulk-write-stop", tags = ["disks"] }]
    async fn disk_bulk_write_import_stop(
        rqctx: RequestContext<Self::Context>,
        path: Path<DiskPath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError>;

    /// Finish the import of a disk
    ///
    /// It is detached then.
    #[endpoint { method = POST, path = "/v1/disks/{disk}/finalize", tags = ["disks"] }]
    async fn disk_finalize_import(
        rqctx: RequestContext<Self::Context>,
        path: Path<DiskPath>,
        query: Query<OptionalProjectSelector>,
        body: TypedBody<FinalizeDisk>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError>;

    // Snapshots

    /// List snapshots
    #[endpoint { method = GET, path = "/v1/snapshots", tags = ["snapshots"] }]
    async fn snapshot_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId<ProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<Snapshot>>, HttpError>;

    /// Create a snapshot of a disk
    #[endpoint { method = POST, path = "/v1/snapshots", tags = ["snapshots"] }]
    async fn snapshot_create(
        rqctx: RequestContext<Self::Context>,
        query: Query<ProjectSelector>,
        body: TypedBody<SnapshotCreate>,
    ) -> Result<HttpResponseCreated<Snapshot>, HttpError>;

    /// Fetch a snapshot
    #[endpoint { method = GET, path = "/v1/snapshots/{snapshot}", tags = ["snapshots"] }]
    async fn snapshot_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<SnapshotPath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseOk<Snapshot>, HttpError>;

    /// Delete a snapshot
    ///
    /// Disks and images that were made from it are left.
    #[endpoint { method = DELETE, path = "/v1/snapshots/{snapshot}", tags = ["snapshots"] }]
    async fn snapshot_delete(
        rqctx: RequestContext<Self::Context>,
        path: Path<SnapshotPath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseDeleted, HttpError>;

    // Images

    /// List images
    ///
    /// A project's, or, with no project, the silo's.
    #[endpoint {
        method = GET,
        path = "/v1/images",
        tags = ["images"],
        versions = VERSION_BLOCK_SIZES..,
    }]
    async fn image_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId<ImageSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<Image>>, HttpError>;

    /// List images
    ///
    /// A project's, or, with no project, the silo's.
    #[endpoint {
        method = GET,
        path = "/v1/images",
        tags = ["images"],
        operation_id = "image_list",
        versions = ..VERSION_BLOCK_SIZES,
    }]
    async fn image_list_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId<ImageSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<v0_0_1::Image>>, HttpError> {
        Ok(older::page(Self::image_list(rqctx, query).await?))
    }

    /// Create an image
    ///
    /// In a project, or, with no project, for the whole silo.
    #[endpoint {
        method = POST,
        path = "/v1/images",
        tags = ["images"],
        versions = VERSION_BLOCK_SIZES..,
    }]
    async fn image_create(
        rqctx: RequestContext<Self::Context>,
        query: Query<ImageSelector>,
        body: TypedBody<ImageCreate>,
    ) -> Result<HttpResponseCreated<Image>, HttpError>;

    /// Create an image
    ///
    /// In a project, or, with no project, for the whole silo.
    #[endpoint {
        method = POST,
        path = "/v1/images",
        tags = ["images"],
        operation_id = "image_create",
        versions = ..VERSION_BLOCK_SIZES,
    }]
    async fn image_create_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        query: Query<ImageSelector>,
        body: TypedBody<ImageCreate>,
    ) -> Result<HttpResponseCreated<v0_0_1::Image>, HttpError> {
        older::created(Self::image_create(rqctx, query, body).await?)
    }

    /// Fetch an image
    #[endpoint {
        method = GET,
        path = "/v1/images/{image}",
        tags = ["images"],
        versions = VERSION_BLOCK_SIZES..,
    }]
    async fn image_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<ImagePath>,
        query: Query<ImageSelector>,
    ) -> Result<HttpResponseOk<Image>, HttpError>;

    /// Fetch an image
    #[endpoint {
        method = GET,
        path = "/v1/images/{image}",
        tags = ["images"],
        operation_id = "image_view",
        versions = ..VERSION_BLOCK_SIZES,
    }]
    async fn image_view_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<ImagePath>,
        query: Query<ImageSelector>,
    ) -> Result<HttpResponseOk<v0_0_1::Image>, HttpError> {
        older::ok(Self::image_view(rqctx, path, query).await?)
    }

    /// Delete an image
    ///
    /// Disks that were made from it are left.
    #[endpoint { method = DELETE, path = "/v1/images/{image}", tags = ["images"] }]
    async fn image_delete(
        rqctx: RequestContext<Self::Context>,
        path: Path<ImagePath>,
        query: Query<ImageSelector>,
    ) -> Result<HttpResponseDeleted, HttpError>;

    /// Promote a project's image
    ///
    /// It is open to the whole silo then.
    #[endpoint {
        method = POST,
        path = "/v1/images/{image}/promote",
        tags = ["images"],
        versions = VERSION_BLOCK_SIZES..,
    }]
    async fn image_promote(
        rqctx: RequestContext<Self::Context>,
        path: Path<ImagePath>,
        query: Query<ImageSelector>,
    ) -> Result<HttpResponseAccepted<Image>, HttpError>;

    /// Promote a project's image
    ///
    /// It is open to the whole silo then.
    #[endpoint {
        method = POST,
        path = "/v1/images/{image}/promote",
        tags = ["images"],
        operation_id = "image_promote",
        versions = ..VERSION_BLOCK_SIZES,
    }]
    async fn image_promote_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<ImagePath>,
        query: Query<ImageSelector>,
    ) -> Result<HttpResponseAccepted<v0_0_1::Image>, HttpError> {
        older::accepted(Self::image_promote(rqctx, path, query).await?)
    }

    /// Demote an image of the silo
    ///
    /// It is the project's alone then.
    #[endpoint {
        method = POST,
        path = "/v1/images/{image}/demote",
        tags = ["images"],
        versions = VERSION_BLOCK_SIZES..,
    }]
    async fn image_demote(
        rqctx: RequestContext<Self::Context>,
        path: Path<ImagePath>,
        query: Query<ProjectSelector>,
    ) -> Result<HttpResponseAccepted<Image>, HttpError>;

    /// Demote an image of the silo
    ///
    /// It is the project's alone then.
    #[endpoint {
        method = POST,
        path = "/v1/images/{image}/demote",
        tags = ["images"],
        operation_id = "image_demote",
        versions = ..VERSION_BLOCK_SIZES,
    }]
    async fn image_demote_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<ImagePath>,
        query: Query<ProjectSelector>,
    ) -> Result<HttpResponseAccepted<v0_0_1::Image>, HttpError> {
        older::accepted(Self::image_demote(rqctx, path, query).await?)
    }

    // The audit log

    /// List the audit log
    ///
    /// It has every request that may have changed something, with who made it and what came of
    /// it, a moment after it was answered.
    #[endpoint {
        method = GET,
        path = "/v1/system/audit-log",
        tags = ["system/audit-log"],
        versions = VERSION_NULLABLE_UPDATES..,
    }]
    async fn audit_log_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByTime<AuditLogRange>>,
    ) -> Result<HttpResponseOk<ResultsPage<AuditLogEntry>>, HttpError>;

    /// List the audit log
    ///
    /// It has every request that may have changed something, with who made it and what came of
    /// it, a moment after it was answered.
    #[endpoint {
        method = GET,
        path = "/v1/system/audit-log",
        tags = ["system/audit-log"],
        operation_id = "audit_log_list",
        versions = ..VERSION_NULLABLE_UPDATES,
    }]
    async fn audit_log_list_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByTime<AuditLogRange>>,
    ) -> Result<HttpResponseOk<ResultsPage<v0_0_1::AuditLogEntry>>, HttpError> {
        Ok(older::page(Self::audit_log_list(rqctx, query).await?))
    }

    // VPCs

    /// List VPCs
    #[endpoint { method = GET, path = "/v1/vpcs", tags = ["vpcs"] }]
    async fn vpc_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId<ProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<Vpc>>, HttpError>;

    /// Fetch a VPC
    #[endpoint { method = GET, path = "/v1/vpcs/{vpc}", tags = ["vpcs"] }]
    async fn vpc_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<VpcPath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseOk<Vpc>, HttpError>;

    /// Create a VPC
    #[endpoint { method = POST, path = "/v1/vpcs", tags = ["vpcs"] }]
    async fn vpc_create(
        rqctx: RequestContext<Self::Context>,
        query: Query<ProjectSelector>,
        body: TypedBody<VpcCreate>,
    ) -> Result<HttpResponseCreated<Vpc>, HttpError>;

    /// Change a VPC
    #[endpoint { method = PUT, path = "/v1/vpcs/{vpc}", tags = ["vpcs"] }]
    async fn vpc_update(
        rqctx: RequestContext<Self::Context>,
        path: Path<VpcPath>,
        query: Query<OptionalProjectSelector>,
        body: TypedBody<VpcUpdate>,
    ) -> Result<HttpResponseOk<Vpc>, HttpError>;

    /// Delete a VPC
    ///
    /// It must have no subnets.
    #[endpoint { method = DELETE, path = "/v1/vpcs/{vpc}", tags = ["vpcs"] }]
    async fn vpc_delete(
        rqctx: RequestContext<Self::Context>,
        path: Path<VpcPath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseDeleted, HttpError>;

    /// List subnets
    #[endpoint { method = GET, path = "/v1/vpc-subnets", tags = ["vpcs"] }]
    async fn vpc_subnet_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId<VpcSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<VpcSubnet>>, HttpError>;

    /// Fetch a subnet
    #[endpoint { method = GET, path = "/v1/vpc-subnets/{subnet}", tags = ["vpcs"] }]
    async fn vpc_subnet_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<SubnetPath>,
        query: Query<OptionalVpcSelector>,
    ) -> Result<HttpResponseOk<VpcSubnet>, HttpError>;

    /// Create a subnet
    #[endpoint { method = POST, path = "/v1/vpc-subnets", tags = ["vpcs"] }]
    async fn vpc_subnet_create(
        rqctx: RequestContext<Self::Context>,
        query: Query<VpcSelector>,
        body: TypedBody<VpcSubnetCreate>,
    ) -> Result<HttpResponseCreated<VpcSubnet>, HttpError>;

    /// Change a subnet
    #[endpoint { method = PUT, path = "/v1/vpc-subnets/{subnet}", tags = ["vpcs"] }]
    async fn vpc_subnet_update(
        rqctx: RequestContext<Self::Context>,
        path: Path<SubnetPath>,
        query: Query<OptionalVpcSelector>,
        body: TypedBody<VpcSubnetUpdate>,
    ) -> Result<HttpResponseOk<VpcSubnet>, HttpError>;

    /// Delete a subnet
    ///
    /// There must be no network interfaces in it.
    #[endpoint { method = DELETE, path = "/v1/vpc-subnets/{subnet}", tags = ["vpcs"] }]
    async fn vpc_subnet_delete(
        rqctx: RequestContext<Self::Context>,
        path: Path<SubnetPath>,
        query: Query<OptionalVpcSelector>,
    ) -> Result<HttpResponseDeleted, HttpError>;

    /// List the network interfaces in a subnet
    #[endpoint {
        method = GET,
        path = "/v1/vpc-subnets/{subnet}/network-interfaces",
        tags = ["vpcs"],
        versions = VERSION_DUAL_STACK_NICS..,
    }]
    async fn vpc_subnet_list_network_interfaces(
        rqctx: RequestContext<Self::Context>,
        path: Path<SubnetPath>,
        query: Query<ListByNameOrId<OptionalVpcSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<InstanceNetworkInterface>>, HttpError>;

    /// List the network interfaces in a subnet
    #[endpoint {
        method = GET,
        path = "/v1/vpc-subnets/{subnet}/network-interfaces",
        tags = ["vpcs"],
        operation_id = "vpc_subnet_list_network_interfaces",
        versions = ..VERSION_DUAL_STACK_NICS,
    }]
    async fn vpc_subnet_list_network_interfaces_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<SubnetPath>,
        query: Query<ListByNameOrId<OptionalVpcSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<v0_0_1::InstanceNetworkInterface>>, HttpError> {
        Ok(older::page(Self::vpc_subnet_list_network_interfaces(rqctx, path, query).await?))
    }

    /// List the firewall rules of a VPC
    #[endpoint {
        method = GET,
        path = "/v1/vpc-firewall-rules",
        tags = ["vpcs"],
        versions = VERSION_TURIN_V2..,
    }]
    async fn vpc_firewall_rules_view(
        rqctx: RequestContext<Self::Context>,
        query: Query<VpcSelector>,
    ) -> Result<HttpResponseOk<VpcFirewallRules>, HttpError>;

    /// Set the firewall rules of a VPC
    ///
    /// They are replaced as a whole: what is not named is removed.
    #[endpoint {
        method = PUT,
        path = "/v1/vpc-firewall-rules",
        tags = ["vpcs"],
        versions = VERSION_TURIN_V2..,
    }]
    async fn vpc_firewall_rules_update(
        rqctx: RequestContext<Self::Context>,
        query: Query<VpcSelector>,
        body: CompatBody<VpcFirewallRuleUpdateParams>,
    ) -> Result<HttpResponseOk<VpcFirewallRules>, HttpError>;

    /// List the firewall rules of a VPC
    #[endpoint {
        method = GET,
        path = "/v1/vpc-firewall-rules",
        tags = ["vpcs"],
        operation_id = "vpc_firewall_rules_view",
        versions = VERSION_LIMITED_COLLABORATOR..VERSION_TURIN_V2,
    }]
    async fn vpc_firewall_rules_view_v2025100800(
        rqctx: RequestContext<Self::Context>,
        query: Query<VpcSelector>,
    ) -> Result<HttpResponseOk<VpcFirewallRules<v2025100800::VpcFirewallRuleProtocol>>, HttpError>
    {
        older::ok(Self::vpc_firewall_rules_view(rqctx, query).await?)
    }

    /// Set the firewall rules of a VPC
    ///
    /// They are replaced as a whole: what is not named is removed.
    #[endpoint {
        method = PUT,
        path = "/v1/vpc-firewall-rules",
        tags = ["vpcs"],
        operation_id = "vpc_firewall_rules_update",
        versions = VERSION_LIMITED_COLLABORATOR..VERSION_TURIN_V2,
    }]
    async fn vpc_firewall_rules_update_v2025100800(
        rqctx: RequestContext<Self::Context>,
        query: Query<VpcSelector>,
        body: OlderBody<
            VpcFirewallRuleUpdateParams<v2025100800::VpcFirewallRuleProtocol>,
            VpcFirewallRuleUpdateParams,
        >,
    ) -> Result<HttpResponseOk<VpcFirewallRules<v2025100800::VpcFirewallRuleProtocol>>, HttpError>
    {
        older::ok(Self::vpc_firewall_rules_update(rqctx, query, body.newest()).await?)
    }

    /// List the firewall rules of a VPC
    #[endpoint {
        method = GET,
        path = "/v1/vpc-firewall-rules",
        tags = ["vpcs"],
        operation_id = "vpc_firewall_rules_view",
        versions = ..VERSION_LIMITED_COLLABORATOR,
    }]
    async fn vpc_firewall_rules_view_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        query: Query<VpcSelector>,
    ) -> Result<HttpResponseOk<VpcFirewallRules<v0_0_1::VpcFirewallRuleProtocol>>, HttpError> {
        older::ok(Self::vpc_firewall_rules_view(rqctx, query).await?)
    }

    /// Set the firewall rules of a VPC
    ///
    /// They are replaced as a whole: what is not named is removed.
    #[endpoint {
        method = PUT,
        path = "/v1/vpc-firewall-rules",
        tags = ["vpcs"],
        operation_id = "vpc_firewall_rules_update",
        versions = ..VERSION_LIMITED_COLLABORATOR,
    }]
    async fn vpc_firewall_rules_update_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        query: Query<VpcSelector>,
        body: OlderBody<
            VpcFirewallRuleUpdateParams<v0_0_1::VpcFirewallRuleProtocol>,
            VpcFirewallRuleUpdateParams,
        >,
    ) -> Result<HttpResponseOk<VpcFirewallRules<v0_0_1::VpcFirewallRuleProtocol>>, HttpError> {
        older::ok(Self::vpc_firewall_rules_update(rqctx, query, body.newest()).await?)
    }

    // IP pools, as a silo sees them

    /// List the IP pools that the silo may use
    #[endpoint {
        method = GET,
        path = "/v1/ip-pools",
        tags = ["ip-pools"],
        versions = VERSION_POOL_NAMES..,
    }]
    async fn ip_pool_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId<SiloIpPoolFilter>>,
    ) -> Result<HttpResponseOk<ResultsPage<SiloIpPool>>, HttpError>;

    /// List the IP pools that the silo may use
    #[endpoint {
        method = GET,
        path = "/v1/ip-pools",
        tags = ["ip-pools"],
        operation_id = "project_ip_pool_list",
        versions = ..VERSION_POOL_LINKS,
    }]
    async fn ip_pool_list_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId<SiloIpPoolFilter>>,
        _project: Query<v0_0_1::OfProject>,
    ) -> Result<HttpResponseOk<ResultsPage<SiloIpPool>>, HttpError> {
        Self::ip_pool_list(rqctx, query).await
    }

    /// List the IP pools that the silo may use
    #[endpoint {
        method = GET,
        path = "/v1/ip-pools",
        tags = ["ip-pools"],
        operation_id = "project_ip_pool_list",
        versions = VERSION_POOL_LINKS..VERSION_POOL_NAMES,
    }]
    async fn ip_pool_list_v0_0_6(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId<SiloIpPoolFilter>>,
    ) -> Result<HttpResponseOk<ResultsPage<SiloIpPool>>, HttpError> {
        Self::ip_pool_list(rqctx, query).await
    }

    /// Fetch an IP pool that the silo may use
    #[endpoint {
        method = GET,
        path = "/v1/ip-pools/{pool}",
        tags = ["ip-pools"],
        versions = VERSION_POOL_NAMES..,
    }]
    async fn ip_pool_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolPath>,
    ) -> Result<HttpResponseOk<SiloIpPool>, HttpError>;

    /// Fetch an IP pool that the silo may use
    #[endpoint {
        method = GET,
        path = "/v1/ip-pools/{pool}",
        tags = ["ip-pools"],
        operation_id = "project_ip_pool_view",
        versions = ..VERSION_POOL_LINKS,
    }]
    async fn ip_pool_view_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolPath>,
        _project: Query<v0_0_1::OfProject>,
    ) -> Result<HttpResponseOk<SiloIpPool>, HttpError> {
        Self::ip_pool_view(rqctx, path).await
    }

    /// Fetch an IP pool that the silo may use
    #[endpoint {
        method = GET,
        path = "/v1/ip-pools/{pool}",
        tags = ["ip-pools"],
        operation_id = "project_ip_pool_view",
        versions = VERSION_POOL_LINKS..VERSION_POOL_NAMES,
    }]
    async fn ip_pool_view_v0_0_6(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolPath>,
    ) -> Result<HttpResponseOk<SiloIpPool>, HttpError> {
        Self::ip_pool_view(rqctx, path).await
    }

    // IP pools, as an operator sees them

    /// List IP pools
    #[endpoint {
        method = GET,
        path = "/v1/system/ip-pools",
        tags = ["system/ip-pools"],
        versions = VERSION_POOL_ASSIGNMENT..,
    }]
    async fn system_ip_pool_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId<IpPoolFilter>>,
    ) -> Result<HttpResponseOk<ResultsPage<IpPool>>, HttpError>;

    /// List IP pools
    #[endpoint {
        method = GET,
        path = "/v1/system/ip-pools",
        tags = ["system/ip-pools"],
        operation_id = "ip_pool_list",
        versions = ..VERSION_POOL_LINKS,
    }]
    async fn system_ip_pool_list_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId<IpPoolFilter>>,
    ) -> Result<HttpResponseOk<ResultsPage<v0_0_1::IpPool>>, HttpError>;

    /// List IP pools
    #[endpoint {
        method = GET,
        path = "/v1/system/ip-pools",
        tags = ["system/ip-pools"],
        operation_id = "ip_pool_list",
        versions = VERSION_POOL_LINKS..VERSION_POOL_NAMES,
    }]
    async fn system_ip_pool_list_v0_0_6(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId<IpPoolFilter>>,
    ) -> Result<HttpResponseOk<ResultsPage<IpPool>>, HttpError> {
        Self::system_ip_pool_list(rqctx, older::pools_of_silos(query)).await
    }

    /// List IP pools
    #[endpoint {
        method = GET,
        path = "/v1/system/ip-pools",
        tags = ["system/ip-pools"],
        operation_id = "system_ip_pool_list",
        versions = VERSION_POOL_NAMES..VERSION_POOL_ASSIGNMENT,
    }]
    async fn system_ip_pool_list_v2026020900(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId<IpPoolFilter>>,
    ) -> Result<HttpResponseOk<ResultsPage<IpPool>>, HttpError> {
        Self::system_ip_pool_list(rqctx, older::pools_of_silos(query)).await
    }

    /// Create an IP pool
    ///
    /// It has no addresses until a range is added, and no silo can use it until it is linked.
    #[endpoint {
        method = POST,
        path = "/v1/system/ip-pools",
        tags = ["system/ip-pools"],
        versions = VERSION_POOL_NAMES..,
    }]
    async fn system_ip_pool_create(
        rqctx: RequestContext<Self::Context>,
        body: TypedBody<IpPoolCreate>,
    ) -> Result<HttpResponseCreated<IpPool>, HttpError>;

    /// Create an IP pool
    ///
    /// It has no addresses until a range is added, and no silo can use it until it is linked.
    #[endpoint {
        method = POST,
        path = "/v1/system/ip-pools",
        tags = ["system/ip-pools"],
        operation_id = "ip_pool_create",
        versions = ..VERSION_POOL_LINKS,
    }]
    async fn system_ip_pool_create_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        body: TypedBody<v0_0_1::IpPoolCreate>,
    ) -> Result<HttpResponseCreated<v0_0_1::IpPool>, HttpError>;

    /// Create an IP pool
    ///
    /// It has no addresses until a range is added, and no silo can use it until it is linked.
    #[endpoint {
        method = POST,
        path = "/v1/system/ip-pools",
        tags = ["system/ip-pools"],
        operation_id = "ip_pool_create",
        versions = VERSION_POOL_LINKS..VERSION_POOL_NAMES,
    }]
    async fn system_ip_pool_create_v0_0_6(
        rqctx: RequestContext<Self::Context>,
        body: TypedBody<IpPoolCreate>,
    ) -> Result<HttpResponseCreated<IpPool>, HttpError> {
        Self::system_ip_pool_create(rqctx, body).await
    }

    /// Fetch an IP pool
    #[endpoint {
        method = GET,
        path = "/v1/system/ip-pools/{pool}",
        tags = ["system/ip-pools"],
        versions = VERSION_POOL_NAMES..,
    }]
    async fn system_ip_pool_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolPath>,
    ) -> Result<HttpResponseOk<IpPool>, HttpError>;

    /// Fetch an IP pool
    #[endpoint {
        method = GET,
        path = "/v1/system/ip-pools/{pool}",
        tags = ["system/ip-pools"],
        operation_id = "ip_pool_view",
        versions = ..VERSION_POOL_LINKS,
    }]
    async fn system_ip_pool_view_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolPath>,
    ) -> Result<HttpResponseOk<v0_0_1::IpPool>, HttpError>;

    /// Fetch an IP pool
    #[endpoint {
        method = GET,
        path = "/v1/system/ip-pools/{pool}",
        tags = ["system/ip-pools"],
        operation_id = "ip_pool_view",
        versions = VERSION_POOL_LINKS..VERSION_POOL_NAMES,
    }]
    async fn system_ip_pool_view_v0_0_6(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolPath>,
    ) -> Result<HttpResponseOk<IpPool>, HttpError> {
        Self::system_ip_pool_view(rqctx, path).await
    }

    /// Update an IP pool
    #[endpoint {
        method = PUT,
        path = "/v1/system/ip-pools/{pool}",
        tags = ["system/ip-pools"],
        versions = VERSION_POOL_NAMES..,
    }]
    async fn system_ip_pool_update(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolPath>,
        body: TypedBody<IpPoolUpdate>,
    ) -> Result<HttpResponseOk<IpPool>, HttpError>;

    /// Update an IP pool
    #[endpoint {
        method = PUT,
        path = "/v1/system/ip-pools/{pool}",
        tags = ["system/ip-pools"],
        operation_id = "ip_pool_update",
        versions = ..VERSION_POOL_LINKS,
    }]
    async fn system_ip_pool_update_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolPath>,
        body: TypedBody<IpPoolUpdate>,
    ) -> Result<HttpResponseOk<v0_0_1::IpPool>, HttpError>;

    /// Update an IP pool
    #[endpoint {
        method = PUT,
        path = "/v1/system/ip-pools/{pool}",
        tags = ["system/ip-pools"],
        operation_id = "ip_pool_update",
        versions = VERSION_POOL_LINKS..VERSION_POOL_NAMES,
    }]
    async fn system_ip_pool_update_v0_0_6(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolPath>,
        body: TypedBody<IpPoolUpdate>,
    ) -> Result<HttpResponseOk<IpPool>, HttpError> {
        Self::system_ip_pool_update(rqctx, path, body).await
    }

    /// Delete an IP pool
    ///
    /// It must have no ranges.
    #[endpoint {
        method = DELETE,
        path = "/v1/system/ip-pools/{pool}",
        tags = ["system/ip-pools"],
        versions = VERSION_POOL_NAMES..,
    }]
    async fn system_ip_pool_delete(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolPath>,
    ) -> Result<HttpResponseDeleted, HttpError>;

    /// Delete an IP pool
    ///
    /// It must have no ranges.
    #[endpoint {
        method = DELETE,
        path = "/v1/system/ip-pools/{pool}",
        tags = ["system/ip-pools"],
        operation_id = "ip_pool_delete",
        versions = ..VERSION_POOL_NAMES,
    }]
    async fn system_ip_pool_delete_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolPath>,
    ) -> Result<HttpResponseDeleted, HttpError> {
        Self::system_ip_pool_delete(rqctx, path).await
    }

    /// List ranges of an IP pool
    ///
    /// By their first addresses.
    #[endpoint {
        method = GET,
        path = "/v1/system/ip-pools/{pool}/ranges",
        tags = ["system/ip-pools"],
        versions = VERSION_POOL_NAMES..,
    }]
    async fn system_ip_pool_range_list(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolPath>,
        query: Query<ListByAddress>,
    ) -> Result<HttpResponseOk<ResultsPage<IpPoolRange>>, HttpError>;

    /// List ranges of an IP pool
    ///
    /// By their first addresses.
    #[endpoint {
        method = GET,
        path = "/v1/system/ip-pools/{pool}/ranges",
        tags = ["system/ip-pools"],
        operation_id = "ip_pool_range_list",
        versions = ..VERSION_POOL_NAMES,
    }]
    async fn system_ip_pool_range_list_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolPath>,
        query: Query<ListByAddress>,
    ) -> Result<HttpResponseOk<ResultsPage<IpPoolRange>>, HttpError> {
        Self::system_ip_pool_range_list(rqctx, path, query).await
    }

    /// Add a range to an IP pool
    ///
    /// It must overlap with no range of any pool.
    #[endpoint {
        method = POST,
        path = "/v1/system/ip-pools/{pool}/ranges/add",
        tags = ["system/ip-pools"],
        versions = VERSION_POOL_NAMES..,
    }]
    async fn system_ip_pool_range_add(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolPath>,
        body: TypedBody<IpRange>,
    ) -> Result<HttpResponseCreated<IpPoolRange>, HttpError>;

    /// Add a range to an IP pool
    ///
    /// It must overlap with no range of any pool.
    #[endpoint {
        method = POST,
        path = "/v1/system/ip-pools/{pool}/ranges/add",
        tags = ["system/ip-pools"],
        operation_id = "ip_pool_range_add",
        versions = ..VERSION_POOL_NAMES,
    }]
    async fn system_ip_pool_range_add_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolPath>,
        body: TypedBody<IpRange>,
    ) -> Result<HttpResponseCreated<IpPoolRange>, HttpError> {
        Self::system_ip_pool_range_add(rqctx, path, body).await
    }

    /// Remove a range from an IP pool
    ///
    /// It must be exactly one of the pool's, and none of its addresses may be in use.
    #[endpoint {
        method = POST,
        path = "/v1/system/ip-pools/{pool}/ranges/remove",
        tags = ["system/ip-pools"],
        versions = VERSION_POOL_NAMES..,
    }]
    async fn system_ip_pool_range_remove(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolPath>,
        body: TypedBody<IpRange>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError>;

    /// Remove a range from an IP pool
    ///
    /// It must be exactly one of the pool's, and none of its addresses may be in use.
    #[endpoint {
        method = POST,
        path = "/v1/system/ip-pools/{pool}/ranges/remove",
        tags = ["system/ip-pools"],
        operation_id = "ip_pool_range_remove",
        versions = ..VERSION_POOL_NAMES,
    }]
    async fn system_ip_pool_range_remove_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolPath>,
        body: TypedBody<IpRange>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError> {
        Self::system_ip_pool_range_remove(rqctx, path, body).await
    }

    /// List the silos to which an IP pool is linked
    #[endpoint {
        method = GET,
        path = "/v1/system/ip-pools/{pool}/silos",
        tags = ["system/ip-pools"],
        versions = VERSION_POOL_NAMES..,
    }]
    async fn system_ip_pool_silo_list(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolPath>,
        query: Query<ListById>,
    ) -> Result<HttpResponseOk<ResultsPage<IpPoolSiloLink>>, HttpError>;

    /// List the silos to which an IP pool is linked
    #[endpoint {
        method = GET,
        path = "/v1/system/ip-pools/{pool}/silos",
        tags = ["system/ip-pools"],
        operation_id = "ip_pool_silo_list",
        versions = ..VERSION_POOL_NAMES,
    }]
    async fn system_ip_pool_silo_list_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolPath>,
        query: Query<ListById>,
    ) -> Result<HttpResponseOk<ResultsPage<IpPoolSiloLink>>, HttpError> {
        Self::system_ip_pool_silo_list(rqctx, path, query).await
    }

    /// Link an IP pool to a silo
    ///
    /// The silo's users can then take addresses from it.
    #[endpoint {
        method = POST,
        path = "/v1/system/ip-pools/{pool}/silos",
        tags = ["system/ip-pools"],
        versions = VERSION_POOL_NAMES..,
    }]
    async fn system_ip_pool_silo_link(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolPath>,
        body: TypedBody<IpPoolLinkSilo>,
    ) -> Result<HttpResponseCreated<IpPoolSiloLink>, HttpError>;

    /// Link an IP pool to a silo
    ///
    /// The silo's users can then take addresses from it.
    #[endpoint {
        method = POST,
        path = "/v1/system/ip-pools/{pool}/silos",
        tags = ["system/ip-pools"],
        operation_id = "ip_pool_silo_link",
        versions = ..VERSION_POOL_NAMES,
    }]
    async fn system_ip_pool_silo_link_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolPath>,
        body: TypedBody<IpPoolLinkSilo>,
    ) -> Result<HttpResponseCreated<IpPoolSiloLink>, HttpError> {
        Self::system_ip_pool_silo_link(rqctx, path, body).await
    }

    /// Make an IP pool a silo's default, or no longer
    ///
    /// The pool that was the silo's default for the same IP version is no longer.
    #[endpoint {
        method = PUT,
        path = "/v1/system/ip-pools/{pool}/silos/{silo}",
        tags = ["system/ip-pools"],
        versions = VERSION_POOL_NAMES..,
    }]
    async fn system_ip_pool_silo_update(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolSiloPath>,
        body: TypedBody<IpPoolSiloUpdate>,
    ) -> Result<HttpResponseOk<IpPoolSiloLink>, HttpError>;

    /// Make an IP pool a silo's default, or no longer
    ///
    /// The pool that was the silo's default for the same IP version is no longer.
    #[endpoint {
        method = PUT,
        path = "/v1/system/ip-pools/{pool}/silos/{silo}",
        tags = ["system/ip-pools"],
        operation_id = "ip_pool_silo_update",
        versions = ..VERSION_POOL_NAMES,
    }]
    async fn system_ip_pool_silo_update_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolSiloPath>,
        body: TypedBody<IpPoolSiloUpdate>,
    ) -> Result<HttpResponseOk<IpPoolSiloLink>, HttpError> {
        Self::system_ip_pool_silo_update(rqctx, path, body).await
    }

    /// Unlink an IP pool from a silo
    ///
    /// Nothing in the silo may have an address of the pool. That there is no such link is a
    /// success.
    #[endpoint {
        method = DELETE,
        path = "/v1/system/ip-pools/{pool}/silos/{silo}",
        tags = ["system/ip-pools"],
        versions = VERSION_POOL_NAMES..,
    }]
    async fn system_ip_pool_silo_unlink(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolSiloPath>,
    ) -> Result<HttpResponseDeleted, HttpError>;

    /// Unlink an IP pool from a silo
    ///
    /// Nothing in the silo may have an address of the pool. That there is no such link is a
    /// success.
    #[endpoint {
        method = DELETE,
        path = "/v1/system/ip-pools/{pool}/silos/{silo}",
        tags = ["system/ip-pools"],
        operation_id = "ip_pool_silo_unlink",
        versions = ..VERSION_POOL_NAMES,
    }]
    async fn system_ip_pool_silo_unlink_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolSiloPath>,
    ) -> Result<HttpResponseDeleted, HttpError> {
        Self::system_ip_pool_silo_unlink(rqctx, path).await
    }

    /// Fetch how much of an IP pool is in use
    #[endpoint {
        method = GET,
        path = "/v1/system/ip-pools/{pool}/utilization",
        tags = ["system/ip-pools"],
        versions = VERSION_POOL_NAMES..,
    }]
    async fn system_ip_pool_utilization_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolPath>,
    ) -> Result<HttpResponseOk<IpPoolUtilization>, HttpError>;

    /// Fetch how much of an IP pool is in use
    #[endpoint {
        method = GET,
        path = "/v1/system/ip-pools/{pool}/utilization",
        tags = ["system/ip-pools"],
        operation_id = "ip_pool_utilization_view",
        versions = ..VERSION_LIMITED_COLLABORATOR,
    }]
    async fn system_ip_pool_utilization_view_v20240327(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolPath>,
    ) -> Result<HttpResponseOk<v2024032700::IpPoolUtilization>, HttpError>;

    /// Fetch how much of an IP pool is in use
    #[endpoint {
        method = GET,
        path = "/v1/system/ip-pools/{pool}/utilization",
        tags = ["system/ip-pools"],
        operation_id = "ip_pool_utilization_view",
        versions = VERSION_LIMITED_COLLABORATOR..VERSION_POOL_NAMES,
    }]
    async fn system_ip_pool_utilization_view_v20251008(
        rqctx: RequestContext<Self::Context>,
        path: Path<IpPoolPath>,
    ) -> Result<HttpResponseOk<IpPoolUtilization>, HttpError> {
        Self::system_ip_pool_utilization_view(rqctx, path).await
    }

    // Silos

    /// List silos
    #[endpoint {
        method = GET,
        path = "/v1/system/silos",
        tags = ["system/silos"],
        versions = VERSION_LIMITED_COLLABORATOR..,
    }]
    async fn silo_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId>,
    ) -> Result<HttpResponseOk<ResultsPage<Silo>>, HttpError>;

    /// List silos
    #[endpoint {
        method = GET,
        path = "/v1/system/silos",
        tags = ["system/silos"],
        operation_id = "silo_list",
        versions = ..VERSION_LIMITED_COLLABORATOR,
    }]
    async fn silo_list_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId>,
    ) -> Result<HttpResponseOk<ResultsPage<v0_0_1::Silo>>, HttpError> {
        Ok(older::page(Self::silo_list(rqctx, query).await?))
    }

    /// Fetch a silo
    #[endpoint {
        method = GET,
        path = "/v1/system/silos/{silo}",
        tags = ["system/silos"],
        versions = VERSION_LIMITED_COLLABORATOR..,
    }]
    async fn silo_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<SiloPath>,
    ) -> Result<HttpResponseOk<Silo>, HttpError>;

    /// Fetch a silo
    #[endpoint {
        method = GET,
        path = "/v1/system/silos/{silo}",
        tags = ["system/silos"],
        operation_id = "silo_view",
        versions = ..VERSION_LIMITED_COLLABORATOR,
    }]
    async fn silo_view_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<SiloPath>,
    ) -> Result<HttpResponseOk<v0_0_1::Silo>, HttpError> {
        older::ok(Self::silo_view(rqctx, path).await?)
    }

    // Tenants: silos, users, roles, credentials

    /// Create a silo
    ///
    /// It has no users, no IP pools and no projects at first.
    #[endpoint {
        method = POST,
        path = "/v1/system/silos",
        tags = ["system/silos"],
        versions = VERSION_LIMITED_COLLABORATOR..,
    }]
    async fn silo_create(
        rqctx: RequestContext<Self::Context>,
        body: TypedBody<SiloCreate>,
    ) -> Result<HttpResponseCreated<Silo>, HttpError>;

    /// Create a silo
    ///
    /// It has no users, no IP pools and no projects at first.
    #[endpoint {
        method = POST,
        path = "/v1/system/silos",
        tags = ["system/silos"],
        operation_id = "silo_create",
        versions = ..VERSION_LIMITED_COLLABORATOR,
    }]
    async fn silo_create_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        body: TypedBody<SiloCreate>,
    ) -> Result<HttpResponseCreated<v0_0_1::Silo>, HttpError> {
        older::created(Self::silo_create(rqctx, body).await?)
    }

    /// Delete a silo
    ///
    /// It must have no projects. Its users, groups, tokens and links to IP pools go with it.
    #[endpoint { method = DELETE, path = "/v1/system/silos/{silo}", tags = ["system/silos"] }]
    async fn silo_delete(
        rqctx: RequestContext<Self::Context>,
        path: Path<SiloPath>,
    ) -> Result<HttpResponseDeleted, HttpError>;

    /// Fetch a silo's policy
    #[endpoint {
        method = GET,
        path = "/v1/system/silos/{silo}/policy",
        tags = ["system/silos"],
        versions = VERSION_LIMITED_COLLABORATOR..,
    }]
    async fn silo_policy_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<SiloPath>,
    ) -> Result<HttpResponseOk<SiloRolePolicy>, HttpError>;

    /// Fetch a silo's policy
    #[endpoint {
        method = GET,
        path = "/v1/system/silos/{silo}/policy",
        tags = ["system/silos"],
        operation_id = "silo_policy_view",
        versions = ..VERSION_LIMITED_COLLABORATOR,
    }]
    async fn silo_policy_view_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<SiloPath>,
    ) -> Result<HttpResponseOk<v0_0_1::SiloRolePolicy>, HttpError> {
        older::ok(Self::silo_policy_view(rqctx, path).await?)
    }

    /// Replace a silo's policy
    #[endpoint {
        method = PUT,
        path = "/v1/system/silos/{silo}/policy",
        tags = ["system/silos"],
        versions = VERSION_LIMITED_COLLABORATOR..,
    }]
    async fn silo_policy_update(
        rqctx: RequestContext<Self::Context>,
        path: Path<SiloPath>,
        body: TypedBody<SiloRolePolicy>,
    ) -> Result<HttpResponseOk<SiloRolePolicy>, HttpError>;

    /// Replace a silo's policy
    #[endpoint {
        method = PUT,
        path = "/v1/system/silos/{silo}/policy",
        tags = ["system/silos"],
        operation_id = "silo_policy_update",
        versions = ..VERSION_LIMITED_COLLABORATOR,
    }]
    async fn silo_policy_update_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<SiloPath>,
        body: TypedBody<v0_0_1::SiloRolePolicy>,
    ) -> Result<HttpResponseOk<v0_0_1::SiloRolePolicy>, HttpError> {
        older::ok(Self::silo_policy_update(rqctx, path, body.map(Into::into)).await?)
    }

    /// List the IP pools that are linked to a silo
    #[endpoint { method = GET, path = "/v1/system/silos/{silo}/ip-pools", tags = ["system/silos"] }]
    async fn silo_ip_pool_list(
        rqctx: RequestContext<Self::Context>,
        path: Path<SiloPath>,
        query: Query<ListByNameOrId>,
    ) -> Result<HttpResponseOk<ResultsPage<SiloIpPool>>, HttpError>;

    /// List the users of a silo
    #[endpoint { method = GET, path = "/v1/system/users", tags = ["system/silos"] }]
    async fn silo_user_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListById<SiloSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<User>>, HttpError>;

    /// Fetch a user of a silo
    #[endpoint { method = GET, path = "/v1/system/users/{user_id}", tags = ["system/silos"] }]
    async fn silo_user_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<UserPath>,
        query: Query<SiloSelector>,
    ) -> Result<HttpResponseOk<User>, HttpError>;

    /// List the users that are part of the system itself
    #[endpoint { method = GET, path = "/v1/system/users-builtin", tags = ["system/silos"] }]
    async fn user_builtin_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByName>,
    ) -> Result<HttpResponseOk<ResultsPage<UserBuiltin>>, HttpError>;

    /// Fetch a user that is part of the system itself
    #[endpoint { method = GET, path = "/v1/system/users-builtin/{user}", tags = ["system/silos"] }]
    async fn user_builtin_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<BuiltinUserPath>,
    ) -> Result<HttpResponseOk<UserBuiltin>, HttpError>;

    /// Create a user
    #[endpoint {
        method = POST,
        path = "/v1/system/identity-providers/local/users",
        tags = ["system/silos"],
    }]
    async fn local_idp_user_create(
        rqctx: RequestContext<Self::Context>,
        query: Query<SiloSelector>,
        body: TypedBody<UserCreate>,
    ) -> Result<HttpResponseCreated<User>, HttpError>;

    /// Delete a user
    ///
    /// The user's sessions and tokens end at once.
    #[endpoint {
        method = DELETE,
        path = "/v1/system/identity-providers/local/users/{user_id}",
        tags = ["system/silos"],
    }]
    async fn local_idp_user_delete(
        rqctx: RequestContext<Self::Context>,
        path: Path<UserPath>,
        query: Query<SiloSelector>,
    ) -> Result<HttpResponseDeleted, HttpError>;

    /// Set a user's password, or allow none
    ///
    /// The user's sessions end at once; tokens stay valid.
    #[endpoint {
        method = POST,
        path = "/v1/system/identity-providers/local/users/{user_id}/set-password",
        tags = ["system/silos"],
    }]
    async fn local_idp_user_set_password(
        rqctx: RequestContext<Self::Context>,
        path: Path<UserPath>,
        query: Query<SiloSelector>,
        body: TypedBody<UserPassword>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError>;

    /// Fetch the policy of the caller's silo
    #[endpoint {
        method = GET,
        path = "/v1/policy",
        tags = ["silos"],
        versions = VERSION_LIMITED_COLLABORATOR..,
    }]
    async fn policy_view(
        rqctx: RequestContext<Self::Context>,
    ) -> Result<HttpResponseOk<SiloRolePolicy>, HttpError>;

    /// Fetch the policy of the caller's silo
    #[endpoint {
        method = GET,
        path = "/v1/policy",
        tags = ["silos"],
        operation_id = "policy_view",
        versions = ..VERSION_LIMITED_COLLABORATOR,
    }]
    async fn policy_view_v0_0_1(
        rqctx: RequestContext<Self::Context>,
    ) -> Result<HttpResponseOk<v0_0_1::SiloRolePolicy>, HttpError> {
        older::ok(Self::policy_view(rqctx).await?)
    }

    /// Replace the policy of the caller's silo
    #[endpoint {
        method = PUT,
        path = "/v1/policy",
        tags = ["silos"],
        versions = VERSION_LIMITED_COLLABORATOR..,
    }]
    async fn policy_update(
        rqctx: RequestContext<Self::Context>,
        body: TypedBody<SiloRolePolicy>,
    ) -> Result<HttpResponseOk<SiloRolePolicy>, HttpError>;

    /// Replace the policy of the caller's silo
    #[endpoint {
        method = PUT,
        path = "/v1/policy",
        tags = ["silos"],
        operation_id = "policy_update",
        versions = ..VERSION_LIMITED_COLLABORATOR,
    }]
    async fn policy_update_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        body: TypedBody<v0_0_1::SiloRolePolicy>,
    ) -> Result<HttpResponseOk<v0_0_1::SiloRolePolicy>, HttpError> {
        older::ok(Self::policy_update(rqctx, body.map(Into::into)).await?)
    }

    /// Fetch how users of the caller's silo may authenticate
    #[endpoint { method = GET, path = "/v1/auth-settings", tags = ["silos"] }]
    async fn auth_settings_view(
        rqctx: RequestContext<Self::Context>,
    ) -> Result<HttpResponseOk<SiloAuthSettings>, HttpError>;

    /// Change how users of the caller's silo may authenticate
    #[endpoint { method = PUT, path = "/v1/auth-settings", tags = ["silos"] }]
    async fn auth_settings_update(
        rqctx: RequestContext<Self::Context>,
        body: TypedBody<SiloAuthSettingsUpdate>,
    ) -> Result<HttpResponseOk<SiloAuthSettings>, HttpError>;

    /// List the users of the caller's silo
    #[endpoint { method = GET, path = "/v1/users", tags = ["silos"] }]
    async fn user_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListById<GroupFilter>>,
    ) -> Result<HttpResponseOk<ResultsPage<User>>, HttpError>;

    /// Fetch a user of the caller's silo
    #[endpoint { method = GET, path = "/v1/users/{user_id}", tags = ["silos"] }]
    async fn user_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<UserPath>,
    ) -> Result<HttpResponseOk<User>, HttpError>;

    /// List a user's API tokens
    ///
    /// Those that have not expired.
    #[endpoint { method = GET, path = "/v1/users/{user_id}/access-tokens", tags = ["silos"] }]
    async fn user_token_list(
        rqctx: RequestContext<Self::Context>,
        path: Path<UserPath>,
        query: Query<ListById>,
    ) -> Result<HttpResponseOk<ResultsPage<DeviceAccessToken>>, HttpError>;

    /// List a user's sessions
    #[endpoint { method = GET, path = "/v1/users/{user_id}/sessions", tags = ["silos"] }]
    async fn user_session_list(
        rqctx: RequestContext<Self::Context>,
        path: Path<UserPath>,
        query: Query<ListById>,
    ) -> Result<HttpResponseOk<ResultsPage<ConsoleSession>>, HttpError>;

    /// End all of a user's sessions and tokens
    #[endpoint { method = POST, path = "/v1/users/{user_id}/logout", tags = ["silos"] }]
    async fn user_logout(
        rqctx: RequestContext<Self::Context>,
        path: Path<UserPath>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError>;

    /// List the groups of the caller's silo
    #[endpoint { method = GET, path = "/v1/groups", tags = ["silos"] }]
    async fn group_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListById>,
    ) -> Result<HttpResponseOk<ResultsPage<Group>>, HttpError>;

    /// Fetch a group of the caller's silo
    #[endpoint { method = GET, path = "/v1/groups/{group_id}", tags = ["silos"] }]
    async fn group_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<GroupPath>,
    ) -> Result<HttpResponseOk<Group>, HttpError>;

    /// List the groups of the current user
    #[endpoint { method = GET, path = "/v1/me/groups", tags = ["current-user"] }]
    async fn current_user_groups(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListById>,
    ) -> Result<HttpResponseOk<ResultsPage<Group>>, HttpError>;

    /// List the current user's API tokens
    ///
    /// Those that have not expired.
    #[endpoint { method = GET, path = "/v1/me/access-tokens", tags = ["tokens"] }]
    async fn current_user_access_token_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListById>,
    ) -> Result<HttpResponseOk<ResultsPage<DeviceAccessToken>>, HttpError>;

    /// Delete one of the current user's API tokens
    ///
    /// It is no credential any more, at once.
    #[endpoint { method = DELETE, path = "/v1/me/access-tokens/{token_id}", tags = ["tokens"] }]
    async fn current_user_access_token_delete(
        rqctx: RequestContext<Self::Context>,
        path: Path<TokenPath>,
    ) -> Result<HttpResponseDeleted, HttpError>;

    /// Fetch a project's policy
    #[endpoint {
        method = GET,
        path = "/v1/projects/{project}/policy",
        tags = ["projects"],
        versions = VERSION_LIMITED_COLLABORATOR..,
    }]
    async fn project_policy_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<ProjectPath>,
    ) -> Result<HttpResponseOk<ProjectRolePolicy>, HttpError>;

    /// Fetch a project's policy
    #[endpoint {
        method = GET,
        path = "/v1/projects/{project}/policy",
        tags = ["projects"],
        operation_id = "project_policy_view",
        versions = ..VERSION_LIMITED_COLLABORATOR,
    }]
    async fn project_policy_view_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<ProjectPath>,
    ) -> Result<HttpResponseOk<v0_0_1::ProjectRolePolicy>, HttpError> {
        older::ok(Self::project_policy_view(rqctx, path).await?)
    }

    /// Replace a project's policy
    #[endpoint {
        method = PUT,
        path = "/v1/projects/{project}/policy",
        tags = ["projects"],
        versions = VERSION_LIMITED_COLLABORATOR..,
    }]
    async fn project_policy_update(
        rqctx: RequestContext<Self::Context>,
        path: Path<ProjectPath>,
        body: TypedBody<ProjectRolePolicy>,
    ) -> Result<HttpResponseOk<ProjectRolePolicy>, HttpError>;

    /// Replace a project's policy
    #[endpoint {
        method = PUT,
        path = "/v1/projects/{project}/policy",
        tags = ["projects"],
        operation_id = "project_policy_update",
        versions = ..VERSION_LIMITED_COLLABORATOR,
    }]
    async fn project_policy_update_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<ProjectPath>,
        body: TypedBody<v0_0_1::ProjectRolePolicy>,
    ) -> Result<HttpResponseOk<v0_0_1::ProjectRolePolicy>, HttpError> {
        older::ok(Self::project_policy_update(rqctx, path, body.map(Into::into)).await?)
    }

    /// Fetch the fleet's policy
    #[endpoint { method = GET, path = "/v1/system/policy", tags = ["policy"] }]
    async fn system_policy_view(
        rqctx: RequestContext<Self::Context>,
    ) -> Result<HttpResponseOk<FleetRolePolicy>, HttpError>;

    /// Replace the fleet's policy
    #[endpoint { method = PUT, path = "/v1/system/policy", tags = ["policy"] }]
    async fn system_policy_update(
        rqctx: RequestContext<Self::Context>,
        body: TypedBody<FleetRolePolicy>,
    ) -> Result<HttpResponseOk<FleetRolePolicy>, HttpError>;

    /// Log in with a name and a password
    ///
    /// The answer sets the session's cookie.
    #[endpoint {
        method = POST,
        path = "/v1/login/{silo_name}/local",
        tags = ["login"],
        request_body_max_bytes = LOGIN_BODY_MAX,
    }]
    async fn login_local(
        rqctx: RequestContext<Self::Context>,
        path: Path<LoginPath>,
        body: TypedBody<UsernamePasswordCredentials>,
    ) -> Result<HttpResponseHeaders<HttpResponseUpdatedNoContent>, HttpError>;

    /// Log out
    ///
    /// That there is no session is a success.
    #[endpoint { method = POST, path = "/v1/logout", tags = ["console-auth"] }]
    async fn logout(
        rqctx: RequestContext<Self::Context>,
    ) -> Result<HttpResponseHeaders<HttpResponseUpdatedNoContent>, HttpError>;

    /// Ask to be let in, as a program (RFC 8628)
    #[endpoint {
        method = POST,
        path = "/device/auth",
        tags = ["console-auth"],
        request_body_max_bytes = LOGIN_BODY_MAX,
        content_type = "application/x-www-form-urlencoded",
    }]
    async fn device_auth_request(
        rqctx: RequestContext<Self::Context>,
        body: TypedBody<DeviceAuthRequest>,
    ) -> Result<Response<Body>, HttpError>;

    /// Let a program in
    #[endpoint { method = POST, path = "/device/confirm", tags = ["console-auth"] }]
    async fn device_auth_confirm(
        rqctx: RequestContext<Self::Context>,
        body: TypedBody<DeviceAuthVerify>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError>;

    /// Get the token of a program that was let in (RFC 8628)
    #[endpoint {
        method = POST,
        path = "/device/token",
        tags = ["console-auth"],
        request_body_max_bytes = LOGIN_BODY_MAX,
        content_type = "application/x-www-form-urlencoded",
    }]
    async fn device_access_token(
        rqctx: RequestContext<Self::Context>,
        body: TypedBody<DeviceAccessTokenRequest>,
    ) -> Result<Response<Body>, HttpError>;

    /// The page on which a person lets a program in
    #[endpoint {
        method = GET,
        path = "/device/verify",
        tags = ["console-auth"],
        unpublished = true,
    }]
    async fn device_verify_page(
        rqctx: RequestContext<Self::Context>,
    ) -> Result<Response<Body>, HttpError>;

    /// The page that says what this is
    #[endpoint { method = GET, path = "/", tags = ["console-auth"], unpublished = true }]
    async fn root_page(rqctx: RequestContext<Self::Context>) -> Result<Response<Body>, HttpError>;

    /// A page of the web console
    #[endpoint {
        method = GET,
        path = "/projects/{path:.*}",
        tags = ["console-auth"],
        unpublished = true,
    }]
    async fn projects_page(
        rqctx: RequestContext<Self::Context>,
        path: Path<PagePath>,
    ) -> Result<Response<Body>, HttpError>;

    /// A page of the web console
    #[endpoint {
        method = GET,
        path = "/projects-new",
        tags = ["console-auth"],
        unpublished = true,
    }]
    async fn projects_new_page(
        rqctx: RequestContext<Self::Context>,
    ) -> Result<Response<Body>, HttpError>;

    /// A page of the web console
    #[endpoint {
        method = GET,
        path = "/settings/{path:.*}",
        tags = ["console-auth"],
        unpublished = true,
    }]
    async fn settings_page(
        rqctx: RequestContext<Self::Context>,
        path: Path<PagePath>,
    ) -> Result<Response<Body>, HttpError>;

    /// A page of the web console
    #[endpoint {
        method = GET,
        path = "/system/{path:.*}",
        tags = ["console-auth"],
        unpublished = true,
    }]
    async fn system_page(
        rqctx: RequestContext<Self::Context>,
        path: Path<PagePath>,
    ) -> Result<Response<Body>, HttpError>;

    /// A page of the web console
    #[endpoint {
        method = GET,
        path = "/lookup/{path:.*}",
        tags = ["console-auth"],
        unpublished = true,
    }]
    async fn lookup_page(
        rqctx: RequestContext<Self::Context>,
        path: Path<PagePath>,
    ) -> Result<Response<Body>, HttpError>;

    /// A page of the web console
    #[endpoint {
        method = GET,
        path = "/images",
        tags = ["console-auth"],
        unpublished = true,
    }]
    async fn images_page(rqctx: RequestContext<Self::Context>)
    -> Result<Response<Body>, HttpError>;

    /// A page of the web console
    #[endpoint {
        method = GET,
        path = "/utilization",
        tags = ["console-auth"],
        unpublished = true,
    }]
    async fn utilization_page(
        rqctx: RequestContext<Self::Context>,
    ) -> Result<Response<Body>, HttpError>;

    /// A page of the web console
    #[endpoint {
        method = GET,
        path = "/access",
        tags = ["console-auth"],
        unpublished = true,
    }]
    async fn access_page(rqctx: RequestContext<Self::Context>)
    -> Result<Response<Body>, HttpError>;

    /// A page of the web console
    #[endpoint {
        method = GET,
        path = "/device/success",
        tags = ["console-auth"],
        unpublished = true,
    }]
    async fn device_success_page(
        rqctx: RequestContext<Self::Context>,
    ) -> Result<Response<Body>, HttpError>;

    /// The page on which people log in
    #[endpoint {
        method = GET,
        path = "/login/{silo_name}/local",
        tags = ["console-auth"],
        unpublished = true,
    }]
    async fn login_local_page(
        rqctx: RequestContext<Self::Context>,
        path: Path<LoginPagePath>,
    ) -> Result<Response<Body>, HttpError>;

    /// The page on which people log in with an identity provider
    #[endpoint {
        method = GET,
        path = "/login/{silo_name}/saml/{provider_name}",
        tags = ["console-auth"],
        unpublished = true,
    }]
    async fn login_saml_page(
        rqctx: RequestContext<Self::Context>,
        path: Path<LoginSamlPagePath>,
    ) -> Result<Response<Body>, HttpError>;

    /// A file of the web console
    #[endpoint {
        method = GET,
        path = "/assets/{path:.*}",
        tags = ["console-auth"],
        unpublished = true,
    }]
    async fn asset(
        rqctx: RequestContext<Self::Context>,
        path: Path<PagePath>,
    ) -> Result<Response<Body>, HttpError>;

    /// The way to the page on which people log in
    #[endpoint { method = GET, path = "/login", tags = ["console-auth"], unpublished = true }]
    async fn login_page(
        rqctx: RequestContext<Self::Context>,
        query: Query<LoginPageQuery>,
    ) -> Result<Response<Body>, HttpError>;

    /// Fetch a silo's quotas
    #[endpoint { method = GET, path = "/v1/system/silos/{silo}/quotas", tags = ["system/silos"] }]
    async fn silo_quotas_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<SiloPath>,
    ) -> Result<HttpResponseOk<SiloQuotas>, HttpError>;

    /// Update a silo's quotas
    #[endpoint { method = PUT, path = "/v1/system/silos/{silo}/quotas", tags = ["system/silos"] }]
    async fn silo_quotas_update(
        rqctx: RequestContext<Self::Context>,
        path: Path<SiloPath>,
        body: TypedBody<SiloQuotasUpdate>,
    ) -> Result<HttpResponseOk<SiloQuotas>, HttpError>;

    /// List the quotas of all silos
    #[endpoint { method = GET, path = "/v1/system/silo-quotas", tags = ["system/silos"] }]
    async fn system_quotas_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListById>,
    ) -> Result<HttpResponseOk<ResultsPage<SiloQuotas>>, HttpError>;

    /// Fetch how much the current user's silo uses
    #[endpoint { method = GET, path = "/v1/utilization", tags = ["silos"] }]
    async fn utilization_view(
        rqctx: RequestContext<Self::Context>,
    ) -> Result<HttpResponseOk<Utilization>, HttpError>;

    /// List how much each silo uses
    #[endpoint { method = GET, path = "/v1/system/utilization/silos", tags = ["system/silos"] }]
    async fn silo_utilization_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId>,
    ) -> Result<HttpResponseOk<ResultsPage<SiloUtilization>>, HttpError>;

    /// Fetch how much a silo uses
    #[endpoint {
        method = GET,
        path = "/v1/system/utilization/silos/{silo}",
        tags = ["system/silos"],
    }]
    async fn silo_utilization_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<SiloPath>,
    ) -> Result<HttpResponseOk<SiloUtilization>, HttpError>;

    // Sleds

    /// List sleds
    #[endpoint {
        method = GET,
        path = "/v1/system/hardware/sleds",
        tags = ["system/hardware"],
        versions = VERSION_INSTANCE_UPDATE..,
    }]
    async fn sled_list(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListById>,
    ) -> Result<HttpResponseOk<ResultsPage<Sled>>, HttpError>;

    /// List sleds
    #[endpoint {
        method = GET,
        path = "/v1/system/hardware/sleds",
        tags = ["system/hardware"],
        operation_id = "sled_list",
        versions = ..VERSION_FLOATING_IP_UPDATE,
    }]
    async fn sled_list_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListById>,
    ) -> Result<HttpResponseOk<ResultsPage<v0_0_1::Sled>>, HttpError> {
        Ok(older::page(Self::sled_list(rqctx, query).await?))
    }

    /// List sleds
    #[endpoint {
        method = GET,
        path = "/v1/system/hardware/sleds",
        tags = ["system/hardware"],
        operation_id = "sled_list",
        versions = VERSION_FLOATING_IP_UPDATE..VERSION_INSTANCE_UPDATE,
    }]
    async fn sled_list_v20240327(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListById>,
    ) -> Result<HttpResponseOk<ResultsPage<v2024032700::Sled>>, HttpError> {
        Ok(older::page(Self::sled_list(rqctx, query).await?))
    }

    /// Fetch a sled
    #[endpoint {
        method = GET,
        path = "/v1/system/hardware/sleds/{sled_id}",
        tags = ["system/hardware"],
        versions = VERSION_INSTANCE_UPDATE..,
    }]
    async fn sled_view(
        rqctx: RequestContext<Self::Context>,
        path: Path<SledPath>,
    ) -> Result<HttpResponseOk<Sled>, HttpError>;

    /// Fetch a sled
    #[endpoint {
        method = GET,
        path = "/v1/system/hardware/sleds/{sled_id}",
        tags = ["system/hardware"],
        operation_id = "sled_view",
        versions = ..VERSION_FLOATING_IP_UPDATE,
    }]
    async fn sled_view_v0_0_1(
        rqctx: RequestContext<Self::Context>,
        path: Path<SledPath>,
    ) -> Result<HttpResponseOk<v0_0_1::Sled>, HttpError> {
        older::ok(Self::sled_view(rqctx, path).await?)
    }

    /// Fetch a sled
    #[endpoint {
        method = GET,
        path = "/v1/system/hardware/sleds/{sled_id}",
        tags = ["system/hardware"],
        operation_id = "sled_view",
        versions = VERSION_FLOATING_IP_UPDATE..VERSION_INSTANCE_UPDATE,
    }]
    async fn sled_view_v20240327(
        rqctx: RequestContext<Self::Context>,
        path: Path<SledPath>,
    ) -> Result<HttpResponseOk<v2024032700::Sled>, HttpError> {
        older::ok(Self::sled_view(rqctx, path).await?)
    }

    /// List the instances that run on a sled
    #[endpoint {
        method = GET,
        path = "/v1/system/hardware/sleds/{sled_id}/instances",
        tags = ["system/hardware"],
    }]
    async fn sled_instance_list(
        rqctx: RequestContext<Self::Context>,
        path: Path<SledPath>,
        query: Query<ListById>,
    ) -> Result<HttpResponseOk<ResultsPage<SledInstance>>, HttpError>;

    /// Set whether new instances are placed on a sled
    #[endpoint {
        method = PUT,
        path = "/v1/system/hardware/sleds/{sled_id}/provision-policy",
        tags = ["system/hardware"],
    }]
    async fn sled_set_provision_policy(
        rqctx: RequestContext<Self::Context>,
        path: Path<SledPath>,
        body: TypedBody<SledProvisionPolicyParams>,
    ) -> Result<HttpResponseOk<SledProvisionPolicyResponse>, HttpError>;
}
