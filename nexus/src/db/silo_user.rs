//! Users and groups of silos, and the users that are part of the system itself.

use super::error::{TxResult, taken};
use super::paging::page;
use super::silo::live_silo;
use super::ssh_key::delete_keys;
use super::{Datastore, now};
use db_model::schema::{
    console_session, device_access_token, device_auth_request, role_assignment, silo_group,
    silo_group_membership, silo_user, user_builtin,
};
use db_model::{SiloGroup, SiloUser, UserBuiltin};
use diesel::prelude::*;
use nexus_common::{Error, Name, NameOrId, PageParams, ResourceType};
use uuid::Uuid;

/// The live user with this id in this silo.
fn live_user(conn: &mut PgConnection, silo_id: Uuid, id: Uuid) -> TxResult<SiloUser> {
    let found = silo_user::table
        .filter(silo_user::id.eq(id))
        .filter(silo_user::silo_id.eq(silo_id))
        .filter(silo_user::time_deleted.is_null())
        .select(SiloUser::as_select())
        .first(conn)
        .optional()?;
    Ok(found.ok_or_else(|| Error::not_found(ResourceType::SiloUser, id))?)
}

impl Datastore {
    /// A page of a silo's users; only of a group's members, if one is given.
    pub async fn user_list(
        &self,
        silo_id: Uuid,
        group: Option<Uuid>,
        by: PageParams<Uuid>,
    ) -> Result<Vec<SiloUser>, Error> {
        self.statement("users", move |conn| {
            let query = silo_user::table
                .filter(silo_user::silo_id.eq(silo_id))
                .filter(silo_user::time_deleted.is_null())
                .select(SiloUser::as_select());
            let mut query = page!(query, silo_user::id, &by, |id: &Uuid| *id);
            if let Some(group) = group {
                let members = silo_group_membership::table
                    .filter(silo_group_membership::silo_group_id.eq(group))
                    .select(silo_group_membership::silo_user_id);
                query = query.filter(silo_user::id.eq_any(members));
            }
            Ok(query.load(conn)?)
        })
        .await
    }

    /// A user of a silo.
    pub async fn user_fetch(&self, silo_id: Uuid, id: Uuid) -> Result<SiloUser, Error> {
        self.statement("user", move |conn| live_user(conn, silo_id, id)).await
    }

    /// The user of a silo who logs in with this name.
    pub async fn user_by_name(
        &self,
        silo_id: Uuid,
        name: String,
    ) -> Result<Option<SiloUser>, Error> {
        self.statement("user by name", move |conn| {
            let found = silo_user::table
                .filter(silo_user::silo_id.eq(silo_id))
                .filter(silo_user::external_id.eq(&name))
                .filter(silo_user::time_deleted.is_null())
                .select(SiloUser::as_select())
                .first(conn)
                .optional()?;
            Ok(found)
        })
        .await
    }

    /// Makes a user.
    pub async fn user_create(&self, row: SiloUser) -> Result<SiloUser, Error> {
        self.transaction("create user", move |conn| {
            live_silo(conn, row.silo_id)?;
            diesel::insert_into(silo_user::table).values(&row).execute(conn).map_err(taken(
                "silo_user_external_id",
                ResourceType::SiloUser,
                &row.external_id,
            ))?;
            Ok(row.clone())
        })
        .await
    }

    /// Deletes a user, and with it the user's roles, memberships, sessions, tokens and SSH keys.
    pub async fn user_delete(&self, silo_id: Uuid, id: Uuid) -> Result<(), Error> {
        self.transaction("delete user", move |conn| {
            live_user(conn, silo_id, id)?;
            end_sessions(conn, id)?;
            end_tokens(conn, id)?;
            delete_keys(conn, id)?;
            diesel::delete(role_assignment::table.filter(role_assignment::identity_id.eq(id)))
                .execute(conn)?;
            let memberships =
                silo_group_membership::table.filter(silo_group_membership::silo_user_id.eq(id));
            diesel::delete(memberships).execute(conn)?;
            diesel::update(silo_user::table.filter(silo_user::id.eq(id)))
                .set(silo_user::time_deleted.eq(Some(now())))
                .execute(conn)?;
            Ok(())
        })
        .await
    }

    /// Sets the hash of a user's password, or none, and ends the user's sessions, which began
    /// with the one before.
    pub async fn user_set_password(
        &self,
        silo_id: Uuid,
        id: Uuid,
        hash: Option<String>,
    ) -> Result<(), Error> {
        self.transaction("set password", move |conn| {
            live_user(conn, silo_id, id)?;
            end_sessions(conn, id)?;
            diesel::update(silo_user::table.filter(silo_user::id.eq(id)))
                .set((
                    silo_user::password_hash.eq(hash.as_deref()),
                    silo_user::time_modified.eq(now()),
                ))
                .execute(conn)?;
            Ok(())
        })
        .await
    }

    /// Ends all sessions and tokens of a user.
    pub async fn user_logout(&self, silo_id: Uuid, id: Uuid) -> Result<(), Error> {
        self.transaction("log user out", move |conn| {
            live_user(conn, silo_id, id)?;
            end_sessions(conn, id)?;
            end_tokens(conn, id)
        })
        .await
    }

    /// A page of a silo's groups; only of those of a user, if one is given.
    pub async fn group_list(
        &self,
        silo_id: Uuid,
        user: Option<Uuid>,
        by: PageParams<Uuid>,
    ) -> Result<Vec<SiloGroup>, Error> {
        self.statement("groups", move |conn| {
            let query = silo_group::table
                .filter(silo_group::silo_id.eq(silo_id))
                .filter(silo_group::time_deleted.is_null())
                .select(SiloGroup::as_select());
            let mut query = page!(query, silo_group::id, &by, |id: &Uuid| *id);
            if let Some(user) = user {
                let groups = silo_group_membership::table
                    .filter(silo_group_membership::silo_user_id.eq(user))
                    .select(silo_group_membership::silo_group_id);
                query = query.filter(silo_group::id.eq_any(groups));
            }
            Ok(query.load(conn)?)
        })
        .await
    }

    /// A group of a silo.
    pub async fn group_fetch(&self, silo_id: Uuid, id: Uuid) -> Result<SiloGroup, Error> {
        self.statement("group", move |conn| {
            let found = silo_group::table
                .filter(silo_group::id.eq(id))
                .filter(silo_group::silo_id.eq(silo_id))
                .filter(silo_group::time_deleted.is_null())
                .select(SiloGroup::as_select())
                .first(conn)
                .optional()?;
            Ok(found.ok_or_else(|| Error::not_found(ResourceType::SiloGroup, id))?)
        })
        .await
    }

    /// A page of the users that are part of the system itself.
    pub async fn user_builtin_list(&self, by: PageParams<Name>) -> Result<Vec<UserBuiltin>, Error> {
        self.statement("builtin users", move |conn| {
            let query = user_builtin::table.select(UserBuiltin::as_select());
            let name = |name: &Name| name.to_string();
            Ok(page!(query, user_builtin::name, &by, name).load(conn)?)
        })
        .await
    }

    /// A user that is part of the system itself.
    pub async fn user_builtin_fetch(&self, selector: NameOrId) -> Result<UserBuiltin, Error> {
        self.statement("builtin user", move |conn| {
            let query = user_builtin::table.select(UserBuiltin::as_select()).into_boxed();
            let query = match &selector {
                NameOrId::Id(id) => query.filter(user_builtin::id.eq(*id)),
                NameOrId::Name(name) => query.filter(user_builtin::name.eq(name.to_string())),
            };
            let found = query.first(conn).optional()?;
            Ok(found.ok_or_else(|| Error::not_found(ResourceType::UserBuiltin, &selector))?)
        })
        .await
    }
}

fn end_sessions(conn: &mut PgConnection, user_id: Uuid) -> TxResult<()> {
    let sessions = console_session::table.filter(console_session::silo_user_id.eq(user_id));
    diesel::delete(sessions).execute(conn)?;
    Ok(())
}

/// Deletes a user's tokens, also those that a program was promised and has not yet fetched.
fn end_tokens(conn: &mut PgConnection, user_id: Uuid) -> TxResult<()> {
    let promised =
        device_auth_request::table.filter(device_auth_request::silo_user_id.eq(Some(user_id)));
    diesel::delete(promised).execute(conn)?;
    let tokens = device_access_token::table.filter(device_access_token::silo_user_id.eq(user_id));
    diesel::delete(tokens).execute(conn)?;
    Ok(())
}
