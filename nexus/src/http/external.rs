//! The external API.

use super::authn::{opctx, refuse_cross_site, session};
use super::{audit, console, pages, views};
use crate::app::authz::Action;
use crate::app::{Nexus, NicSelector, OpContext, Selector, SubnetSelector};
use db_model::IpPool as IpPoolRow;
use dropshot::{
    ApiDescription, ApiDescriptionBuildErrors, Body, HttpError, HttpResponseAccepted,
    HttpResponseCreated, HttpResponseDeleted, HttpResponseHeaders, HttpResponseOk,
    HttpResponseUpdatedNoContent, Path, Query, RequestContext, ResultsPage, TypedBody,
};
use http::{Response, StatusCode};
use nexus_api::api::{NexusExternalApi, nexus_external_api_mod};
use nexus_api::compat::CompatBody;
use nexus_api::older::{self, v0_0_1, v2024032700};
use nexus_api::paging::{
    AddressPage, IdPage, ListByAddress, ListById, ListByName, ListByNameOrId, ListByTime,
    NameOrIdPage, NamePage, TimePage,
};
use nexus_api::types::*;
use nexus_common::{Direction, Error, PageParams};
use nexus_measured::measured;
use serde_json::json;
use std::num::NonZeroU32;
use std::sync::Arc;

/// How a program says that it wants the token that it was let in for (RFC 8628, section 3.4).
const DEVICE_CODE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// The API, ready to be served.
pub(super) fn api() -> Result<ApiDescription<Arc<Nexus>>, ApiDescriptionBuildErrors> {
    nexus_external_api_mod::api_description::<External>()
}

/// Turns rows into views, where a view may fail.
fn each<R, V>(rows: Vec<R>, view: impl Fn(R) -> Result<V, Error>) -> Result<Vec<V>, Error> {
    rows.into_iter().map(view).collect()
}

/// A pool from when it belonged to one silo: that is the one that it is linked to, if it is one.
async fn pool_with_link(
    nexus: &Nexus,
    opctx: &OpContext,
    row: IpPoolRow,
) -> Result<v0_0_1::IpPool, Error> {
    let two = PageParams { limit: TWO, direction: Direction::Ascending, marker: None };
    let links = nexus.pool_silo_list(opctx, row.id.into(), two).await?;
    let link = if let [link] = &links[..] { Some(link) } else { None };
    Ok(v0_0_1::IpPool {
        is_default: link.is_some_and(|link| link.is_default),
        silo_id: link.map(|link| link.silo_id),
        identity: views::ip_pool(row).identity,
    })
}

fn nic_selector(path: Path<InterfacePath>, query: Query<OptionalInstanceSelector>) -> NicSelector {
    let OptionalInstanceSelector { project, instance } = query.into_inner();
    NicSelector { interface: path.into_inner().interface, instance, project }
}

fn subnet_selector(path: Path<SubnetPath>, query: OptionalVpcSelector) -> SubnetSelector {
    let OptionalVpcSelector { project, vpc } = query;
    SubnetSelector { subnet: path.into_inner().subnet, vpc, project }
}

/// A listing of what no project has.
async fn nothing_in_project<T: HasIdentity + older::View>(
    rqctx: Ctx,
    query: Query<ListByNameOrId<ProjectSelector>>,
) -> Result<HttpResponseOk<ResultsPage<T>>, HttpError> {
    let page = NameOrIdPage::new(&rqctx, query)?;
    let opctx = opctx(&rqctx).await?;
    rqctx.context().project(&opctx, &page.selector.project, Action::ListChildren).await?;
    Ok(HttpResponseOk(page.results(Vec::new())?))
}

/// A listing of what no instance has.
async fn nothing_of_instance<T: HasIdentity + older::View>(
    rqctx: Ctx,
    path: Path<InstancePath>,
    query: Query<ListByNameOrId<OptionalProjectSelector>>,
) -> Result<HttpResponseOk<ResultsPage<T>>, HttpError> {
    let page = NameOrIdPage::new(&rqctx, query)?;
    let opctx = opctx(&rqctx).await?;
    let selector = Selector::new(path.into_inner().instance, page.selector.project.clone());
    rqctx.context().instance(&opctx, &selector, Action::ListChildren).await?;
    Ok(HttpResponseOk(page.results(Vec::new())?))
}

const TWO: NonZeroU32 = NonZeroU32::new(2).unwrap();

enum External {}

type Ctx = RequestContext<Arc<Nexus>>;

#[measured("external")]
impl NexusExternalApi for External {
    type Context = Arc<Nexus>;

    async fn ping(_rqctx: Ctx) -> Result<HttpResponseOk<Ping>, HttpError> {
        Ok(HttpResponseOk(Ping::OK))
    }

    async fn current_user_view(rqctx: Ctx) -> Result<HttpResponseOk<CurrentUser>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let actor = rqctx.context().current_user(&opctx)?;
        Ok(HttpResponseOk(views::current_user(actor)))
    }

    async fn current_user_ssh_key_list(
        rqctx: Ctx,
        query: Query<ListByNameOrId>,
    ) -> Result<HttpResponseOk<ResultsPage<SshKey>>, HttpError> {
        let page = NameOrIdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let rows = rqctx.context().ssh_key_list(&opctx, page.by.clone()).await?;
        let items = rows.into_iter().map(views::ssh_key).collect();
        Ok(HttpResponseOk(page.results(items)?))
    }

    async fn current_user_ssh_key_create(
        rqctx: Ctx,
        body: TypedBody<SshKeyCreate>,
    ) -> Result<HttpResponseCreated<SshKey>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let row = rqctx.context().ssh_key_create(&opctx, body.into_inner()).await?;
        Ok(HttpResponseCreated(views::ssh_key(row)))
    }

    async fn current_user_ssh_key_view(
        rqctx: Ctx,
        path: Path<SshKeyPath>,
    ) -> Result<HttpResponseOk<SshKey>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let row = rqctx.context().ssh_key(&opctx, path.into_inner().ssh_key).await?;
        Ok(HttpResponseOk(views::ssh_key(row)))
    }

    async fn current_user_ssh_key_delete(
        rqctx: Ctx,
        path: Path<SshKeyPath>,
    ) -> Result<HttpResponseDeleted, HttpError> {
        let opctx = opctx(&rqctx).await?;
        rqctx.context().ssh_key_delete(&opctx, path.into_inner().ssh_key).await?;
        Ok(HttpResponseDeleted())
    }

    async fn project_list(
        rqctx: Ctx,
        query: Query<ListByNameOrId>,
    ) -> Result<HttpResponseOk<ResultsPage<Project>>, HttpError> {
        let page = NameOrIdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let rows = rqctx.context().project_list(&opctx, page.by.clone()).await?;
        let items = rows.into_iter().map(views::project).collect();
        Ok(HttpResponseOk(page.results(items)?))
    }

    async fn project_create(
        rqctx: Ctx,
        body: TypedBody<ProjectCreate>,
    ) -> Result<HttpResponseCreated<Project>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let row = rqctx.context().project_create(&opctx, body.into_inner()).await?;
        Ok(HttpResponseCreated(views::project(row)))
    }

    async fn project_view(
        rqctx: Ctx,
        path: Path<ProjectPath>,
    ) -> Result<HttpResponseOk<Project>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let project = path.into_inner().project;
        let row = rqctx.context().project(&opctx, &project, Action::Read).await?;
        Ok(HttpResponseOk(views::project(row)))
    }

    async fn project_update(
        rqctx: Ctx,
        path: Path<ProjectPath>,
        body: TypedBody<ProjectUpdate>,
    ) -> Result<HttpResponseOk<Project>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let project = path.into_inner().project;
        let row = rqctx.context().project_update(&opctx, &project, body.into_inner()).await?;
        Ok(HttpResponseOk(views::project(row)))
    }

    async fn project_delete(
        rqctx: Ctx,
        path: Path<ProjectPath>,
    ) -> Result<HttpResponseDeleted, HttpError> {
        let opctx = opctx(&rqctx).await?;
        rqctx.context().project_delete(&opctx, &path.into_inner().project).await?;
        Ok(HttpResponseDeleted())
    }

    async fn floating_ip_list(
        rqctx: Ctx,
        query: Query<ListByNameOrId<ProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<FloatingIp>>, HttpError> {
        let page = NameOrIdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let rows = rqctx
            .context()
            .floating_ip_list(&opctx, &page.selector.project, page.by.clone())
            .await?;
        let items = rows.into_iter().map(views::floating_ip).collect();
        Ok(HttpResponseOk(page.results(items)?))
    }

    async fn floating_ip_create(
        rqctx: Ctx,
        query: Query<ProjectSelector>,
        body: CompatBody<FloatingIpCreate>,
    ) -> Result<HttpResponseCreated<FloatingIp>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let (body, legacy) = body.into_parts();
        let project = query.into_inner().project;
        let row = rqctx.context().floating_ip_create(&opctx, &project, body, legacy).await?;
        Ok(HttpResponseCreated(views::floating_ip(row)))
    }

    async fn floating_ip_view(
        rqctx: Ctx,
        path: Path<FloatingIpPath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseOk<FloatingIp>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().floating_ip, query.into_inner().project);
        let row = rqctx.context().floating_ip(&opctx, &selector, Action::Read).await?;
        Ok(HttpResponseOk(views::floating_ip(row)))
    }

    async fn floating_ip_update(
        rqctx: Ctx,
        path: Path<FloatingIpPath>,
        query: Query<OptionalProjectSelector>,
        body: TypedBody<FloatingIpUpdate>,
    ) -> Result<HttpResponseOk<FloatingIp>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().floating_ip, query.into_inner().project);
        let body = body.into_inner();
        let row = rqctx.context().floating_ip_update(&opctx, &selector, body).await?;
        Ok(HttpResponseOk(views::floating_ip(row)))
    }

    async fn floating_ip_delete(
        rqctx: Ctx,
        path: Path<FloatingIpPath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseDeleted, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().floating_ip, query.into_inner().project);
        rqctx.context().floating_ip_delete(&opctx, &selector).await?;
        Ok(HttpResponseDeleted())
    }

    async fn floating_ip_attach(
        rqctx: Ctx,
        path: Path<FloatingIpPath>,
        query: Query<OptionalProjectSelector>,
        body: TypedBody<FloatingIpAttach>,
    ) -> Result<HttpResponseAccepted<FloatingIp>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().floating_ip, query.into_inner().project);
        let FloatingIpAttach { kind: FloatingIpParentKind::Instance, parent } = body.into_inner();
        let row = rqctx.context().floating_ip_attach(&opctx, &selector, &parent).await?;
        Ok(HttpResponseAccepted(views::floating_ip(row)))
    }

    async fn floating_ip_detach(
        rqctx: Ctx,
        path: Path<FloatingIpPath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseAccepted<FloatingIp>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().floating_ip, query.into_inner().project);
        let row = rqctx.context().floating_ip_detach(&opctx, &selector).await?;
        Ok(HttpResponseAccepted(views::floating_ip(row)))
    }

    async fn instance_list(
        rqctx: Ctx,
        query: Query<ListByNameOrId<ProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<Instance>>, HttpError> {
        let page = NameOrIdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let rows =
            rqctx.context().instance_list(&opctx, &page.selector.project, page.by.clone()).await?;
        let items = rows.into_iter().map(views::instance).collect();
        Ok(HttpResponseOk(page.results(items)?))
    }

    async fn instance_create(
        rqctx: Ctx,
        query: Query<ProjectSelector>,
        body: CompatBody<InstanceCreate>,
    ) -> Result<HttpResponseCreated<Instance>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let (body, legacy) = body.into_parts();
        let project = query.into_inner().project;
        let found = rqctx.context().instance_create(&opctx, &project, body, legacy).await?;
        Ok(HttpResponseCreated(views::instance(found)))
    }

    async fn instance_view(
        rqctx: Ctx,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseOk<Instance>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().instance, query.into_inner().project);
        let found = rqctx.context().instance(&opctx, &selector, Action::Read).await?;
        Ok(HttpResponseOk(views::instance(found)))
    }

    async fn instance_delete(
        rqctx: Ctx,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseDeleted, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().instance, query.into_inner().project);
        rqctx.context().instance_delete(&opctx, &selector).await?;
        Ok(HttpResponseDeleted())
    }

    async fn instance_start(
        rqctx: Ctx,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseAccepted<Instance>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().instance, query.into_inner().project);
        let found = rqctx.context().instance_start(&opctx, &selector).await?;
        Ok(HttpResponseAccepted(views::instance(found)))
    }

    async fn instance_stop(
        rqctx: Ctx,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseAccepted<Instance>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().instance, query.into_inner().project);
        let found = rqctx.context().instance_stop(&opctx, &selector).await?;
        Ok(HttpResponseAccepted(views::instance(found)))
    }

    async fn instance_reboot(
        rqctx: Ctx,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseAccepted<Instance>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().instance, query.into_inner().project);
        let found = rqctx.context().instance_reboot(&opctx, &selector).await?;
        Ok(HttpResponseAccepted(views::instance(found)))
    }

    async fn instance_update(
        rqctx: Ctx,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
        body: CompatBody<InstanceUpdate>,
    ) -> Result<HttpResponseOk<Instance>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().instance, query.into_inner().project);
        let (body, _) = body.into_parts();
        let found = rqctx.context().instance_update(&opctx, &selector, body).await?;
        Ok(HttpResponseOk(views::instance(found)))
    }

    async fn instance_disk_list(
        rqctx: Ctx,
        path: Path<InstancePath>,
        query: Query<ListByNameOrId<OptionalProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<Disk>>, HttpError> {
        let page = NameOrIdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().instance, page.selector.project.clone());
        let rows = rqctx.context().instance_disk_list(&opctx, &selector, page.by.clone()).await?;
        Ok(HttpResponseOk(page.results(each(rows, views::disk)?)?))
    }

    async fn instance_disk_attach(
        rqctx: Ctx,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
        body: TypedBody<DiskPath>,
    ) -> Result<HttpResponseAccepted<Disk>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().instance, query.into_inner().project);
        let disk = body.into_inner().disk;
        let row = rqctx.context().instance_disk_attach(&opctx, &selector, &disk).await?;
        Ok(HttpResponseAccepted(views::disk(row)?))
    }

    async fn instance_disk_detach(
        rqctx: Ctx,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
        body: TypedBody<DiskPath>,
    ) -> Result<HttpResponseAccepted<Disk>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().instance, query.into_inner().project);
        let disk = body.into_inner().disk;
        let row = rqctx.context().instance_disk_detach(&opctx, &selector, &disk).await?;
        Ok(HttpResponseAccepted(views::disk(row)?))
    }

    async fn instance_ssh_public_key_list(
        rqctx: Ctx,
        path: Path<InstancePath>,
        query: Query<ListByNameOrId<OptionalProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<SshKey>>, HttpError> {
        let page = NameOrIdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().instance, page.selector.project.clone());
        let rows =
            rqctx.context().instance_ssh_key_list(&opctx, &selector, page.by.clone()).await?;
        let items = rows.into_iter().map(views::ssh_key).collect();
        Ok(HttpResponseOk(page.results(items)?))
    }

    async fn instance_external_ip_list(
        rqctx: Ctx,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseOk<ResultsPage<ExternalIp>>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().instance, query.into_inner().project);
        let rows = rqctx.context().instance_external_ip_list(&opctx, &selector).await?;
        let items = rows.into_iter().map(views::external_ip).collect();
        Ok(HttpResponseOk(ResultsPage { items, next_page: None }))
    }

    async fn instance_ephemeral_ip_attach(
        rqctx: Ctx,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
        body: CompatBody<EphemeralIpCreate>,
    ) -> Result<HttpResponseAccepted<ExternalIp>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().instance, query.into_inner().project);
        let (body, legacy) = body.into_parts();
        let pool = body.pool_selector;
        let row = rqctx.context().ephemeral_ip_attach(&opctx, &selector, pool, legacy).await?;
        Ok(HttpResponseAccepted(views::external_ip(row)))
    }

    async fn instance_ephemeral_ip_detach(
        rqctx: Ctx,
        path: Path<InstancePath>,
        query: Query<EphemeralIpDetachSelector>,
    ) -> Result<HttpResponseDeleted, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let EphemeralIpDetachSelector { project, ip_version } = query.into_inner();
        let selector = Selector::new(path.into_inner().instance, project);
        rqctx.context().ephemeral_ip_detach(&opctx, &selector, ip_version).await?;
        Ok(HttpResponseDeleted())
    }

    async fn instance_network_interface_list(
        rqctx: Ctx,
        query: Query<ListByNameOrId<InstanceSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<InstanceNetworkInterface>>, HttpError> {
        let page = NameOrIdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let InstanceSelector { project, instance } = page.selector.clone();
        let selector = Selector::new(instance, project);
        let rows = rqctx.context().nic_list(&opctx, &selector, page.by.clone()).await?;
        Ok(HttpResponseOk(page.results(each(rows, views::nic)?)?))
    }

    async fn instance_network_interface_view(
        rqctx: Ctx,
        path: Path<InterfacePath>,
        query: Query<OptionalInstanceSelector>,
    ) -> Result<HttpResponseOk<InstanceNetworkInterface>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = nic_selector(path, query);
        let row = rqctx.context().network_interface(&opctx, selector, Action::Read).await?;
        Ok(HttpResponseOk(views::nic(row)?))
    }

    async fn instance_network_interface_create(
        rqctx: Ctx,
        query: Query<InstanceSelector>,
        body: CompatBody<InstanceNetworkInterfaceCreate>,
    ) -> Result<HttpResponseCreated<InstanceNetworkInterface>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let InstanceSelector { project, instance } = query.into_inner();
        let selector = Selector::new(instance, project);
        let (body, _) = body.into_parts();
        let row = rqctx.context().nic_create(&opctx, &selector, body).await?;
        Ok(HttpResponseCreated(views::nic(row)?))
    }

    async fn instance_network_interface_update(
        rqctx: Ctx,
        path: Path<InterfacePath>,
        query: Query<OptionalInstanceSelector>,
        body: TypedBody<InstanceNetworkInterfaceUpdate>,
    ) -> Result<HttpResponseOk<InstanceNetworkInterface>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = nic_selector(path, query);
        let row = rqctx.context().nic_update(&opctx, selector, body.into_inner()).await?;
        Ok(HttpResponseOk(views::nic(row)?))
    }

    async fn instance_network_interface_delete(
        rqctx: Ctx,
        path: Path<InterfacePath>,
        query: Query<OptionalInstanceSelector>,
    ) -> Result<HttpResponseDeleted, HttpError> {
        let opctx = opctx(&rqctx).await?;
        rqctx.context().nic_delete(&opctx, nic_selector(path, query)).await?;
        Ok(HttpResponseDeleted())
    }

    async fn instance_affinity_group_list(
        rqctx: Ctx,
        path: Path<InstancePath>,
        query: Query<ListByNameOrId<OptionalProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<AffinityGroup>>, HttpError> {
        nothing_of_instance(rqctx, path, query).await
    }

    async fn instance_anti_affinity_group_list(
        rqctx: Ctx,
        path: Path<InstancePath>,
        query: Query<ListByNameOrId<OptionalProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<AntiAffinityGroup>>, HttpError> {
        nothing_of_instance(rqctx, path, query).await
    }

    async fn affinity_group_list(
        rqctx: Ctx,
        query: Query<ListByNameOrId<ProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<AffinityGroup>>, HttpError> {
        nothing_in_project(rqctx, query).await
    }

    async fn anti_affinity_group_list(
        rqctx: Ctx,
        query: Query<ListByNameOrId<ProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<AntiAffinityGroup>>, HttpError> {
        nothing_in_project(rqctx, query).await
    }

    async fn external_subnet_list(
        rqctx: Ctx,
        query: Query<ListByNameOrId<ProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<ExternalSubnet>>, HttpError> {
        nothing_in_project(rqctx, query).await
    }

    async fn instance_external_subnet_list(
        rqctx: Ctx,
        path: Path<InstancePath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseOk<ResultsPage<ExternalSubnet>>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().instance, query.into_inner().project);
        rqctx.context().instance(&opctx, &selector, Action::ListChildren).await?;
        Ok(HttpResponseOk(ResultsPage { items: Vec::new(), next_page: None }))
    }

    async fn disk_list(
        rqctx: Ctx,
        query: Query<ListByNameOrId<ProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<Disk>>, HttpError> {
        let page = NameOrIdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let rows =
            rqctx.context().disk_list(&opctx, &page.selector.project, page.by.clone()).await?;
        let items = each(rows, views::disk)?;
        Ok(HttpResponseOk(page.results(items)?))
    }

    async fn disk_create(
        rqctx: Ctx,
        query: Query<ProjectSelector>,
        body: CompatBody<DiskCreate>,
    ) -> Result<HttpResponseCreated<Disk>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let (body, _) = body.into_parts();
        let project = query.into_inner().project;
        let row = rqctx.context().disk_create(&opctx, &project, body).await?;
        Ok(HttpResponseCreated(views::disk(row)?))
    }

    async fn disk_view(
        rqctx: Ctx,
        path: Path<DiskPath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseOk<Disk>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().disk, query.into_inner().project);
        let row = rqctx.context().disk(&opctx, &selector, Action::Read).await?;
        Ok(HttpResponseOk(views::disk(row)?))
    }

    async fn disk_delete(
        rqctx: Ctx,
        path: Path<DiskPath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseDeleted, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().disk, query.into_inner().project);
        rqctx.context().disk_delete(&opctx, &selector).await?;
        Ok(HttpResponseDeleted())
    }

    async fn disk_bulk_write_import_start(
        rqctx: Ctx,
        path: Path<DiskPath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().disk, query.into_inner().project);
        rqctx.context().disk_import_start(&opctx, &selector).await?;
        Ok(HttpResponseUpdatedNoContent())
    }

    async fn disk_bulk_write_import(
        rqctx: Ctx,
        path: Path<DiskPath>,
        query: Query<OptionalProjectSelector>,
        body: TypedBody<ImportBlocksBulkWrite>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().disk, query.into_inner().project);
        rqctx.context().disk_import_write(&opctx, &selector, body.into_inner()).await?;
        Ok(HttpResponseUpdatedNoContent())
    }

    async fn disk_bulk_write_import_stop(
        rqctx: Ctx,
        path: Path<DiskPath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().disk, query.into_inner().project);
        rqctx.context().disk_import_stop(&opctx, &selector).await?;
        Ok(HttpResponseUpdatedNoContent())
    }

    async fn disk_finalize_import(
        rqctx: Ctx,
        path: Path<DiskPath>,
        query: Query<OptionalProjectSelector>,
        body: TypedBody<FinalizeDisk>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().disk, query.into_inner().project);
        rqctx.context().disk_finalize_import(&opctx, &selector, body.into_inner()).await?;
        Ok(HttpResponseUpdatedNoContent())
    }

    async fn snapshot_list(
        rqctx: Ctx,
        query: Query<ListByNameOrId<ProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<Snapshot>>, HttpError> {
        let page = NameOrIdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let rows =
            rqctx.context().snapshot_list(&opctx, &page.selector.project, page.by.clone()).await?;
        let items = rows.into_iter().map(views::snapshot).collect();
        Ok(HttpResponseOk(page.results(items)?))
    }

    async fn snapshot_create(
        rqctx: Ctx,
        query: Query<ProjectSelector>,
        body: TypedBody<SnapshotCreate>,
    ) -> Result<HttpResponseCreated<Snapshot>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let project = query.into_inner().project;
        let row = rqctx.context().snapshot_create(&opctx, &project, body.into_inner()).await?;
        Ok(HttpResponseCreated(views::snapshot(row)))
    }

    async fn snapshot_view(
        rqctx: Ctx,
        path: Path<SnapshotPath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseOk<Snapshot>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().snapshot, query.into_inner().project);
        let row = rqctx.context().snapshot(&opctx, &selector, Action::Read).await?;
        Ok(HttpResponseOk(views::snapshot(row)))
    }

    async fn snapshot_delete(
        rqctx: Ctx,
        path: Path<SnapshotPath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseDeleted, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().snapshot, query.into_inner().project);
        rqctx.context().snapshot_delete(&opctx, &selector).await?;
        Ok(HttpResponseDeleted())
    }

    async fn image_list(
        rqctx: Ctx,
        query: Query<ListByNameOrId<ImageSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<Image>>, HttpError> {
        let page = NameOrIdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let project = page.selector.project.as_ref();
        let rows = rqctx.context().image_list(&opctx, project, page.by.clone()).await?;
        Ok(HttpResponseOk(page.results(each(rows, views::image)?)?))
    }

    async fn image_create(
        rqctx: Ctx,
        query: Query<ImageSelector>,
        body: TypedBody<ImageCreate>,
    ) -> Result<HttpResponseCreated<Image>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let project = query.into_inner().project;
        let body = body.into_inner();
        let row = rqctx.context().image_create(&opctx, project.as_ref(), body).await?;
        Ok(HttpResponseCreated(views::image(row)?))
    }

    async fn image_view(
        rqctx: Ctx,
        path: Path<ImagePath>,
        query: Query<ImageSelector>,
    ) -> Result<HttpResponseOk<Image>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().image, query.into_inner().project);
        let row = rqctx.context().image(&opctx, &selector, Action::Read).await?;
        Ok(HttpResponseOk(views::image(row)?))
    }

    async fn image_delete(
        rqctx: Ctx,
        path: Path<ImagePath>,
        query: Query<ImageSelector>,
    ) -> Result<HttpResponseDeleted, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().image, query.into_inner().project);
        rqctx.context().image_delete(&opctx, &selector).await?;
        Ok(HttpResponseDeleted())
    }

    async fn image_promote(
        rqctx: Ctx,
        path: Path<ImagePath>,
        query: Query<ImageSelector>,
    ) -> Result<HttpResponseAccepted<Image>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().image, query.into_inner().project);
        let row = rqctx.context().image_promote(&opctx, &selector).await?;
        Ok(HttpResponseAccepted(views::image(row)?))
    }

    async fn image_demote(
        rqctx: Ctx,
        path: Path<ImagePath>,
        query: Query<ProjectSelector>,
    ) -> Result<HttpResponseAccepted<Image>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let image = path.into_inner().image;
        let project = query.into_inner().project;
        let row = rqctx.context().image_demote(&opctx, image, &project).await?;
        Ok(HttpResponseAccepted(views::image(row)?))
    }

    async fn audit_log_list(
        rqctx: Ctx,
        query: Query<ListByTime<AuditLogRange>>,
    ) -> Result<HttpResponseOk<ResultsPage<AuditLogEntry>>, HttpError> {
        let page = TimePage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let AuditLogRange { start_time, end_time } = page.selector.clone();
        let by = page.by.clone();
        let rows = rqctx.context().audit_log_list(&opctx, start_time, end_time, by).await?;
        let items = each(rows, views::audit_log_entry)?;
        Ok(HttpResponseOk(page.results(items, |entry| (entry.time_completed, entry.id))?))
    }

    async fn vpc_list(
        rqctx: Ctx,
        query: Query<ListByNameOrId<ProjectSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<Vpc>>, HttpError> {
        let page = NameOrIdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let rows =
            rqctx.context().vpc_list(&opctx, &page.selector.project, page.by.clone()).await?;
        let items = each(rows, views::vpc)?;
        Ok(HttpResponseOk(page.results(items)?))
    }

    async fn vpc_view(
        rqctx: Ctx,
        path: Path<VpcPath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseOk<Vpc>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().vpc, query.into_inner().project);
        let row = rqctx.context().vpc(&opctx, &selector, Action::Read).await?;
        Ok(HttpResponseOk(views::vpc(row)?))
    }

    async fn vpc_create(
        rqctx: Ctx,
        query: Query<ProjectSelector>,
        body: TypedBody<VpcCreate>,
    ) -> Result<HttpResponseCreated<Vpc>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let project = query.into_inner().project;
        let row = rqctx.context().vpc_create(&opctx, &project, body.into_inner()).await?;
        Ok(HttpResponseCreated(views::vpc(row)?))
    }

    async fn vpc_update(
        rqctx: Ctx,
        path: Path<VpcPath>,
        query: Query<OptionalProjectSelector>,
        body: TypedBody<VpcUpdate>,
    ) -> Result<HttpResponseOk<Vpc>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().vpc, query.into_inner().project);
        let row = rqctx.context().vpc_update(&opctx, &selector, body.into_inner()).await?;
        Ok(HttpResponseOk(views::vpc(row)?))
    }

    async fn vpc_delete(
        rqctx: Ctx,
        path: Path<VpcPath>,
        query: Query<OptionalProjectSelector>,
    ) -> Result<HttpResponseDeleted, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = Selector::new(path.into_inner().vpc, query.into_inner().project);
        rqctx.context().vpc_delete(&opctx, &selector).await?;
        Ok(HttpResponseDeleted())
    }

    async fn vpc_subnet_list(
        rqctx: Ctx,
        query: Query<ListByNameOrId<VpcSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<VpcSubnet>>, HttpError> {
        let page = NameOrIdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let VpcSelector { project, vpc } = page.selector.clone();
        let selector = Selector::new(vpc, project);
        let rows = rqctx.context().subnet_list(&opctx, &selector, page.by.clone()).await?;
        Ok(HttpResponseOk(page.results(each(rows, views::subnet)?)?))
    }

    async fn vpc_subnet_view(
        rqctx: Ctx,
        path: Path<SubnetPath>,
        query: Query<OptionalVpcSelector>,
    ) -> Result<HttpResponseOk<VpcSubnet>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = subnet_selector(path, query.into_inner());
        let row = rqctx.context().subnet(&opctx, selector, Action::Read).await?;
        Ok(HttpResponseOk(views::subnet(row)?))
    }

    async fn vpc_subnet_create(
        rqctx: Ctx,
        query: Query<VpcSelector>,
        body: TypedBody<VpcSubnetCreate>,
    ) -> Result<HttpResponseCreated<VpcSubnet>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let VpcSelector { project, vpc } = query.into_inner();
        let selector = Selector::new(vpc, project);
        let row = rqctx.context().subnet_create(&opctx, &selector, body.into_inner()).await?;
        Ok(HttpResponseCreated(views::subnet(row)?))
    }

    async fn vpc_subnet_update(
        rqctx: Ctx,
        path: Path<SubnetPath>,
        query: Query<OptionalVpcSelector>,
        body: TypedBody<VpcSubnetUpdate>,
    ) -> Result<HttpResponseOk<VpcSubnet>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = subnet_selector(path, query.into_inner());
        let row = rqctx.context().subnet_update(&opctx, selector, body.into_inner()).await?;
        Ok(HttpResponseOk(views::subnet(row)?))
    }

    async fn vpc_subnet_delete(
        rqctx: Ctx,
        path: Path<SubnetPath>,
        query: Query<OptionalVpcSelector>,
    ) -> Result<HttpResponseDeleted, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let selector = subnet_selector(path, query.into_inner());
        rqctx.context().subnet_delete(&opctx, selector).await?;
        Ok(HttpResponseDeleted())
    }

    async fn vpc_subnet_list_network_interfaces(
        rqctx: Ctx,
        path: Path<SubnetPath>,
        query: Query<ListByNameOrId<OptionalVpcSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<InstanceNetworkInterface>>, HttpError> {
        let page = NameOrIdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let selector = subnet_selector(path, page.selector.clone());
        let by = page.by.clone();
        let rows = rqctx.context().subnet_nic_list(&opctx, selector, by, page.tie).await?;
        Ok(HttpResponseOk(page.results_with_ties(each(rows, views::nic)?)?))
    }

    async fn vpc_firewall_rules_view(
        rqctx: Ctx,
        query: Query<VpcSelector>,
    ) -> Result<HttpResponseOk<VpcFirewallRules>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let VpcSelector { project, vpc } = query.into_inner();
        let firewall = rqctx.context().firewall_view(&opctx, &Selector::new(vpc, project)).await?;
        Ok(HttpResponseOk(views::firewall(firewall)))
    }

    async fn vpc_firewall_rules_update(
        rqctx: Ctx,
        query: Query<VpcSelector>,
        body: CompatBody<VpcFirewallRuleUpdateParams>,
    ) -> Result<HttpResponseOk<VpcFirewallRules>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let VpcSelector { project, vpc } = query.into_inner();
        let selector = Selector::new(vpc, project);
        let (body, _) = body.into_parts();
        let firewall = rqctx.context().firewall_update(&opctx, &selector, body).await?;
        Ok(HttpResponseOk(views::firewall(firewall)))
    }

    async fn ip_pool_list(
        rqctx: Ctx,
        query: Query<ListByNameOrId<SiloIpPoolFilter>>,
    ) -> Result<HttpResponseOk<ResultsPage<SiloIpPool>>, HttpError> {
        let page = NameOrIdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let rows = rqctx.context().silo_pool_list(&opctx, &page.selector, page.by.clone()).await?;
        let items = rows.into_iter().map(views::silo_ip_pool).collect();
        Ok(HttpResponseOk(page.results(items)?))
    }

    async fn ip_pool_view(
        rqctx: Ctx,
        path: Path<IpPoolPath>,
    ) -> Result<HttpResponseOk<SiloIpPool>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let found = rqctx.context().silo_pool(&opctx, path.into_inner().pool).await?;
        Ok(HttpResponseOk(views::silo_ip_pool(found)))
    }

    async fn system_ip_pool_list(
        rqctx: Ctx,
        query: Query<ListByNameOrId<IpPoolFilter>>,
    ) -> Result<HttpResponseOk<ResultsPage<IpPool>>, HttpError> {
        let page = NameOrIdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let rows =
            rqctx.context().system_pool_list(&opctx, &page.selector, page.by.clone()).await?;
        let items = rows.into_iter().map(views::ip_pool).collect();
        Ok(HttpResponseOk(page.results(items)?))
    }

    async fn system_ip_pool_list_v0_0_1(
        rqctx: Ctx,
        query: Query<ListByNameOrId<IpPoolFilter>>,
    ) -> Result<HttpResponseOk<ResultsPage<v0_0_1::IpPool>>, HttpError> {
        let page = NameOrIdPage::new(&rqctx, older::pools_of_silos(query))?;
        let opctx = opctx(&rqctx).await?;
        let nexus = rqctx.context();
        let rows = nexus.system_pool_list(&opctx, &page.selector, page.by.clone()).await?;
        let mut items = Vec::with_capacity(rows.len());
        for row in rows {
            items.push(pool_with_link(nexus, &opctx, row).await?);
        }
        let keys = |item: &v0_0_1::IpPool| (item.identity.name.clone(), item.identity.id);
        Ok(HttpResponseOk(page.results_by(items, keys)?))
    }

    async fn system_ip_pool_create_v0_0_1(
        rqctx: Ctx,
        body: TypedBody<v0_0_1::IpPoolCreate>,
    ) -> Result<HttpResponseCreated<v0_0_1::IpPool>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let nexus = rqctx.context();
        let v0_0_1::IpPoolCreate { identity, silo, is_default } = body.into_inner();
        let row = nexus.system_pool_create(&opctx, IpPoolCreate::of_silos(identity)).await?;
        if let Some(silo) = silo {
            let link = IpPoolLinkSilo { silo, is_default };
            if let Err(error) = nexus.pool_silo_link(&opctx, row.id.into(), link).await {
                nexus.system_pool_delete(&opctx, row.id.into()).await?;
                return Err(error.into());
            }
        }
        Ok(HttpResponseCreated(pool_with_link(nexus, &opctx, row).await?))
    }

    async fn system_ip_pool_view_v0_0_1(
        rqctx: Ctx,
        path: Path<IpPoolPath>,
    ) -> Result<HttpResponseOk<v0_0_1::IpPool>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let row = rqctx.context().system_pool(&opctx, path.into_inner().pool).await?;
        Ok(HttpResponseOk(pool_with_link(rqctx.context(), &opctx, row).await?))
    }

    async fn system_ip_pool_update_v0_0_1(
        rqctx: Ctx,
        path: Path<IpPoolPath>,
        body: TypedBody<IpPoolUpdate>,
    ) -> Result<HttpResponseOk<v0_0_1::IpPool>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let pool = path.into_inner().pool;
        let row = rqctx.context().system_pool_update(&opctx, pool, body.into_inner()).await?;
        Ok(HttpResponseOk(pool_with_link(rqctx.context(), &opctx, row).await?))
    }

    async fn system_ip_pool_create(
        rqctx: Ctx,
        body: TypedBody<IpPoolCreate>,
    ) -> Result<HttpResponseCreated<IpPool>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let row = rqctx.context().system_pool_create(&opctx, body.into_inner()).await?;
        Ok(HttpResponseCreated(views::ip_pool(row)))
    }

    async fn system_ip_pool_view(
        rqctx: Ctx,
        path: Path<IpPoolPath>,
    ) -> Result<HttpResponseOk<IpPool>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let pool = path.into_inner().pool;
        let row = rqctx.context().system_pool(&opctx, pool).await?;
        Ok(HttpResponseOk(views::ip_pool(row)))
    }

    async fn system_ip_pool_update(
        rqctx: Ctx,
        path: Path<IpPoolPath>,
        body: TypedBody<IpPoolUpdate>,
    ) -> Result<HttpResponseOk<IpPool>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let pool = path.into_inner().pool;
        let row = rqctx.context().system_pool_update(&opctx, pool, body.into_inner()).await?;
        Ok(HttpResponseOk(views::ip_pool(row)))
    }

    async fn system_ip_pool_delete(
        rqctx: Ctx,
        path: Path<IpPoolPath>,
    ) -> Result<HttpResponseDeleted, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let pool = path.into_inner().pool;
        rqctx.context().system_pool_delete(&opctx, pool).await?;
        Ok(HttpResponseDeleted())
    }

    async fn system_ip_pool_range_list(
        rqctx: Ctx,
        path: Path<IpPoolPath>,
        query: Query<ListByAddress>,
    ) -> Result<HttpResponseOk<ResultsPage<IpPoolRange>>, HttpError> {
        let page = AddressPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let pool = path.into_inner().pool;
        let rows = rqctx.context().pool_range_list(&opctx, pool, page.by.clone()).await?;
        let items = each(rows, views::pool_range)?;
        Ok(HttpResponseOk(page.results(items, |item| item.range.first())?))
    }

    async fn system_ip_pool_range_add(
        rqctx: Ctx,
        path: Path<IpPoolPath>,
        body: TypedBody<IpRange>,
    ) -> Result<HttpResponseCreated<IpPoolRange>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let pool = path.into_inner().pool;
        let row = rqctx.context().pool_range_add(&opctx, pool, body.into_inner()).await?;
        Ok(HttpResponseCreated(views::pool_range(row)?))
    }

    async fn system_ip_pool_range_remove(
        rqctx: Ctx,
        path: Path<IpPoolPath>,
        body: TypedBody<IpRange>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let pool = path.into_inner().pool;
        rqctx.context().pool_range_remove(&opctx, pool, body.into_inner()).await?;
        Ok(HttpResponseUpdatedNoContent())
    }

    async fn system_ip_pool_silo_list(
        rqctx: Ctx,
        path: Path<IpPoolPath>,
        query: Query<ListById>,
    ) -> Result<HttpResponseOk<ResultsPage<IpPoolSiloLink>>, HttpError> {
        let page = IdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let pool = path.into_inner().pool;
        let rows = rqctx.context().pool_silo_list(&opctx, pool, page.by.clone()).await?;
        let items = rows.into_iter().map(views::pool_link).collect();
        Ok(HttpResponseOk(page.results(items, |item: &IpPoolSiloLink| item.silo_id)?))
    }

    async fn system_ip_pool_silo_link(
        rqctx: Ctx,
        path: Path<IpPoolPath>,
        body: TypedBody<IpPoolLinkSilo>,
    ) -> Result<HttpResponseCreated<IpPoolSiloLink>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let pool = path.into_inner().pool;
        let row = rqctx.context().pool_silo_link(&opctx, pool, body.into_inner()).await?;
        Ok(HttpResponseCreated(views::pool_link(row)))
    }

    async fn system_ip_pool_silo_update(
        rqctx: Ctx,
        path: Path<IpPoolSiloPath>,
        body: TypedBody<IpPoolSiloUpdate>,
    ) -> Result<HttpResponseOk<IpPoolSiloLink>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let IpPoolSiloPath { pool, silo } = path.into_inner();
        let is_default = body.into_inner().is_default;
        let row = rqctx.context().pool_silo_update(&opctx, pool, silo, is_default).await?;
        Ok(HttpResponseOk(views::pool_link(row)))
    }

    async fn system_ip_pool_silo_unlink(
        rqctx: Ctx,
        path: Path<IpPoolSiloPath>,
    ) -> Result<HttpResponseDeleted, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let IpPoolSiloPath { pool, silo } = path.into_inner();
        rqctx.context().pool_silo_unlink(&opctx, pool, silo).await?;
        Ok(HttpResponseDeleted())
    }

    async fn system_ip_pool_utilization_view(
        rqctx: Ctx,
        path: Path<IpPoolPath>,
    ) -> Result<HttpResponseOk<IpPoolUtilization>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let pool = path.into_inner().pool;
        let of = rqctx.context().pool_utilization(&opctx, pool).await?;
        Ok(HttpResponseOk(views::pool_utilization(of)))
    }

    async fn system_ip_pool_utilization_view_v20240327(
        rqctx: Ctx,
        path: Path<IpPoolPath>,
    ) -> Result<HttpResponseOk<v2024032700::IpPoolUtilization>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let pool = rqctx.context().system_pool(&opctx, path.into_inner().pool).await?;
        let of = rqctx.context().pool_utilization(&opctx, pool.id.into()).await?;
        Ok(HttpResponseOk(views::pool_utilization_by_version(&pool, of)))
    }

    async fn silo_list(
        rqctx: Ctx,
        query: Query<ListByNameOrId>,
    ) -> Result<HttpResponseOk<ResultsPage<Silo>>, HttpError> {
        let page = NameOrIdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let rows = rqctx.context().silo_list(&opctx, page.by.clone()).await?;
        let items = each(rows, views::silo)?;
        Ok(HttpResponseOk(page.results(items)?))
    }

    async fn silo_view(
        rqctx: Ctx,
        path: Path<SiloPath>,
    ) -> Result<HttpResponseOk<Silo>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let row = rqctx.context().silo(&opctx, path.into_inner().silo).await?;
        Ok(HttpResponseOk(views::silo(row)?))
    }

    async fn silo_create(
        rqctx: Ctx,
        body: TypedBody<SiloCreate>,
    ) -> Result<HttpResponseCreated<Silo>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let row = rqctx.context().silo_create(&opctx, body.into_inner()).await?;
        Ok(HttpResponseCreated(views::silo(row)?))
    }

    async fn silo_delete(
        rqctx: Ctx,
        path: Path<SiloPath>,
    ) -> Result<HttpResponseDeleted, HttpError> {
        let opctx = opctx(&rqctx).await?;
        rqctx.context().silo_delete(&opctx, path.into_inner().silo).await?;
        Ok(HttpResponseDeleted())
    }

    async fn silo_policy_view(
        rqctx: Ctx,
        path: Path<SiloPath>,
    ) -> Result<HttpResponseOk<SiloRolePolicy>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let rows = rqctx.context().silo_policy(&opctx, Some(path.into_inner().silo)).await?;
        Ok(HttpResponseOk(views::policy(rows)?))
    }

    async fn silo_policy_update(
        rqctx: Ctx,
        path: Path<SiloPath>,
        body: TypedBody<SiloRolePolicy>,
    ) -> Result<HttpResponseOk<SiloRolePolicy>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let policy = views::assignments(body.into_inner());
        let rows = rqctx
            .context()
            .silo_policy_update(&opctx, Some(path.into_inner().silo), policy)
            .await?;
        Ok(HttpResponseOk(views::policy(rows)?))
    }

    async fn silo_ip_pool_list(
        rqctx: Ctx,
        path: Path<SiloPath>,
        query: Query<ListByNameOrId>,
    ) -> Result<HttpResponseOk<ResultsPage<SiloIpPool>>, HttpError> {
        let page = NameOrIdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let silo = path.into_inner().silo;
        let rows = rqctx.context().silo_ip_pool_list(&opctx, silo, page.by.clone()).await?;
        let items = rows.into_iter().map(views::silo_ip_pool).collect();
        Ok(HttpResponseOk(page.results(items)?))
    }

    async fn silo_user_list(
        rqctx: Ctx,
        query: Query<ListById<SiloSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<User>>, HttpError> {
        let page = IdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let rows = rqctx
            .context()
            .silo_user_list(&opctx, page.selector.silo.clone(), page.by.clone())
            .await?;
        let items = rows.into_iter().map(views::user).collect();
        Ok(HttpResponseOk(page.results(items, |item: &User| item.id)?))
    }

    async fn silo_user_view(
        rqctx: Ctx,
        path: Path<UserPath>,
        query: Query<SiloSelector>,
    ) -> Result<HttpResponseOk<User>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let silo = query.into_inner().silo;
        let row = rqctx.context().silo_user(&opctx, silo, path.into_inner().user_id).await?;
        Ok(HttpResponseOk(views::user(row)))
    }

    async fn user_builtin_list(
        rqctx: Ctx,
        query: Query<ListByName>,
    ) -> Result<HttpResponseOk<ResultsPage<UserBuiltin>>, HttpError> {
        let page = NamePage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let rows = rqctx.context().user_builtin_list(&opctx, page.by.clone()).await?;
        let items = rows.into_iter().map(views::user_builtin).collect();
        Ok(HttpResponseOk(page.results(items)?))
    }

    async fn user_builtin_view(
        rqctx: Ctx,
        path: Path<BuiltinUserPath>,
    ) -> Result<HttpResponseOk<UserBuiltin>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let row = rqctx.context().user_builtin(&opctx, path.into_inner().user).await?;
        Ok(HttpResponseOk(views::user_builtin(row)))
    }

    async fn local_idp_user_create(
        rqctx: Ctx,
        query: Query<SiloSelector>,
        body: TypedBody<UserCreate>,
    ) -> Result<HttpResponseCreated<User>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let silo = query.into_inner().silo;
        let row = rqctx.context().local_user_create(&opctx, silo, body.into_inner()).await?;
        Ok(HttpResponseCreated(views::user(row)))
    }

    async fn local_idp_user_delete(
        rqctx: Ctx,
        path: Path<UserPath>,
        query: Query<SiloSelector>,
    ) -> Result<HttpResponseDeleted, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let (silo, user) = (query.into_inner().silo, path.into_inner().user_id);
        rqctx.context().local_user_delete(&opctx, silo, user).await?;
        Ok(HttpResponseDeleted())
    }

    async fn local_idp_user_set_password(
        rqctx: Ctx,
        path: Path<UserPath>,
        query: Query<SiloSelector>,
        body: TypedBody<UserPassword>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let (silo, user) = (query.into_inner().silo, path.into_inner().user_id);
        let password = body.into_inner();
        rqctx.context().local_user_set_password(&opctx, silo, user, password).await?;
        Ok(HttpResponseUpdatedNoContent())
    }

    async fn policy_view(rqctx: Ctx) -> Result<HttpResponseOk<SiloRolePolicy>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let rows = rqctx.context().silo_policy(&opctx, None).await?;
        Ok(HttpResponseOk(views::policy(rows)?))
    }

    async fn policy_update(
        rqctx: Ctx,
        body: TypedBody<SiloRolePolicy>,
    ) -> Result<HttpResponseOk<SiloRolePolicy>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let policy = views::assignments(body.into_inner());
        let rows = rqctx.context().silo_policy_update(&opctx, None, policy).await?;
        Ok(HttpResponseOk(views::policy(rows)?))
    }

    async fn auth_settings_view(rqctx: Ctx) -> Result<HttpResponseOk<SiloAuthSettings>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let row = rqctx.context().auth_settings(&opctx).await?;
        Ok(HttpResponseOk(views::auth_settings(row)?))
    }

    async fn auth_settings_update(
        rqctx: Ctx,
        body: TypedBody<SiloAuthSettingsUpdate>,
    ) -> Result<HttpResponseOk<SiloAuthSettings>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let row = rqctx.context().auth_settings_update(&opctx, body.into_inner()).await?;
        Ok(HttpResponseOk(views::auth_settings(row)?))
    }

    async fn user_list(
        rqctx: Ctx,
        query: Query<ListById<GroupFilter>>,
    ) -> Result<HttpResponseOk<ResultsPage<User>>, HttpError> {
        let page = IdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let rows = rqctx.context().user_list(&opctx, page.selector.group, page.by.clone()).await?;
        let items = rows.into_iter().map(views::user).collect();
        Ok(HttpResponseOk(page.results(items, |item: &User| item.id)?))
    }

    async fn user_view(
        rqctx: Ctx,
        path: Path<UserPath>,
    ) -> Result<HttpResponseOk<User>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let id = path.into_inner().user_id;
        let row = rqctx.context().user(&opctx, id, Action::Read).await?;
        Ok(HttpResponseOk(views::user(row)))
    }

    async fn user_token_list(
        rqctx: Ctx,
        path: Path<UserPath>,
        query: Query<ListById>,
    ) -> Result<HttpResponseOk<ResultsPage<DeviceAccessToken>>, HttpError> {
        let page = IdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let rows = rqctx
            .context()
            .user_token_list(&opctx, path.into_inner().user_id, page.by.clone())
            .await?;
        let items = rows.into_iter().map(views::token).collect();
        Ok(HttpResponseOk(page.results(items, |item: &DeviceAccessToken| item.id)?))
    }

    async fn user_session_list(
        rqctx: Ctx,
        path: Path<UserPath>,
        query: Query<ListById>,
    ) -> Result<HttpResponseOk<ResultsPage<ConsoleSession>>, HttpError> {
        let page = IdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let rows = rqctx
            .context()
            .user_session_list(&opctx, path.into_inner().user_id, page.by.clone())
            .await?;
        let items = rows.into_iter().map(views::session).collect();
        Ok(HttpResponseOk(page.results(items, |item: &ConsoleSession| item.id)?))
    }

    async fn user_logout(
        rqctx: Ctx,
        path: Path<UserPath>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError> {
        let opctx = opctx(&rqctx).await?;
        rqctx.context().user_logout(&opctx, path.into_inner().user_id).await?;
        Ok(HttpResponseUpdatedNoContent())
    }

    async fn group_list(
        rqctx: Ctx,
        query: Query<ListById>,
    ) -> Result<HttpResponseOk<ResultsPage<Group>>, HttpError> {
        let page = IdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let rows = rqctx.context().group_list(&opctx, page.by.clone()).await?;
        let items = rows.into_iter().map(views::group).collect();
        Ok(HttpResponseOk(page.results(items, |item: &Group| item.id)?))
    }

    async fn group_view(
        rqctx: Ctx,
        path: Path<GroupPath>,
    ) -> Result<HttpResponseOk<Group>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let row = rqctx.context().group(&opctx, path.into_inner().group_id).await?;
        Ok(HttpResponseOk(views::group(row)))
    }

    async fn current_user_groups(
        rqctx: Ctx,
        query: Query<ListById>,
    ) -> Result<HttpResponseOk<ResultsPage<Group>>, HttpError> {
        let page = IdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let rows = rqctx.context().current_user_groups(&opctx, page.by.clone()).await?;
        let items = rows.into_iter().map(views::group).collect();
        Ok(HttpResponseOk(page.results(items, |item: &Group| item.id)?))
    }

    async fn current_user_access_token_list(
        rqctx: Ctx,
        query: Query<ListById>,
    ) -> Result<HttpResponseOk<ResultsPage<DeviceAccessToken>>, HttpError> {
        let page = IdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let rows = rqctx.context().token_list(&opctx, page.by.clone()).await?;
        let items = rows.into_iter().map(views::token).collect();
        Ok(HttpResponseOk(page.results(items, |item: &DeviceAccessToken| item.id)?))
    }

    async fn current_user_access_token_delete(
        rqctx: Ctx,
        path: Path<TokenPath>,
    ) -> Result<HttpResponseDeleted, HttpError> {
        let opctx = opctx(&rqctx).await?;
        rqctx.context().token_delete(&opctx, path.into_inner().token_id).await?;
        Ok(HttpResponseDeleted())
    }

    async fn project_policy_view(
        rqctx: Ctx,
        path: Path<ProjectPath>,
    ) -> Result<HttpResponseOk<ProjectRolePolicy>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let rows = rqctx.context().project_policy(&opctx, &path.into_inner().project).await?;
        Ok(HttpResponseOk(views::policy(rows)?))
    }

    async fn project_policy_update(
        rqctx: Ctx,
        path: Path<ProjectPath>,
        body: TypedBody<ProjectRolePolicy>,
    ) -> Result<HttpResponseOk<ProjectRolePolicy>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let policy = views::assignments(body.into_inner());
        let rows = rqctx
            .context()
            .project_policy_update(&opctx, &path.into_inner().project, policy)
            .await?;
        Ok(HttpResponseOk(views::policy(rows)?))
    }

    async fn system_policy_view(rqctx: Ctx) -> Result<HttpResponseOk<FleetRolePolicy>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let rows = rqctx.context().fleet_policy(&opctx).await?;
        Ok(HttpResponseOk(views::policy(rows)?))
    }

    async fn system_policy_update(
        rqctx: Ctx,
        body: TypedBody<FleetRolePolicy>,
    ) -> Result<HttpResponseOk<FleetRolePolicy>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let policy = views::assignments(body.into_inner());
        let rows = rqctx.context().fleet_policy_update(&opctx, policy).await?;
        Ok(HttpResponseOk(views::policy(rows)?))
    }

    async fn login_local(
        rqctx: Ctx,
        path: Path<LoginPath>,
        body: TypedBody<UsernamePasswordCredentials>,
    ) -> Result<HttpResponseHeaders<HttpResponseUpdatedNoContent>, HttpError> {
        refuse_cross_site(&rqctx.request)?;
        audit::begin(None).await?;
        let nexus = rqctx.context();
        let token = nexus.login(path.into_inner().silo_name, body.into_inner()).await?;
        let max_age = nexus.config.console.session_absolute_timeout_secs;
        pages::session_cookie(&rqctx, &token, max_age)
    }

    async fn logout(
        rqctx: Ctx,
    ) -> Result<HttpResponseHeaders<HttpResponseUpdatedNoContent>, HttpError> {
        refuse_cross_site(&rqctx.request)?;
        if let Some(token) = session(rqctx.request.headers()) {
            audit::begin(None).await?;
            rqctx.context().logout(token).await?;
        }
        pages::session_cookie(&rqctx, "", 0)
    }

    async fn device_auth_request(
        rqctx: Ctx,
        body: TypedBody<DeviceAuthRequest>,
    ) -> Result<Response<Body>, HttpError> {
        let codes = rqctx.context().device_auth_request(body.into_inner()).await?;
        pages::device_codes(&rqctx, codes)
    }

    async fn device_auth_confirm(
        rqctx: Ctx,
        body: TypedBody<DeviceAuthVerify>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let user_code = body.into_inner().user_code;
        rqctx.context().device_auth_confirm(&opctx, user_code).await?;
        Ok(HttpResponseUpdatedNoContent())
    }

    async fn device_access_token(
        rqctx: Ctx,
        body: TypedBody<DeviceAccessTokenRequest>,
    ) -> Result<Response<Body>, HttpError> {
        let body = body.into_inner();
        let refused = |error| pages::oauth(StatusCode::BAD_REQUEST, &json!({ "error": error }));
        if body.grant_type != DEVICE_CODE_GRANT {
            return refused("unsupported_grant_type");
        }
        let made = rqctx.context().device_auth_token(&body.device_code, body.client_id).await?;
        let Some((secret, token)) = made else { return refused("authorization_pending") };
        let granted = json!({
            "access_token": secret,
            "token_type": "bearer",
            "token_id": token.id,
            "time_expires": token.time_expires,
        });
        pages::oauth(StatusCode::OK, &granted)
    }

    async fn device_verify_page(rqctx: Ctx) -> Result<Response<Body>, HttpError> {
        if console::is_installed(&rqctx) {
            return console::page(&rqctx).await;
        }
        pages::device_verify()
    }

    async fn root_page(rqctx: Ctx) -> Result<Response<Body>, HttpError> {
        if console::is_installed(&rqctx) { console::page(&rqctx).await } else { pages::root() }
    }

    async fn projects_page(rqctx: Ctx, _path: Path<PagePath>) -> Result<Response<Body>, HttpError> {
        console::page(&rqctx).await
    }

    async fn projects_new_page(rqctx: Ctx) -> Result<Response<Body>, HttpError> {
        console::page(&rqctx).await
    }

    async fn settings_page(rqctx: Ctx, _path: Path<PagePath>) -> Result<Response<Body>, HttpError> {
        console::page(&rqctx).await
    }

    async fn system_page(rqctx: Ctx, _path: Path<PagePath>) -> Result<Response<Body>, HttpError> {
        console::page(&rqctx).await
    }

    async fn lookup_page(rqctx: Ctx, _path: Path<PagePath>) -> Result<Response<Body>, HttpError> {
        console::page(&rqctx).await
    }

    async fn images_page(rqctx: Ctx) -> Result<Response<Body>, HttpError> {
        console::page(&rqctx).await
    }

    async fn utilization_page(rqctx: Ctx) -> Result<Response<Body>, HttpError> {
        console::page(&rqctx).await
    }

    async fn access_page(rqctx: Ctx) -> Result<Response<Body>, HttpError> {
        console::page(&rqctx).await
    }

    async fn device_success_page(rqctx: Ctx) -> Result<Response<Body>, HttpError> {
        console::page(&rqctx).await
    }

    async fn login_local_page(
        rqctx: Ctx,
        _path: Path<LoginPagePath>,
    ) -> Result<Response<Body>, HttpError> {
        console::login_page(&rqctx).await
    }

    async fn login_saml_page(
        rqctx: Ctx,
        _path: Path<LoginSamlPagePath>,
    ) -> Result<Response<Body>, HttpError> {
        console::login_page(&rqctx).await
    }

    async fn asset(rqctx: Ctx, path: Path<PagePath>) -> Result<Response<Body>, HttpError> {
        console::asset(&rqctx, &path.into_inner().path).await
    }

    async fn login_page(
        rqctx: Ctx,
        query: Query<LoginPageQuery>,
    ) -> Result<Response<Body>, HttpError> {
        console::login(&rqctx, query.into_inner().redirect_uri).await
    }

    async fn silo_quotas_view(
        rqctx: Ctx,
        path: Path<SiloPath>,
    ) -> Result<HttpResponseOk<SiloQuotas>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let found = rqctx.context().silo_quotas(&opctx, path.into_inner().silo).await?;
        Ok(HttpResponseOk(views::quotas(found)))
    }

    async fn silo_quotas_update(
        rqctx: Ctx,
        path: Path<SiloPath>,
        body: TypedBody<SiloQuotasUpdate>,
    ) -> Result<HttpResponseOk<SiloQuotas>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let silo = path.into_inner().silo;
        let found = rqctx.context().silo_quotas_update(&opctx, silo, body.into_inner()).await?;
        Ok(HttpResponseOk(views::quotas(found)))
    }

    async fn system_quotas_list(
        rqctx: Ctx,
        query: Query<ListById>,
    ) -> Result<HttpResponseOk<ResultsPage<SiloQuotas>>, HttpError> {
        let page = IdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let rows = rqctx.context().silo_quotas_list(&opctx, page.by.clone()).await?;
        let items = rows.into_iter().map(views::quotas).collect();
        Ok(HttpResponseOk(page.results(items, |item: &SiloQuotas| item.silo_id)?))
    }

    async fn utilization_view(rqctx: Ctx) -> Result<HttpResponseOk<Utilization>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let of = rqctx.context().utilization(&opctx).await?;
        Ok(HttpResponseOk(views::utilization(of)))
    }

    async fn silo_utilization_list(
        rqctx: Ctx,
        query: Query<ListByNameOrId>,
    ) -> Result<HttpResponseOk<ResultsPage<SiloUtilization>>, HttpError> {
        let page = NameOrIdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let rows = rqctx.context().silo_utilization_list(&opctx, page.by.clone()).await?;
        let items = rows.into_iter().map(views::silo_utilization).collect();
        let keys = |item: &SiloUtilization| (item.silo_name.clone(), item.silo_id);
        Ok(HttpResponseOk(page.results_by(items, keys)?))
    }

    async fn silo_utilization_view(
        rqctx: Ctx,
        path: Path<SiloPath>,
    ) -> Result<HttpResponseOk<SiloUtilization>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let of = rqctx.context().silo_utilization(&opctx, path.into_inner().silo).await?;
        Ok(HttpResponseOk(views::silo_utilization(of)))
    }

    async fn sled_list(
        rqctx: Ctx,
        query: Query<ListById>,
    ) -> Result<HttpResponseOk<ResultsPage<Sled>>, HttpError> {
        let page = IdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let rows = rqctx.context().sled_list(&opctx, page.by.clone()).await?;
        let items = rows.into_iter().map(views::sled).collect();
        Ok(HttpResponseOk(page.results(items, |item: &Sled| item.id)?))
    }

    async fn sled_view(
        rqctx: Ctx,
        path: Path<SledPath>,
    ) -> Result<HttpResponseOk<Sled>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let row = rqctx.context().sled_view(&opctx, path.into_inner().sled_id).await?;
        Ok(HttpResponseOk(views::sled(row)))
    }

    async fn sled_instance_list(
        rqctx: Ctx,
        path: Path<SledPath>,
        query: Query<ListById>,
    ) -> Result<HttpResponseOk<ResultsPage<SledInstance>>, HttpError> {
        let page = IdPage::new(&rqctx, query)?;
        let opctx = opctx(&rqctx).await?;
        let sled = path.into_inner().sled_id;
        let rows = rqctx.context().sled_instance_list(&opctx, sled, page.by.clone()).await?;
        let items = rows.into_iter().map(views::sled_instance).collect();
        Ok(HttpResponseOk(page.results(items, |item: &SledInstance| item.id)?))
    }

    async fn sled_set_provision_policy(
        rqctx: Ctx,
        path: Path<SledPath>,
        body: TypedBody<SledProvisionPolicyParams>,
    ) -> Result<HttpResponseOk<SledProvisionPolicyResponse>, HttpError> {
        let opctx = opctx(&rqctx).await?;
        let sled = path.into_inner().sled_id;
        let new_state = body.into_inner().state;
        let policy = views::stored_provision_policy(new_state);
        let before = rqctx.context().sled_set_provision_policy(&opctx, sled, policy).await?;
        let old_state = views::provision_policy(before);
        Ok(HttpResponseOk(SledProvisionPolicyResponse { old_state, new_state }))
    }
}
