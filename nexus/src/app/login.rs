//! Credentials: who shows which, how people log in and out, and the tokens and sessions they have.

use super::authz::Action;
use super::context::Credential;
use super::{Actor, Nexus, OpContext};
use crate::db::auth::SessionLife;
use crate::db::now;
use chrono::TimeDelta;
use db_model::{ConsoleSession, DeviceAccessToken};
use nexus_api::types::UsernamePasswordCredentials;
use nexus_common::{Error, Name, PageParams};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// What every API token begins with.
pub const TOKEN_PREFIX: &str = "oxide-token-";

/// The form in which a token is kept. Tokens are long and random, so a plain hash of one tells
/// nothing, and finds it at once.
pub fn hash_token(token: &str) -> Vec<u8> {
    Sha256::digest(token.as_bytes()).to_vec()
}

/// A secret that nobody guesses: 40 hexadecimal digits.
pub(super) fn random_secret() -> String {
    hex::encode(rand::random::<[u8; 20]>())
}

impl Nexus {
    /// How long sessions live.
    pub(crate) fn session_life(&self) -> SessionLife {
        let seconds = |seconds: u32| TimeDelta::seconds(i64::from(seconds));
        let console = &self.config.console;
        SessionLife {
            idle: seconds(console.session_idle_timeout_secs),
            absolute: seconds(console.session_absolute_timeout_secs),
        }
    }

    /// The user whose token this is; 401 if it is nobody's, or has expired.
    pub async fn authenticate_token(&self, token: &str) -> Result<Actor, Error> {
        let found = self.datastore.user_by_token(hash_token(token)).await?;
        let (user, token) = found.ok_or_else(|| Error::unauthenticated("no such token"))?;
        Actor::new(user, Credential::Token { id: token.id, time_expires: token.time_expires })
    }

    /// The user whose session's token this is; 401 if it is nobody's, or has ended.
    pub async fn authenticate_session(&self, token: &str) -> Result<Actor, Error> {
        let found = self.datastore.user_by_session(hash_token(token), self.session_life()).await?;
        let (user, session) = found.ok_or_else(|| Error::unauthenticated("no such session"))?;
        Actor::new(user, Credential::Session { id: session.id })
    }

    /// Logs a user in; returns the session's token. 401 for a wrong name and for a wrong password,
    /// after the same work.
    pub async fn login(
        &self,
        silo: Name,
        credentials: UsernamePasswordCredentials,
    ) -> Result<String, Error> {
        let silo = self.datastore.silo_fetch(silo.into()).await?;
        let UsernamePasswordCredentials { username, password } = credentials;
        let who = (silo.id, String::from(username));
        self.throttle.attempt(&who)?;
        let user = self.datastore.user_by_name(silo.id, who.1.clone()).await?;
        let hash = user.as_ref().and_then(|user| user.password_hash.clone());
        let right = self.passwords.verify(password, hash).await?;
        let Some(user) = user.filter(|_| right) else {
            return Err(Error::unauthenticated("no such user, or another password"));
        };
        self.throttle.succeeded(&who);
        let token = random_secret();
        let created = now();
        let session = ConsoleSession {
            id: Uuid::new_v4(),
            silo_user_id: user.id,
            token_hash: hash_token(&token),
            time_created: created,
            time_last_used: created,
        };
        self.datastore.session_create(session).await?;
        Ok(token)
    }

    /// Ends the session with this token, if there is one.
    pub async fn logout(&self, token: &str) -> Result<(), Error> {
        self.datastore.session_delete(hash_token(token)).await
    }

    /// A page of the actor's tokens.
    pub async fn token_list(
        &self,
        opctx: &OpContext,
        page: PageParams<Uuid>,
    ) -> Result<Vec<DeviceAccessToken>, Error> {
        self.datastore.token_list(opctx.actor()?.user_id, page).await
    }

    /// Deletes one of the actor's tokens.
    pub async fn token_delete(&self, opctx: &OpContext, id: Uuid) -> Result<(), Error> {
        self.datastore.token_delete(opctx.actor()?.user_id, id).await
    }

    /// A page of the tokens of a user of the actor's silo.
    pub async fn user_token_list(
        &self,
        opctx: &OpContext,
        user: Uuid,
        page: PageParams<Uuid>,
    ) -> Result<Vec<DeviceAccessToken>, Error> {
        let user = self.user(opctx, user, Action::Modify).await?;
        self.datastore.token_list(user.id, page).await
    }

    /// A page of the sessions of a user of the actor's silo.
    pub async fn user_session_list(
        &self,
        opctx: &OpContext,
        user: Uuid,
        page: PageParams<Uuid>,
    ) -> Result<Vec<ConsoleSession>, Error> {
        let user = self.user(opctx, user, Action::Modify).await?;
        self.datastore.session_list(user.id, self.session_life(), page).await
    }

    /// Ends all sessions and tokens of a user of the actor's silo.
    pub async fn user_logout(&self, opctx: &OpContext, user: Uuid) -> Result<(), Error> {
        let user = self.user(opctx, user, Action::Modify).await?;
        self.datastore.user_logout(user.silo_id, user.id).await
    }

    /// Deletes sessions, tokens and requests for tokens whose time is over.
    pub(crate) async fn collect_credentials(&self) -> Result<usize, Error> {
        self.datastore.credentials_collect(self.session_life()).await
    }
}
