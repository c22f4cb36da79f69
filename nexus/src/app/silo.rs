//! Silos: tenants that know nothing of each other.

use super::authz::{Action, Object};
use super::quotas::check_cpus;
use super::{Nexus, OpContext, check_description};
use crate::db::ip_pool::PoolFilter;
use crate::db::now;
use db_model::{IpPool, Silo, SiloQuotas};
use nexus_api::types::{SiloAuthSettingsUpdate, SiloCreate, SiloIdentityMode};
use nexus_common::{Error, NameOrId, PageBy, ResourceType};
use uuid::Uuid;

/// The most characters of the name of a group.
const GROUP_NAME_MAX: usize = 255;

/// Refuses what no silo here can have.
fn check(body: &SiloCreate) -> Result<(), Error> {
    check_description(&body.identity.description)?;
    if body.identity_mode != SiloIdentityMode::LocalOnly {
        return Err(Error::invalid_value(
            "identity_mode",
            "only \"local_only\" is supported: users that the system itself keeps",
        ));
    }
    if !body.tls_certificates.is_empty() {
        let message = "certificates of silos are not supported; give an empty list";
        return Err(Error::invalid_value("tls_certificates", message));
    }
    check_cpus(body.quotas.cpus)?;
    if let Some(name) = &body.admin_group_name {
        let length = name.chars().count();
        if length == 0 || length > GROUP_NAME_MAX || name.contains('\0') {
            let message = format!("a group's name has 1 to {GROUP_NAME_MAX} characters, none NUL");
            return Err(Error::invalid_value("admin_group_name", message));
        }
    }
    Ok(())
}

impl Nexus {
    /// A page of all silos.
    pub async fn silo_list(&self, opctx: &OpContext, page: PageBy) -> Result<Vec<Silo>, Error> {
        opctx.authorize_open(Action::ListChildren, Object::Fleet)?;
        self.datastore.silo_list(page).await
    }

    /// A silo: the actor's own, or any for an operator.
    pub async fn silo(&self, opctx: &OpContext, silo: NameOrId) -> Result<Silo, Error> {
        self.silo_for(opctx, silo, Action::Read).await
    }

    /// A silo, for an actor who may do this to it.
    pub(super) async fn silo_for(
        &self,
        opctx: &OpContext,
        silo: NameOrId,
        action: Action,
    ) -> Result<Silo, Error> {
        opctx.actor()?;
        let missing = Error::not_found(ResourceType::Silo, &silo);
        let silo = self.datastore.silo_fetch(silo).await?;
        opctx.authorize(action, Object::Silo { id: silo.id }, || missing)?;
        Ok(silo)
    }

    /// Makes a silo.
    pub async fn silo_create(&self, opctx: &OpContext, body: SiloCreate) -> Result<Silo, Error> {
        opctx.authorize_open(Action::CreateChild, Object::Fleet)?;
        if !body.mapped_fleet_roles.is_empty() {
            // Who may give roles on the fleet may also say what they come with.
            opctx.authorize_open(Action::Modify, Object::Fleet)?;
        }
        check(&body)?;
        let (id, created) = (Uuid::new_v4(), now());
        let quotas = SiloQuotas {
            silo_id: id,
            cpus: body.quotas.cpus,
            memory: body.quotas.memory.to_stored(),
            storage: body.quotas.storage.to_stored(),
            time_created: created,
            time_modified: created,
        };
        let row = Silo {
            id,
            name: body.identity.name.into(),
            description: body.identity.description,
            time_created: created,
            time_modified: created,
            time_deleted: None,
            discoverable: body.discoverable,
            admin_group_name: body.admin_group_name,
            mapped_fleet_roles: serde_json::to_value(body.mapped_fleet_roles)
                .map_err(Error::internal)?,
            device_token_max_ttl_seconds: None,
        };
        self.datastore.silo_create(row, quotas).await
    }

    /// Deletes a silo that has no projects.
    pub async fn silo_delete(&self, opctx: &OpContext, silo: NameOrId) -> Result<(), Error> {
        let silo = self.silo_for(opctx, silo, Action::Delete).await?;
        self.datastore.silo_delete(silo.id).await
    }

    /// A page of the pools that are linked to a silo, each with whether it is a default.
    pub async fn silo_ip_pool_list(
        &self,
        opctx: &OpContext,
        silo: NameOrId,
        page: PageBy,
    ) -> Result<Vec<(IpPool, bool)>, Error> {
        let silo = self.silo(opctx, silo).await?;
        self.datastore.silo_pool_list(silo.id, PoolFilter::default(), page).await
    }

    /// How users of the actor's silo may authenticate.
    pub async fn auth_settings(&self, opctx: &OpContext) -> Result<Silo, Error> {
        let silo = opctx.actor()?.silo_id;
        self.silo_for(opctx, silo.into(), Action::Read).await
    }

    /// Changes how users of the actor's silo may authenticate.
    pub async fn auth_settings_update(
        &self,
        opctx: &OpContext,
        body: SiloAuthSettingsUpdate,
    ) -> Result<Silo, Error> {
        let silo = opctx.actor()?.silo_id;
        let silo = self.silo_for(opctx, silo.into(), Action::Modify).await?;
        let seconds = body.device_token_max_ttl_seconds.map(|seconds| i64::from(seconds.get()));
        self.datastore.silo_set_token_ttl(silo.id, seconds).await
    }
}
