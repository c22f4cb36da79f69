//! Users and groups of silos.

use super::authz::{Action, Object};
use super::{Actor, Nexus, OpContext};
use crate::db::now;
use db_model::{SiloGroup, SiloUser, UserBuiltin};
use nexus_api::types::{UserCreate, UserPassword};
use nexus_common::{Error, Name, NameOrId, PageParams, ResourceType};
use uuid::Uuid;

impl Nexus {
    /// The user who asks.
    pub fn current_user<'a>(&self, opctx: &'a OpContext) -> Result<&'a Actor, Error> {
        opctx.actor()
    }

    /// A page of the groups of the user who asks.
    pub async fn current_user_groups(
        &self,
        opctx: &OpContext,
        page: PageParams<Uuid>,
    ) -> Result<Vec<SiloGroup>, Error> {
        let actor = opctx.actor()?;
        self.datastore.group_list(actor.silo_id, Some(actor.user_id), page).await
    }

    /// A page of the users of the actor's silo; only of a group's members, if one is given.
    pub async fn user_list(
        &self,
        opctx: &OpContext,
        group: Option<Uuid>,
        page: PageParams<Uuid>,
    ) -> Result<Vec<SiloUser>, Error> {
        let silo_id = opctx.actor()?.silo_id;
        opctx.authorize_open(Action::ListChildren, Object::SiloUsers { silo_id })?;
        if let Some(group) = group {
            self.group(opctx, group).await?;
        }
        self.datastore.user_list(silo_id, group, page).await
    }

    /// A user of the actor's silo, for an actor who may do this to it.
    pub async fn user(
        &self,
        opctx: &OpContext,
        id: Uuid,
        action: Action,
    ) -> Result<SiloUser, Error> {
        self.user_of(opctx, opctx.actor()?.silo_id, id, action).await
    }

    /// A user of a silo, for an actor who may do this to it.
    pub(super) async fn user_of(
        &self,
        opctx: &OpContext,
        silo_id: Uuid,
        id: Uuid,
        action: Action,
    ) -> Result<SiloUser, Error> {
        let user = self.datastore.user_fetch(silo_id, id).await?;
        let missing = || Error::not_found(ResourceType::SiloUser, id);
        opctx.authorize(action, Object::SiloUser { silo_id, id }, missing)?;
        Ok(user)
    }

    /// A page of the groups of the actor's silo.
    pub async fn group_list(
        &self,
        opctx: &OpContext,
        page: PageParams<Uuid>,
    ) -> Result<Vec<SiloGroup>, Error> {
        let silo_id = opctx.actor()?.silo_id;
        opctx.authorize_open(Action::ListChildren, Object::SiloUsers { silo_id })?;
        self.datastore.group_list(silo_id, None, page).await
    }

    /// A group of the actor's silo.
    pub async fn group(&self, opctx: &OpContext, id: Uuid) -> Result<SiloGroup, Error> {
        let silo_id = opctx.actor()?.silo_id;
        let group = self.datastore.group_fetch(silo_id, id).await?;
        let missing = || Error::not_found(ResourceType::SiloGroup, id);
        opctx.authorize(Action::Read, Object::SiloUsers { silo_id }, missing)?;
        Ok(group)
    }

    /// A page of the users of a silo.
    pub async fn silo_user_list(
        &self,
        opctx: &OpContext,
        silo: NameOrId,
        page: PageParams<Uuid>,
    ) -> Result<Vec<SiloUser>, Error> {
        let silo = self.silo(opctx, silo).await?;
        opctx.authorize_open(Action::ListChildren, Object::SiloUsers { silo_id: silo.id })?;
        self.datastore.user_list(silo.id, None, page).await
    }

    /// A user of a silo.
    pub async fn silo_user(
        &self,
        opctx: &OpContext,
        silo: NameOrId,
        id: Uuid,
    ) -> Result<SiloUser, Error> {
        let silo = self.silo(opctx, silo).await?;
        self.user_of(opctx, silo.id, id, Action::Read).await
    }

    /// Makes a user of a silo.
    pub async fn local_user_create(
        &self,
        opctx: &OpContext,
        silo: NameOrId,
        body: UserCreate,
    ) -> Result<SiloUser, Error> {
        let silo = self.silo(opctx, silo).await?;
        opctx.authorize_open(Action::CreateChild, Object::SiloUsers { silo_id: silo.id })?;
        let created = now();
        let row = SiloUser {
            id: Uuid::new_v4(),
            silo_id: silo.id,
            external_id: body.external_id.into(),
            password_hash: self.hash_user_password(body.password).await?,
            time_created: created,
            time_modified: created,
            time_deleted: None,
        };
        self.datastore.user_create(row).await
    }

    /// Deletes a user of a silo.
    pub async fn local_user_delete(
        &self,
        opctx: &OpContext,
        silo: NameOrId,
        id: Uuid,
    ) -> Result<(), Error> {
        let silo = self.silo(opctx, silo).await?;
        let user = self.user_of(opctx, silo.id, id, Action::Delete).await?;
        self.datastore.user_delete(user.silo_id, user.id).await
    }

    /// Sets the password of a user of a silo, or that it has none.
    pub async fn local_user_set_password(
        &self,
        opctx: &OpContext,
        silo: NameOrId,
        id: Uuid,
        password: UserPassword,
    ) -> Result<(), Error> {
        let silo = self.silo(opctx, silo).await?;
        let user = self.user_of(opctx, silo.id, id, Action::Modify).await?;
        let hash = self.hash_user_password(password).await?;
        self.datastore.user_set_password(user.silo_id, user.id, hash).await
    }

    async fn hash_user_password(&self, password: UserPassword) -> Result<Option<String>, Error> {
        match password {
            UserPassword::Password(password) => Ok(Some(self.passwords.hash(password).await?)),
            UserPassword::LoginDisallowed => Ok(None),
        }
    }

    /// A page of the users that are part of the system itself.
    pub async fn user_builtin_list(
        &self,
        opctx: &OpContext,
        page: PageParams<Name>,
    ) -> Result<Vec<UserBuiltin>, Error> {
        opctx.authorize_open(Action::ListChildren, Object::Fleet)?;
        self.datastore.user_builtin_list(page).await
    }

    /// A user that is part of the system itself.
    pub async fn user_builtin(
        &self,
        opctx: &OpContext,
        user: NameOrId,
    ) -> Result<UserBuiltin, Error> {
        opctx.actor()?;
        let missing = Error::not_found(ResourceType::UserBuiltin, &user);
        let found = self.datastore.user_builtin_fetch(user).await?;
        opctx.authorize(Action::Read, Object::Fleet, || missing)?;
        Ok(found)
    }
}
