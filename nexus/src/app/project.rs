//! Projects.

use super::authz::{Action, Object};
use super::{Nexus, OpContext, check_description, identity_update};
use crate::db::now;
use crate::db::vpc::DefaultSubnet;
use db_model::Project;
use nexus_api::types::{ProjectCreate, ProjectUpdate};
use nexus_common::{Error, NameOrId, PageBy};
use uuid::Uuid;

impl Nexus {
    /// A page of the projects in the actor's silo.
    pub async fn project_list(
        &self,
        opctx: &OpContext,
        page: PageBy,
    ) -> Result<Vec<Project>, Error> {
        let id = opctx.actor()?.silo_id;
        opctx.authorize_open(Action::ListChildren, Object::Silo { id })?;
        self.datastore.project_list(id, page).await
    }

    /// Makes a project with its default VPC.
    pub async fn project_create(
        &self,
        opctx: &OpContext,
        body: ProjectCreate,
    ) -> Result<Project, Error> {
        let silo_id = opctx.actor()?.silo_id;
        opctx.authorize_open(Action::CreateChild, Object::Silo { id: silo_id })?;
        check_description(&body.identity.description)?;
        let vpc = body.default_vpc().map(|vpc| match vpc.subnet {
            Some(_) => DefaultSubnet::Create,
            None => DefaultSubnet::Omit,
        });
        let created = now();
        let row = Project {
            id: Uuid::new_v4(),
            silo_id,
            name: body.identity.name.into(),
            description: body.identity.description,
            time_created: created,
            time_modified: created,
            time_deleted: None,
        };
        self.datastore.project_create(row, vpc).await
    }

    /// Renames a project, or changes its description.
    pub async fn project_update(
        &self,
        opctx: &OpContext,
        project: &NameOrId,
        body: ProjectUpdate,
    ) -> Result<Project, Error> {
        let project = self.project(opctx, project, Action::Modify).await?;
        let change = identity_update(body.identity)?;
        self.datastore.project_update(project.id, change).await
    }

    /// Deletes a project that holds nothing.
    pub async fn project_delete(&self, opctx: &OpContext, project: &NameOrId) -> Result<(), Error> {
        let project = self.project(opctx, project, Action::Delete).await?;
        self.datastore.project_delete(project.id).await
    }
}
