//! On whose behalf an operation is done.

use super::authz::Roles;
use crate::db::auth::UserWithRoles;
use nexus_common::Error;
use slog::Logger;
use uuid::Uuid;

/// A user who has shown a credential.
#[derive(Clone, Debug)]
pub struct Actor {
    pub user_id: Uuid,
    pub silo_id: Uuid,
    pub silo_name: String,
    pub user: db_model::SiloUser,
    pub roles: Roles,
}

impl From<UserWithRoles> for Actor {
    fn from(found: UserWithRoles) -> Self {
        Actor {
            user_id: found.user.id,
            silo_id: found.silo.id,
            silo_name: found.silo.name.clone(),
            roles: Roles::new(found.silo.id, &found.roles),
            user: found.user,
        }
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
