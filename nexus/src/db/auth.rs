//! Who a credential belongs to, what that user may do, and the first user of a rack.

use super::{Datastore, now};
use crate::db::error::TxResult;
use chrono::{DateTime, TimeDelta, Utc};
use db_model::schema::{
    console_session, device_access_token, role_assignment, silo, silo_group_membership, silo_user,
};
use db_model::{
    ConsoleSession, DeviceAccessToken, FLEET_ID, IdentityType, ResourceKind, Role, RoleAssignment,
    Silo, SiloUser,
};
use diesel::prelude::*;
use nexus_common::Error;
use uuid::Uuid;

/// A user, with the silo and the roles, the user's own and those of the user's groups.
#[derive(Clone, Debug)]
pub struct UserWithRoles {
    pub user: SiloUser,
    pub silo: Silo,
    pub roles: Vec<RoleAssignment>,
}

/// How long a session lives.
#[derive(Clone, Copy, Debug)]
pub struct SessionLife {
    /// Since it was last used.
    pub idle: TimeDelta,
    /// Since the user logged in.
    pub absolute: TimeDelta,
}

impl SessionLife {
    /// The fraction of the idle time by which a session's last use may be out of date, so that
    /// not every request writes.
    const SLACK: i32 = 10;

    fn has_ended(&self, session: &ConsoleSession, now: DateTime<Utc>) -> bool {
        session.time_last_used + self.idle <= now || session.time_created + self.absolute <= now
    }
}

/// A live user of a live silo, with the roles that the user holds at this moment.
fn with_roles(conn: &mut PgConnection, user_id: Uuid) -> TxResult<Option<UserWithRoles>> {
    let found = silo_user::table
        .inner_join(silo::table.on(silo::id.eq(silo_user::silo_id)))
        .filter(silo_user::id.eq(user_id))
        .filter(silo_user::time_deleted.is_null())
        .filter(silo::time_deleted.is_null())
        .select((SiloUser::as_select(), Silo::as_select()))
        .first(conn)
        .optional()?;
    let Some((user, silo)) = found else { return Ok(None) };
    let groups = silo_group_membership::table
        .filter(silo_group_membership::silo_user_id.eq(user.id))
        .select(silo_group_membership::silo_group_id)
        .load::<Uuid>(conn)?;
    let holds = |identity_type, ids: Vec<Uuid>| {
        role_assignment::table
            .filter(role_assignment::identity_id.eq_any(ids))
            .filter(role_assignment::identity_type.eq(identity_type))
            .select(RoleAssignment::as_select())
    };
    let mut roles = holds(IdentityType::SiloUser, vec![user.id]).load(conn)?;
    if !groups.is_empty() {
        roles.extend(holds(IdentityType::SiloGroup, groups).load(conn)?);
    }
    Ok(Some(UserWithRoles { user, silo, roles }))
}

impl Datastore {
    /// The user whose token has this SHA-256, with the token, unless it has expired.
    pub async fn user_by_token(
        &self,
        hash: Vec<u8>,
    ) -> Result<Option<(UserWithRoles, DeviceAccessToken)>, Error> {
        self.statement("user by token", move |conn| {
            let alive = device_access_token::time_expires.is_null();
            let found = device_access_token::table
                .filter(device_access_token::token_hash.eq(&hash))
                .filter(alive.or(device_access_token::time_expires.gt(now())))
                .select(DeviceAccessToken::as_select())
                .first(conn)
                .optional()?;
            let Some(token) = found else { return Ok(None) };
            Ok(with_roles(conn, token.silo_user_id)?.map(|user| (user, token)))
        })
        .await
    }

    /// The user whose session's token has this SHA-256, with the session, which counts as used
    /// now. One that has ended is deleted.
    pub async fn user_by_session(
        &self,
        hash: Vec<u8>,
        life: SessionLife,
    ) -> Result<Option<(UserWithRoles, ConsoleSession)>, Error> {
        self.transaction("user by session", move |conn| {
            let found = console_session::table
                .filter(console_session::token_hash.eq(&hash))
                .select(ConsoleSession::as_select())
                .first(conn)
                .optional()?;
            let Some(session) = found else { return Ok(None) };
            let now = now();
            if life.has_ended(&session, now) {
                diesel::delete(console_session::table.filter(console_session::id.eq(session.id)))
                    .execute(conn)?;
                return Ok(None);
            }
            if session.time_last_used + life.idle / SessionLife::SLACK <= now {
                diesel::update(console_session::table.filter(console_session::id.eq(session.id)))
                    .set(console_session::time_last_used.eq(now))
                    .execute(conn)?;
            }
            Ok(with_roles(conn, session.silo_user_id)?.map(|user| (user, session)))
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
#[derive(Clone)]
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
        discoverable: true,
        admin_group_name: None,
        mapped_fleet_roles: serde_json::json!({}),
        device_token_max_ttl_seconds: None,
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
