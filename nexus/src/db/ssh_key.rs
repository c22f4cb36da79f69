//! SSH keys of users, and which of them an instance was made with.

use super::error::{TxResult, taken};
use super::paging::{page, page_by};
use super::{Datastore, now};
use db_model::schema::{instance_ssh_key, silo_user, ssh_key};
use db_model::{InstanceSshKey, SshKey};
use diesel::prelude::*;
use nexus_common::{Error, Name, NameOrId, PageBy, ResourceType};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The most SSH keys of an instance.
pub const MAX_SSH_KEYS: usize = 100;

/// The refusal of one more key than that.
pub fn too_many_ssh_keys() -> Error {
    Error::invalid(format!("cannot attach more than {MAX_SSH_KEYS} ssh keys to the instance"))
}

/// The keys of a new instance.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SshKeyRequest {
    /// Whose they are.
    pub user_id: Uuid,
    /// Which they are; all of the user's, if none.
    pub keys: Option<Vec<NameOrId>>,
}

fn key_by(conn: &mut PgConnection, user_id: Uuid, selector: &NameOrId) -> TxResult<SshKey> {
    let query = ssh_key::table
        .filter(ssh_key::silo_user_id.eq(user_id))
        .filter(ssh_key::time_deleted.is_null())
        .select(SshKey::as_select())
        .into_boxed();
    let query = match selector {
        NameOrId::Id(id) => query.filter(ssh_key::id.eq(*id)),
        NameOrId::Name(name) => query.filter(ssh_key::name.eq(name.as_str())),
    };
    let found = query.first(conn).optional()?;
    Ok(found.ok_or_else(|| Error::not_found(ResourceType::SshKey, selector))?)
}

/// Records which keys a new instance was made with.
pub(super) fn assign_keys(
    conn: &mut PgConnection,
    instance_id: Uuid,
    request: &SshKeyRequest,
) -> TxResult<()> {
    let mut ids: Vec<Uuid> = match &request.keys {
        Some(keys) => keys
            .iter()
            .map(|key| Ok(key_by(conn, request.user_id, key)?.id))
            .collect::<TxResult<_>>()?,
        None => ssh_key::table
            .filter(ssh_key::silo_user_id.eq(request.user_id))
            .filter(ssh_key::time_deleted.is_null())
            .order(ssh_key::id)
            .limit(MAX_SSH_KEYS as i64 + 1)
            .select(ssh_key::id)
            .load(conn)?,
    };
    // The same key may be named twice.
    ids.sort();
    ids.dedup();
    if ids.len() > MAX_SSH_KEYS {
        return Err(too_many_ssh_keys().into());
    }
    let rows: Vec<InstanceSshKey> =
        ids.into_iter().map(|ssh_key_id| InstanceSshKey { instance_id, ssh_key_id }).collect();
    diesel::insert_into(instance_ssh_key::table).values(rows).execute(conn)?;
    Ok(())
}

/// Forgets which keys an instance was made with that is being deleted.
pub(super) fn forget_keys(conn: &mut PgConnection, instance_id: Uuid) -> QueryResult<()> {
    diesel::delete(instance_ssh_key::table.filter(instance_ssh_key::instance_id.eq(instance_id)))
        .execute(conn)?;
    Ok(())
}

/// Deletes the keys of a user who is being deleted.
pub(super) fn delete_keys(conn: &mut PgConnection, user_id: Uuid) -> QueryResult<()> {
    let keys = ssh_key::table
        .filter(ssh_key::silo_user_id.eq(user_id))
        .filter(ssh_key::time_deleted.is_null());
    diesel::update(keys).set(ssh_key::time_deleted.eq(Some(now()))).execute(conn)?;
    Ok(())
}

impl Datastore {
    /// The user's key with this name or id.
    pub async fn ssh_key_fetch(&self, user_id: Uuid, selector: NameOrId) -> Result<SshKey, Error> {
        self.statement("ssh key", move |conn| key_by(conn, user_id, &selector)).await
    }

    /// A page of a user's keys.
    pub async fn ssh_key_list(&self, user_id: Uuid, page: PageBy) -> Result<Vec<SshKey>, Error> {
        self.statement("ssh keys", move |conn| {
            let mine = ssh_key::silo_user_id.eq(user_id).and(ssh_key::time_deleted.is_null());
            Ok(page_by!(conn, ssh_key, SshKey, mine, &page)?)
        })
        .await
    }

    /// A page of the keys that an instance was made with and that are still there.
    pub async fn instance_ssh_key_list(
        &self,
        instance_id: Uuid,
        page: PageBy,
    ) -> Result<Vec<SshKey>, Error> {
        self.statement("ssh keys of instance", move |conn| {
            let query = ssh_key::table
                .inner_join(
                    instance_ssh_key::table.on(instance_ssh_key::ssh_key_id.eq(ssh_key::id)),
                )
                .filter(instance_ssh_key::instance_id.eq(instance_id))
                .filter(ssh_key::time_deleted.is_null())
                .select(SshKey::as_select());
            Ok(match &page {
                PageBy::Name(by) => {
                    page!(query, ssh_key::name, by, |name: &Name| name.to_string()).load(conn)?
                }
                PageBy::Id(by) => page!(query, ssh_key::id, by, |id: &Uuid| *id).load(conn)?,
            })
        })
        .await
    }

    /// Keeps a key of a user who is still there.
    pub async fn ssh_key_create(&self, row: SshKey) -> Result<SshKey, Error> {
        self.transaction("create ssh key", move |conn| {
            let user: Option<Uuid> = silo_user::table
                .filter(silo_user::id.eq(row.silo_user_id))
                .filter(silo_user::time_deleted.is_null())
                .select(silo_user::id)
                .first(conn)
                .optional()?;
            user.ok_or_else(|| Error::not_found(ResourceType::SiloUser, row.silo_user_id))?;
            diesel::insert_into(ssh_key::table).values(&row).execute(conn).map_err(taken(
                "ssh_key_name",
                ResourceType::SshKey,
                &row.name,
            ))?;
            Ok(row.clone())
        })
        .await
    }

    /// Deletes a key. One that is gone already stays so.
    pub async fn ssh_key_delete(&self, id: Uuid) -> Result<(), Error> {
        self.statement("delete ssh key", move |conn| {
            diesel::update(
                ssh_key::table.filter(ssh_key::id.eq(id)).filter(ssh_key::time_deleted.is_null()),
            )
            .set(ssh_key::time_deleted.eq(Some(now())))
            .execute(conn)?;
            Ok(())
        })
        .await
    }
}
