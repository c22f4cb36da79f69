//! On whose behalf an operation is done.

use super::authz::Roles;
use crate::db::auth::UserWithRoles;
use chrono::{DateTime, Utc};
use db_model::Role;
use nexus_common::Error;
use slog::Logger;
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// What a user has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    /// An API token.
    Token { id: Uuid, time_expires: Option<DateTime<Utc>> },
    /// The cookie of a session.
    Session { id: Uuid },
}

/// A user who has shown a credential.
#[derive(Clone, Debug)]
pub struct Actor {
    pub user_id: Uuid,
    pub silo_id: Uuid,
    pub silo_name: String,
    pub user: db_model::SiloUser,
    pub roles: Roles,
    pub credential: Credential,
}

impl Actor {
    /// The user that a credential belongs to.
    pub fn new(found: UserWithRoles, credential: Credential) -> Result<Self, Error> {
        let mapped: BTreeMap<Role, BTreeSet<Role>> =
            serde_json::from_value(found.silo.mapped_fleet_roles).map_err(Error::internal)?;
        Ok(Actor {
            user_id: found.user.id,
            silo_id: found.silo.id,
            silo_name: found.silo.name.clone(),
            roles: Roles::new(found.user.id, found.silo.id, &mapped, &found.roles),
            user: found.user,
            credential,
        })
    }
}

/// What an operation is done with: who asks, and where to log.
#[derive(Clone, Debug)]
pub struct OpContext {
    actor: Option<Actor>,
    pub log: Logger,
}

impl OpContext {
    /// For a request with the credential of this actor, or with none.
    pub fn new(actor: Option<Actor>, log: Logger) -> Self {
        OpContext { actor, log }
    }

    /// Who asks; 401 if nobody said who they are.
    pub fn actor(&self) -> Result<&Actor, Error> {
        self.actor.as_ref().ok_or_else(|| Error::unauthenticated("no credential"))
    }
}
