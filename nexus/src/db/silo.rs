//! Silos, and what is set for each of them.

use super::error::{TxResult, taken};
use super::paging::page_by;
use super::policy::{PolicyOf, delete_policy};
use super::{Datastore, now};
use db_model::schema::{
    console_session, device_access_token, image, ip_pool_silo, project, role_assignment, silo,
    silo_group, silo_group_membership, silo_quotas, silo_user, ssh_key,
};
use db_model::{IdentityType, ResourceKind, Role, RoleAssignment, Silo, SiloGroup, SiloQuotas};
use diesel::dsl::exists;
use diesel::prelude::*;
use nexus_common::{Error, NameOrId, PageBy, ResourceType};
use uuid::Uuid;

/// The live silo with this id, for a transaction that adds something to it. Reading the row here
/// makes a concurrent deletion of the silo conflict with the addition.
pub(super) fn live_silo(conn: &mut PgConnection, id: Uuid) -> TxResult<Silo> {
    let found = silo::table
        .filter(silo::id.eq(id))
        .filter(silo::time_deleted.is_null())
        .select(Silo::as_select())
        .first(conn)
        .optional()?;
    Ok(found.ok_or_else(|| Error::not_found(ResourceType::Silo, id))?)
}

impl Datastore {
    /// The silo with this name or id.
    pub async fn silo_fetch(&self, selector: NameOrId) -> Result<Silo, Error> {
        self.statement("silo", move |conn| {
            let query = silo::table
                .filter(silo::time_deleted.is_null())
                .select(Silo::as_select())
                .into_boxed();
            let query = match &selector {
                NameOrId::Id(id) => query.filter(silo::id.eq(*id)),
                NameOrId::Name(name) => query.filter(silo::name.eq(name.as_str())),
            };
            let found = query.first(conn).optional()?;
            Ok(found.ok_or_else(|| Error::not_found(ResourceType::Silo, &selector))?)
        })
        .await
    }

    /// A page of the silos that are shown in lists.
    pub async fn silo_list(&self, page: PageBy) -> Result<Vec<Silo>, Error> {
        self.statement("silos", move |conn| {
            let shown = silo::time_deleted.is_null().and(silo::discoverable);
            Ok(page_by!(conn, silo, Silo, shown, &page)?)
        })
        .await
    }

    /// Makes a silo with its quotas, and with the group of its administrators if it is to have
    /// one.
    pub async fn silo_create(&self, row: Silo, quotas: SiloQuotas) -> Result<Silo, Error> {
        self.transaction("create silo", move |conn| {
            diesel::insert_into(silo::table).values(&row).execute(conn).map_err(taken(
                "silo_name",
                ResourceType::Silo,
                &row.name,
            ))?;
            diesel::insert_into(silo_quotas::table).values(&quotas).execute(conn)?;
            if let Some(name) = &row.admin_group_name {
                insert_admin_group(conn, &row, name)?;
            }
            Ok(row.clone())
        })
        .await
    }

    /// Deletes a silo without projects, and with it its users, groups, roles, credentials,
    /// images, quotas, and links to pools.
    pub async fn silo_delete(&self, id: Uuid) -> Result<(), Error> {
        self.transaction("delete silo", move |conn| {
            live_silo(conn, id)?;
            let projects = project::table
                .filter(project::silo_id.eq(id))
                .filter(project::time_deleted.is_null());
            if diesel::select(exists(projects)).get_result::<bool>(conn)? {
                return Err(Error::invalid("silo to be deleted contains a project").into());
            }
            delete_identities(conn, id)?;
            delete_policy(conn, PolicyOf { kind: ResourceKind::Silo, id })?;
            diesel::delete(ip_pool_silo::table.filter(ip_pool_silo::silo_id.eq(id)))
                .execute(conn)?;
            diesel::delete(silo_quotas::table.filter(silo_quotas::silo_id.eq(id))).execute(conn)?;
            delete_images(conn, id)?;
            diesel::update(silo::table.filter(silo::id.eq(id)))
                .set(silo::time_deleted.eq(Some(now())))
                .execute(conn)?;
            Ok(())
        })
        .await
    }

    /// Sets the longest that tokens of a silo's users may live.
    pub async fn silo_set_token_ttl(&self, id: Uuid, seconds: Option<i64>) -> Result<Silo, Error> {
        self.transaction("update silo", move |conn| {
            live_silo(conn, id)?;
            let updated = diesel::update(silo::table.filter(silo::id.eq(id)))
                .set(silo::device_token_max_ttl_seconds.eq(seconds))
                .returning(Silo::as_returning())
                .get_result(conn)?;
            Ok(updated)
        })
        .await
    }
}

fn insert_admin_group(conn: &mut PgConnection, silo: &Silo, name: &str) -> TxResult<()> {
    let group = SiloGroup {
        id: Uuid::new_v4(),
        silo_id: silo.id,
        external_id: name.to_string(),
        time_created: silo.time_created,
        time_modified: silo.time_created,
        time_deleted: None,
    };
    diesel::insert_into(silo_group::table).values(&group).execute(conn)?;
    let admin = RoleAssignment {
        resource_type: ResourceKind::Silo,
        resource_id: silo.id,
        role_name: Role::Admin,
        identity_type: IdentityType::SiloGroup,
        identity_id: group.id,
    };
    diesel::insert_into(role_assignment::table).values(admin).execute(conn)?;
    Ok(())
}

/// Deletes the images of a silo that are of none of its projects.
fn delete_images(conn: &mut PgConnection, silo_id: Uuid) -> TxResult<()> {
    let images = image::table
        .filter(image::silo_id.eq(silo_id))
        .filter(image::project_id.is_null())
        .filter(image::time_deleted.is_null());
    diesel::update(images).set(image::time_deleted.eq(Some(now()))).execute(conn)?;
    Ok(())
}

/// Deletes the users and groups of a silo, and all that hangs on them.
fn delete_identities(conn: &mut PgConnection, silo_id: Uuid) -> TxResult<()> {
    let users = || silo_user::table.filter(silo_user::silo_id.eq(silo_id)).select(silo_user::id);
    let groups =
        || silo_group::table.filter(silo_group::silo_id.eq(silo_id)).select(silo_group::id);
    diesel::delete(
        device_access_token::table.filter(device_access_token::silo_user_id.eq_any(users())),
    )
    .execute(conn)?;
    diesel::delete(console_session::table.filter(console_session::silo_user_id.eq_any(users())))
        .execute(conn)?;
    diesel::delete(role_assignment::table.filter(role_assignment::identity_id.eq_any(users())))
        .execute(conn)?;
    diesel::delete(role_assignment::table.filter(role_assignment::identity_id.eq_any(groups())))
        .execute(conn)?;
    diesel::delete(
        silo_group_membership::table.filter(silo_group_membership::silo_group_id.eq_any(groups())),
    )
    .execute(conn)?;
    let deleted = Some(now());
    let keys = ssh_key::table
        .filter(ssh_key::silo_user_id.eq_any(users()))
        .filter(ssh_key::time_deleted.is_null());
    diesel::update(keys).set(ssh_key::time_deleted.eq(deleted)).execute(conn)?;
    diesel::update(silo_group::table.filter(silo_group::silo_id.eq(silo_id)))
        .set(silo_group::time_deleted.eq(deleted))
        .execute(conn)?;
    diesel::update(silo_user::table.filter(silo_user::silo_id.eq(silo_id)))
        .set(silo_user::time_deleted.eq(deleted))
        .execute(conn)?;
    Ok(())
}
