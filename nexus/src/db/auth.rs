//! Who a credential belongs to, and what that user may do.

use super::paging::page_by;
use super::{Datastore, now};
use db_model::schema::{device_access_token, role_assignment, silo, silo_user};
use db_model::{
    DeviceAccessToken, FLEET_ID, IdentityType, ResourceKind, Role, RoleAssignment, Silo, SiloUser,
};
use diesel::prelude::*;
use nexus_common::{Error, NameOrId, PageBy, ResourceType};
use uuid::Uuid;

/// A user, with the silo and the roles.
#[derive(Clone, Debug)]
pub struct UserWithRoles {
    pub user: SiloUser,
    pub silo: Silo,
    pub roles: Vec<RoleAssignment>,
}

impl Datastore {
    /// The user whose token has this SHA-256, unless the token has expired.
    pub async fn user_by_token(&self, hash: Vec<u8>) -> Result<Option<UserWithRoles>, Error> {
        self.statement("user by token", move |conn| {
            let found = device_access_token::table
                .inner_join(
                    silo_user::table.on(silo_user::id.eq(device_access_token::silo_user_id)),
                )
                .inner_join(silo::table.on(silo::id.eq(silo_user::silo_id)))
                .filter(device_access_token::token_hash.eq(&hash))
                .filter(
                    device_access_token::time_expires
                        .is_null()
                        .or(device_access_token::time_expires.gt(now())),
                )
                .filter(silo_user::time_deleted.is_null())
                .filter(silo::time_deleted.is_null())
                .select((SiloUser::as_select(), Silo::as_select()))
                .first(conn)
                .optional()?;
            let Some((user, silo)) = found else { return Ok(None) };
            let roles = role_assignment::table
                .filter(role_assignment::identity_id.eq(user.id))
                .filter(role_assignment::identity_type.eq(IdentityType::SiloUser))
                .select(RoleAssignment::as_select())
                .load(conn)?;
            Ok(Some(UserWithRoles { user, silo, roles }))
        })
        .await
    }

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

    /// A page of all silos.
    pub async fn silo_list(&self, page: PageBy) -> Result<Vec<Silo>, Error> {
        self.statement("silos", move |conn| {
            Ok(page_by!(conn, silo, Silo, silo::time_deleted.is_null(), &page)?)
        })
        .await
    }

    /// Makes sure that the first silo, its administrator and the administrator's token exist, as
    /// a new rack needs them. Does nothing to what is there already, except that the password
    /// and the token become valid.
    pub async fn bootstrap(&self, first: Bootstrap) -> Result<(), Error> {
        self.transaction("bootstrap", move |conn| {
            let silo_id = ensure_silo(conn, &first.silo)?;
            let user_id = ensure_user(conn, silo_id, &first)?;
            let roles = [(ResourceKind::Fleet, FLEET_ID), (ResourceKind::Silo, silo_id)];
            for (resource_type, resource_id) in roles {
                let assignment = RoleAssignment {
                    resource_type,
                    resource_id,
                    role_name: Role::Admin,
                    identity_type: IdentityType::SiloUser,
                    identity_id: user_id,
                };
                diesel::insert_into(role_assignment::table)
                    .values(assignment)
                    .on_conflict_do_nothing()
                    .execute(conn)?;
            }
            let token = DeviceAccessToken {
                id: Uuid::new_v4(),
                silo_user_id: user_id,
                token_hash: first.token_hash.clone(),
                time_created: now(),
                time_expires: None,
            };
            diesel::insert_into(device_access_token::table)
                .values(token)
                .on_conflict_do_nothing()
                .execute(conn)?;
            Ok(())
        })
        .await
    }
}

/// What a new rack begins with.
#[derive(Clone, Debug)]
pub struct Bootstrap {
    pub silo: String,
    pub user: String,
    pub password_hash: String,
    pub token_hash: Vec<u8>,
}

fn ensure_silo(conn: &mut PgConnection, name: &str) -> QueryResult<Uuid> {
    let found = silo::table
        .filter(silo::name.eq(name))
        .filter(silo::time_deleted.is_null())
        .select(silo::id)
        .first(conn)
        .optional()?;
    if let Some(id) = found {
        return Ok(id);
    }
    let now = now();
    let row = Silo {
        id: Uuid::new_v4(),
        name: name.to_string(),
        description: "the first silo".to_string(),
        time_created: now,
        time_modified: now,
        time_deleted: None,
    };
    diesel::insert_into(silo::table).values(&row).execute(conn)?;
    Ok(row.id)
}

fn ensure_user(conn: &mut PgConnection, silo_id: Uuid, first: &Bootstrap) -> QueryResult<Uuid> {
    let found = silo_user::table
        .filter(silo_user::silo_id.eq(silo_id))
        .filter(silo_user::external_id.eq(&first.user))
        .filter(silo_user::time_deleted.is_null())
        .select(silo_user::id)
        .first::<Uuid>(conn)
        .optional()?;
    if let Some(id) = found {
        diesel::update(silo_user::table.filter(silo_user::id.eq(id)))
            .set(silo_user::password_hash.eq(Some(&first.password_hash)))
            .execute(conn)?;
        return Ok(id);
    }
    let now = now();
    let row = SiloUser {
        id: Uuid::new_v4(),
        silo_id,
        external_id: first.user.clone(),
        password_hash: Some(first.password_hash.clone()),
        time_created: now,
        time_modified: now,
        time_deleted: None,
    };
    diesel::insert_into(silo_user::table).values(&row).execute(conn)?;
    Ok(row.id)
}
