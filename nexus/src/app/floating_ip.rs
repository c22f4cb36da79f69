//! Floating IPs, and the ephemeral IPs of instances.

use super::authz::{Action, Object};
use super::{Nexus, OpContext, Selector, check_description, identity_update};
use crate::db::address::{AddressRequest, PoolRequest};
use crate::db::external_ip::NewFloatingIp;
use crate::sagas::{external_ip_attach as attach, external_ip_detach as detach};
use db_model::{ExternalIp, IpKind, IpState};
use nexus_api::compat::Legacy;
use nexus_api::types::{AddressAllocator, FloatingIpCreate, FloatingIpUpdate, PoolSelector};
use nexus_common::{Error, IpVersion, NameOrId, PageBy, ResourceType};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// The longest that a request waits for another one that is doing the same.
const SAME_REQUEST_WAIT: Duration = Duration::from_secs(20);
/// Pause between two looks.
const SAME_REQUEST_POLL: Duration = Duration::from_millis(50);

/// The pool that a request means.
pub(super) fn pool_request(selector: PoolSelector, legacy: &Legacy) -> PoolRequest {
    match selector {
        PoolSelector::Explicit { pool } => PoolRequest::Pool(pool),
        PoolSelector::Auto { ip_version: None } if legacy.prefers_ipv4 => {
            PoolRequest::DefaultPreferV4
        }
        PoolSelector::Auto { ip_version } => PoolRequest::Default(ip_version),
    }
}

impl Nexus {
    /// A page of a project's floating IPs.
    pub async fn floating_ip_list(
        &self,
        opctx: &OpContext,
        project: &NameOrId,
        page: PageBy,
    ) -> Result<Vec<ExternalIp>, Error> {
        let project = self.project(opctx, project, Action::ListChildren).await?;
        self.datastore.floating_ip_list(project.id, page).await
    }

    /// Makes a floating IP.
    pub async fn floating_ip_create(
        &self,
        opctx: &OpContext,
        project: &NameOrId,
        body: FloatingIpCreate,
        legacy: Legacy,
    ) -> Result<ExternalIp, Error> {
        let project = self.project(opctx, project, Action::CreateChild).await?;
        check_description(&body.identity.description)?;
        let address = match body.address_allocator {
            AddressAllocator::Explicit { ip } => AddressRequest::Explicit { ip, pool: legacy.pool },
            AddressAllocator::Auto { pool_selector } => {
                AddressRequest::Lowest(pool_request(pool_selector, &legacy))
            }
        };
        let new = NewFloatingIp {
            id: Uuid::new_v4(),
            silo_id: project.silo_id,
            project_id: project.id,
            name: body.identity.name.into(),
            description: body.identity.description,
            address,
        };
        self.datastore.floating_ip_create(new).await
    }

    /// Renames a floating IP, or changes its description.
    pub async fn floating_ip_update(
        &self,
        opctx: &OpContext,
        selector: &Selector,
        body: FloatingIpUpdate,
    ) -> Result<ExternalIp, Error> {
        let ip = self.floating_ip(opctx, selector, Action::Modify).await?;
        let change = identity_update(body.identity)?;
        self.datastore.floating_ip_update(ip.id, change).await
    }

    /// Deletes a floating IP that is not attached.
    pub async fn floating_ip_delete(
        &self,
        opctx: &OpContext,
        selector: &Selector,
    ) -> Result<(), Error> {
        let ip = self.floating_ip(opctx, selector, Action::Delete).await?;
        self.datastore.floating_ip_delete(ip.id).await
    }

    /// Attaches a floating IP to an instance of its project.
    pub async fn floating_ip_attach(
        &self,
        opctx: &OpContext,
        selector: &Selector,
        parent: &NameOrId,
    ) -> Result<ExternalIp, Error> {
        let ip = self.floating_ip(opctx, selector, Action::Modify).await?;
        let instance =
            self.instance_in(opctx, Some(ip.project_id), parent, Action::Modify).await?.instance;
        if instance.project_id != ip.project_id {
            let message = "floating IP must be in the same project as the instance";
            return Err(Error::invalid(message));
        }
        let wanted = |now: &ExternalIp| {
            now.instance_id == Some(instance.id) && now.state == IpState::Attaching
        };
        self.wait_while(ip.id, wanted).await?;
        let params = attach::Params {
            what: attach::Attach::Floating,
            ip_id: ip.id,
            instance_id: instance.id,
        };
        let dag = attach::dag().map_err(Error::internal)?;
        let done = self.sagas.run(dag, &params).await?;
        done.saga_output().map_err(Error::internal)
    }

    /// Detaches a floating IP from the instance that has it, if one does.
    pub async fn floating_ip_detach(
        &self,
        opctx: &OpContext,
        selector: &Selector,
    ) -> Result<ExternalIp, Error> {
        let ip = self.floating_ip(opctx, selector, Action::Modify).await?;
        let ip = self.wait_while(ip.id, |now| now.state == IpState::Detaching).await?;
        let Some(instance_id) = ip.instance_id else { return Ok(ip) };
        let instance = self.datastore.instance_by_id(instance_id).await?;
        let object =
            Object::InProject { silo_id: instance.silo_id, project_id: instance.project_id };
        let missing = || Error::not_found(ResourceType::Instance, instance_id);
        opctx.authorize(Action::Modify, object, missing)?;
        let params =
            detach::Params { what: detach::Detach::Floating { ip_id: ip.id }, instance_id };
        let dag = detach::dag().map_err(Error::internal)?;
        self.sagas.run(dag, &params).await?;
        self.datastore.floating_ip_fetch(None, ip.id.into()).await
    }

    /// Waits while a floating IP is in the middle of what is asked for, so that asking twice is
    /// like asking once. Returns the address as it is then.
    async fn wait_while(
        &self,
        id: Uuid,
        in_progress: impl Fn(&ExternalIp) -> bool,
    ) -> Result<ExternalIp, Error> {
        let started = Instant::now();
        loop {
            let ip = self.datastore.floating_ip_fetch(None, id.into()).await?;
            if !in_progress(&ip) {
                return Ok(ip);
            }
            if started.elapsed() > SAME_REQUEST_WAIT {
                return Err(Error::busy(format!("the floating IP is {}", ip.state)));
            }
            tokio::time::sleep(SAME_REQUEST_POLL).await;
        }
    }

    /// The external addresses of an instance that are attached.
    pub async fn instance_external_ip_list(
        &self,
        opctx: &OpContext,
        instance: &Selector,
    ) -> Result<Vec<ExternalIp>, Error> {
        let found = self.instance(opctx, instance, Action::Read).await?;
        let mut ips = self.datastore.instance_external_ips(found.instance.id).await?;
        ips.retain(|ip| ip.state == IpState::Attached);
        ips.sort_by_key(|ip| (ip.kind, ip.ip));
        Ok(ips)
    }

    /// Gives an instance an ephemeral IP; the one of that version that it has, if it has one.
    pub async fn ephemeral_ip_attach(
        &self,
        opctx: &OpContext,
        instance: &Selector,
        pool: PoolSelector,
        legacy: Legacy,
    ) -> Result<ExternalIp, Error> {
        let found = self.instance(opctx, instance, Action::Modify).await?;
        let pool = pool_request(pool, &legacy);
        let params = attach::Params {
            what: attach::Attach::Ephemeral { pool },
            ip_id: Uuid::new_v4(),
            instance_id: found.instance.id,
        };
        self.while_busy_with_same(found.instance.id, || async {
            let dag = attach::dag().map_err(Error::internal)?;
            let done = self.sagas.run(dag, &params).await?;
            done.saga_output().map_err(Error::internal)
        })
        .await
    }

    /// Takes an ephemeral IP from an instance: the one of this version, or the only one.
    pub async fn ephemeral_ip_detach(
        &self,
        opctx: &OpContext,
        instance: &Selector,
        version: Option<IpVersion>,
    ) -> Result<(), Error> {
        let found = self.instance(opctx, instance, Action::Modify).await?;
        let params = detach::Params {
            what: detach::Detach::Ephemeral { version: version.map(Into::into) },
            instance_id: found.instance.id,
        };
        let dag = detach::dag().map_err(Error::internal)?;
        self.sagas.run(dag, &params).await?;
        Ok(())
    }

    /// Runs an ephemeral attach again for as long as it finds another one of the same instance
    /// under way, whose outcome is the answer.
    async fn while_busy_with_same<F, Fut>(
        &self,
        instance_id: Uuid,
        mut run: F,
    ) -> Result<ExternalIp, Error>
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<ExternalIp, Error>>,
    {
        let started = Instant::now();
        loop {
            let error = match run().await {
                Err(error @ Error::Busy { .. }) => error,
                other => return other,
            };
            let ips = self.datastore.instance_external_ips(instance_id).await?;
            let attaching =
                |ip: &ExternalIp| ip.kind == IpKind::Ephemeral && ip.state == IpState::Attaching;
            if !ips.iter().any(attaching) || started.elapsed() > SAME_REQUEST_WAIT {
                return Err(error);
            }
            tokio::time::sleep(SAME_REQUEST_POLL).await;
        }
    }
}
