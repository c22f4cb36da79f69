//! Tokens, sessions, and programs that wait to be let in.

use super::error::TxResult;
use super::paging::page;
use super::silo::live_silo;
use super::{Datastore, now};
use crate::db::auth::SessionLife;
use chrono::{DateTime, Utc};
use db_model::schema::{console_session, device_access_token, device_auth_request, silo_user};
use db_model::{ConsoleSession, DeviceAccessToken, DeviceAuthRequest, Silo};
use diesel::dsl::exists;
use diesel::prelude::*;
use nexus_common::{Error, LookupBy, PageParams, ResourceType};
use uuid::Uuid;

/// The most programs that wait at a time, so that those who never come back fill nothing.
const WAITING_MAX: i64 = 10_000;

impl Datastore {
    /// A page of a user's tokens that have not expired.
    pub async fn token_list(
        &self,
        user_id: Uuid,
        by: PageParams<Uuid>,
    ) -> Result<Vec<DeviceAccessToken>, Error> {
        self.statement("tokens", move |conn| {
            let alive = device_access_token::time_expires.is_null();
            let query = device_access_token::table
                .filter(device_access_token::silo_user_id.eq(user_id))
                .filter(alive.or(device_access_token::time_expires.gt(now())))
                .select(DeviceAccessToken::as_select());
            Ok(page!(query, device_access_token::id, &by, |id: &Uuid| *id).load(conn)?)
        })
        .await
    }

    /// Deletes one of a user's tokens.
    pub async fn token_delete(&self, user_id: Uuid, id: Uuid) -> Result<(), Error> {
        self.statement("delete token", move |conn| {
            let token = device_access_token::table
                .filter(device_access_token::id.eq(id))
                .filter(device_access_token::silo_user_id.eq(user_id));
            match diesel::delete(token).execute(conn)? {
                0 => Err(Error::not_found(ResourceType::DeviceAccessToken, id).into()),
                _ => Ok(()),
            }
        })
        .await
    }

    /// Makes a session.
    pub async fn session_create(&self, row: ConsoleSession) -> Result<(), Error> {
        self.transaction("create session", move |conn| {
            live_user(conn, row.silo_user_id)?;
            diesel::insert_into(console_session::table).values(&row).execute(conn)?;
            Ok(())
        })
        .await
    }

    /// Deletes the session whose token has this SHA-256, if there is one.
    pub async fn session_delete(&self, hash: Vec<u8>) -> Result<(), Error> {
        self.statement("delete session", move |conn| {
            diesel::delete(console_session::table.filter(console_session::token_hash.eq(&hash)))
                .execute(conn)?;
            Ok(())
        })
        .await
    }

    /// A page of a user's sessions that have not ended.
    pub async fn session_list(
        &self,
        user_id: Uuid,
        life: SessionLife,
        by: PageParams<Uuid>,
    ) -> Result<Vec<ConsoleSession>, Error> {
        self.statement("sessions", move |conn| {
            let query = console_session::table
                .filter(console_session::silo_user_id.eq(user_id))
                .filter(console_session::time_last_used.gt(now() - life.idle))
                .filter(console_session::time_created.gt(now() - life.absolute))
                .select(ConsoleSession::as_select());
            Ok(page!(query, console_session::id, &by, |id: &Uuid| *id).load(conn)?)
        })
        .await
    }

    /// Notes a program that waits to be let in. False if its user code is taken.
    pub async fn device_auth_create(&self, row: DeviceAuthRequest) -> Result<bool, Error> {
        self.transaction("create device authorization", move |conn| {
            diesel::delete(
                device_auth_request::table.filter(device_auth_request::time_expires.le(now())),
            )
            .execute(conn)?;
            let waiting: i64 = device_auth_request::table.count().get_result(conn)?;
            if waiting >= WAITING_MAX {
                return Err(Error::busy("too many programs wait to be let in").into());
            }
            let made = diesel::insert_into(device_auth_request::table)
                .values(&row)
                .on_conflict_do_nothing()
                .execute(conn)?;
            Ok(made == 1)
        })
        .await
    }

    /// Lets a program in, as this user of this silo. `expires` decides, from what the program
    /// asked for and what the silo allows, when its token will expire.
    pub async fn device_auth_confirm(
        &self,
        user_code: String,
        silo_id: Uuid,
        user_id: Uuid,
        expires: impl Fn(&DeviceAuthRequest, &Silo) -> Result<Option<DateTime<Utc>>, Error>
        + Send
        + Sync
        + 'static,
    ) -> Result<(), Error> {
        self.transaction("confirm device authorization", move |conn| {
            let silo = live_silo(conn, silo_id)?;
            let waiting = device_auth_request::table
                .filter(device_auth_request::user_code.eq(&user_code))
                .filter(device_auth_request::silo_user_id.is_null())
                .select(DeviceAuthRequest::as_select())
                .first(conn)
                .optional()?;
            let by = LookupBy::CompositeId(user_code.clone());
            let waiting =
                waiting.ok_or_else(|| Error::not_found(ResourceType::DeviceAuthRequest, by))?;
            let expires = expires(&waiting, &silo)?;
            diesel::update(
                device_auth_request::table.filter(device_auth_request::user_code.eq(&user_code)),
            )
            .set((
                device_auth_request::silo_user_id.eq(Some(user_id)),
                device_auth_request::token_time_expires.eq(expires),
            ))
            .execute(conn)?;
            Ok(())
        })
        .await
    }

    /// Makes the token, whose SHA-256 is given, of a program that was let in; none if it was not,
    /// or not yet. A program gets one token.
    pub async fn device_auth_token(
        &self,
        device_code_hash: Vec<u8>,
        client_id: Uuid,
        token_hash: Vec<u8>,
    ) -> Result<Option<DeviceAccessToken>, Error> {
        self.transaction("create token", move |conn| {
            let found = device_auth_request::table
                .filter(device_auth_request::device_code_hash.eq(&device_code_hash))
                .filter(device_auth_request::client_id.eq(client_id))
                .filter(device_auth_request::time_expires.gt(now()))
                .select(DeviceAuthRequest::as_select())
                .first(conn)
                .optional()?;
            let Some(DeviceAuthRequest {
                user_code,
                silo_user_id: Some(silo_user_id),
                token_time_expires,
                ..
            }) = found
            else {
                return Ok(None);
            };
            live_user(conn, silo_user_id)?;
            diesel::delete(
                device_auth_request::table.filter(device_auth_request::user_code.eq(&user_code)),
            )
            .execute(conn)?;
            let token = DeviceAccessToken {
                id: Uuid::new_v4(),
                silo_user_id,
                token_hash: token_hash.clone(),
                time_created: now(),
                time_expires: token_time_expires,
            };
            diesel::insert_into(device_access_token::table).values(&token).execute(conn)?;
            Ok(Some(token))
        })
        .await
    }

    /// Deletes sessions that have ended, tokens that have expired, and programs that have waited
    /// too long. Returns how many.
    pub async fn credentials_collect(&self, life: SessionLife) -> Result<usize, Error> {
        self.transaction("collect credentials", move |conn| {
            let now = now();
            let ended = console_session::time_last_used
                .le(now - life.idle)
                .or(console_session::time_created.le(now - life.absolute));
            let expired = device_access_token::time_expires.le(now);
            let late = device_auth_request::time_expires.le(now);
            Ok(diesel::delete(console_session::table.filter(ended)).execute(conn)?
                + diesel::delete(device_access_token::table.filter(expired)).execute(conn)?
                + diesel::delete(device_auth_request::table.filter(late)).execute(conn)?)
        })
        .await
    }
}

/// Refuses to make a credential of a user who is being deleted. Reading the row here makes the
/// deletion conflict with the addition.
fn live_user(conn: &mut PgConnection, id: Uuid) -> TxResult<()> {
    let user =
        silo_user::table.filter(silo_user::id.eq(id)).filter(silo_user::time_deleted.is_null());
    if diesel::select(exists(user)).get_result(conn)? {
        Ok(())
    } else {
        Err(Error::unauthenticated("the user was deleted").into())
    }
}
