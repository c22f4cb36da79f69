//! Policies of the fleet, of silos and of projects: read by whoever may read the object, replaced
//! by whoever may modify it.

use super::authz::{Action, Object};
use super::{Nexus, OpContext};
use crate::db::policy::{Assignment, PolicyOf};
use db_model::{FLEET_ID, ResourceKind, RoleAssignment};
use nexus_common::{Error, NameOrId};
use serde_json::json;

const FLEET: PolicyOf = PolicyOf { kind: ResourceKind::Fleet, id: FLEET_ID };

impl Nexus {
    /// Who holds which role on the fleet.
    pub async fn fleet_policy(&self, opctx: &OpContext) -> Result<Vec<RoleAssignment>, Error> {
        opctx.authorize_open(Action::Read, Object::Fleet)?;
        self.datastore.policy_fetch(FLEET).await
    }

    /// Says anew who holds which role on the fleet.
    pub async fn fleet_policy_update(
        &self,
        opctx: &OpContext,
        policy: Vec<Assignment>,
    ) -> Result<Vec<RoleAssignment>, Error> {
        opctx.authorize_open(Action::Modify, Object::Fleet)?;
        self.datastore.policy_replace(FLEET, policy).await
    }

    /// Who holds which role on a silo; on the actor's own, if none is given.
    pub async fn silo_policy(
        &self,
        opctx: &OpContext,
        silo: Option<NameOrId>,
    ) -> Result<Vec<RoleAssignment>, Error> {
        let silo = silo.map_or_else(|| Ok(opctx.actor()?.silo_id.into()), Ok::<_, Error>)?;
        let silo = self.silo_for(opctx, silo, Action::Read).await?;
        self.datastore.policy_fetch(PolicyOf { kind: ResourceKind::Silo, id: silo.id }).await
    }

    /// Says anew who holds which role on a silo; on the actor's own, if none is given.
    pub async fn silo_policy_update(
        &self,
        opctx: &OpContext,
        silo: Option<NameOrId>,
        policy: Vec<Assignment>,
    ) -> Result<Vec<RoleAssignment>, Error> {
        let silo = silo.map_or_else(|| Ok(opctx.actor()?.silo_id.into()), Ok::<_, Error>)?;
        let silo = self.silo_for(opctx, silo, Action::Modify).await?;
        let actor = opctx.actor()?;
        let own_admin = actor.silo_id == silo.id && actor.roles.is_silo_admin();
        if silo.mapped_fleet_roles != json!({}) && !own_admin {
            // Roles on this silo are roles on the fleet: an operator who may not give those could
            // otherwise take them.
            opctx.authorize_open(Action::Modify, Object::Fleet)?;
        }
        let of = PolicyOf { kind: ResourceKind::Silo, id: silo.id };
        self.datastore.policy_replace(of, policy).await
    }

    /// Who holds which role on a project.
    pub async fn project_policy(
        &self,
        opctx: &OpContext,
        project: &NameOrId,
    ) -> Result<Vec<RoleAssignment>, Error> {
        let project = self.project(opctx, project, Action::Read).await?;
        self.datastore.policy_fetch(PolicyOf { kind: ResourceKind::Project, id: project.id }).await
    }

    /// Says anew who holds which role on a project.
    pub async fn project_policy_update(
        &self,
        opctx: &OpContext,
        project: &NameOrId,
        policy: Vec<Assignment>,
    ) -> Result<Vec<RoleAssignment>, Error> {
        let project = self.project(opctx, project, Action::Modify).await?;
        let of = PolicyOf { kind: ResourceKind::Project, id: project.id };
        self.datastore.policy_replace(of, policy).await
    }
}
