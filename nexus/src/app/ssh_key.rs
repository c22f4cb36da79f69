//! SSH keys: each user has its own, and sees no other.

use super::authz::Action;
use super::{Nexus, OpContext, Selector, check_description, check_text};
use crate::db::now;
use db_model::SshKey;
use nexus_api::types::SshKeyCreate;
use nexus_common::{Error, NameOrId, PageBy};
use uuid::Uuid;

/// The most characters of a public key.
const PUBLIC_KEY_MAX: usize = 4096;

impl Nexus {
    /// A page of the actor's keys.
    pub async fn ssh_key_list(
        &self,
        opctx: &OpContext,
        page: PageBy,
    ) -> Result<Vec<SshKey>, Error> {
        self.datastore.ssh_key_list(opctx.actor()?.user_id, page).await
    }

    /// Keeps a key for the actor.
    pub async fn ssh_key_create(
        &self,
        opctx: &OpContext,
        body: SshKeyCreate,
    ) -> Result<SshKey, Error> {
        let silo_user_id = opctx.actor()?.user_id;
        check_description(&body.identity.description)?;
        check_text("public_key", &body.public_key, PUBLIC_KEY_MAX)?;
        let created = now();
        let row = SshKey {
            id: Uuid::new_v4(),
            silo_user_id,
            name: body.identity.name.into(),
            description: body.identity.description,
            public_key: body.public_key,
            time_created: created,
            time_modified: created,
            time_deleted: None,
        };
        self.datastore.ssh_key_create(row).await
    }

    /// A key of the actor's.
    pub async fn ssh_key(&self, opctx: &OpContext, key: NameOrId) -> Result<SshKey, Error> {
        self.datastore.ssh_key_fetch(opctx.actor()?.user_id, key).await
    }

    /// Deletes a key of the actor's.
    pub async fn ssh_key_delete(&self, opctx: &OpContext, key: NameOrId) -> Result<(), Error> {
        let key = self.ssh_key(opctx, key).await?;
        self.datastore.ssh_key_delete(key.id).await
    }

    /// A page of the keys that an instance was made with.
    pub async fn instance_ssh_key_list(
        &self,
        opctx: &OpContext,
        instance: &Selector,
        page: PageBy,
    ) -> Result<Vec<SshKey>, Error> {
        let found = self.instance(opctx, instance, Action::ListChildren).await?;
        self.datastore.instance_ssh_key_list(found.instance.id, page).await
    }
}
