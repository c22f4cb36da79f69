//! Sleds: as they register themselves, and as operators see them.

use super::authz::{Action, Object};
use super::{Nexus, OpContext};
use crate::db::sled::SledInstance;
use db_model::{ProvisionPolicy, Sled};
use nexus_common::{Error, PageParams, ResourceType};
use uuid::Uuid;

impl Nexus {
    /// Takes in a sled's registration.
    pub async fn sled_register(&self, sled: Sled) -> Result<(), Error> {
        self.datastore.sled_upsert(sled).await
    }

    /// A page of all sleds.
    pub async fn sled_list(
        &self,
        opctx: &OpContext,
        page: PageParams<Uuid>,
    ) -> Result<Vec<Sled>, Error> {
        opctx.authorize_open(Action::ListChildren, Object::Fleet)?;
        self.datastore.sled_page(page).await
    }

    /// A sled, for an operator who may do this to it. It does not exist for anybody else.
    async fn sled_for(&self, opctx: &OpContext, id: Uuid, action: Action) -> Result<Sled, Error> {
        let missing = || Error::not_found(ResourceType::Sled, id);
        opctx.authorize(action, Object::Fleet, missing)?;
        self.sled(id).await
    }

    /// A sled, for an operator.
    pub async fn sled_view(&self, opctx: &OpContext, id: Uuid) -> Result<Sled, Error> {
        self.sled_for(opctx, id, Action::Read).await
    }

    /// A page of the instances that run on a sled.
    pub async fn sled_instance_list(
        &self,
        opctx: &OpContext,
        id: Uuid,
        page: PageParams<Uuid>,
    ) -> Result<Vec<SledInstance>, Error> {
        let sled = self.sled_view(opctx, id).await?;
        self.datastore.sled_instances(sled.id, page).await
    }

    /// Sets whether new instances are placed on a sled. Returns what was before.
    pub async fn sled_set_provision_policy(
        &self,
        opctx: &OpContext,
        id: Uuid,
        policy: ProvisionPolicy,
    ) -> Result<ProvisionPolicy, Error> {
        let sled = self.sled_for(opctx, id, Action::Modify).await?;
        self.datastore.sled_set_provision_policy(sled.id, policy).await
    }

    /// A sled.
    pub async fn sled(&self, id: Uuid) -> Result<Sled, Error> {
        self.datastore.sled_fetch(id).await
    }
}
