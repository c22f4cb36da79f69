//! Images, of projects and of silos: records, with no storage behind them.

use super::authz::{Action, Object};
use super::{Nexus, OpContext, Selector, check_description, check_text};
use crate::db::image::{ImageContent, ImageOwner, NewImage};
use db_model::Image;
use nexus_api::types::{ImageCreate, ImageSource};
use nexus_common::{Error, NameOrId, PageBy};
use uuid::Uuid;

/// The most characters of an operating system's name, and of its version.
const OS_MAX: usize = 64;
/// The size of the Alpine Linux that comes with the system: 100 MiB.
const ALPINE_SIZE: i64 = 100 << 20;
/// The size of its blocks, in bytes.
const ALPINE_BLOCK_SIZE: i32 = 512;

impl Nexus {
    /// Whose images a request means that may name a project, for an actor who may do this there.
    async fn image_owner(
        &self,
        opctx: &OpContext,
        project: Option<&NameOrId>,
        action: Action,
    ) -> Result<ImageOwner, Error> {
        match project {
            Some(project) => {
                Ok(ImageOwner::Project(self.project(opctx, project, action).await?.id))
            }
            None => {
                let silo_id = opctx.actor()?.silo_id;
                opctx.authorize_open(action, Object::InSilo { silo_id })?;
                Ok(ImageOwner::Silo(silo_id))
            }
        }
    }

    /// A page of the images of a project, or of the actor's silo.
    pub async fn image_list(
        &self,
        opctx: &OpContext,
        project: Option<&NameOrId>,
        page: PageBy,
    ) -> Result<Vec<Image>, Error> {
        let owner = self.image_owner(opctx, project, Action::ListChildren).await?;
        self.datastore.image_list(owner, page).await
    }

    /// Makes an image of a project, or of the actor's silo.
    pub async fn image_create(
        &self,
        opctx: &OpContext,
        project: Option<&NameOrId>,
        body: ImageCreate,
    ) -> Result<Image, Error> {
        let owner = self.image_owner(opctx, project, Action::CreateChild).await?;
        check_description(&body.identity.description)?;
        let (os, version, content) = match body.source {
            ImageSource::Snapshot { id } => {
                let snapshot = Selector::new(id.into(), None);
                let snapshot = self.snapshot(opctx, &snapshot, Action::Read).await?;
                check_text("os", &body.os, OS_MAX)?;
                check_text("version", &body.version, OS_MAX)?;
                (body.os, body.version, ImageContent::Snapshot(snapshot.id))
            }
            ImageSource::YouCanBootAnythingAsLongAsItsAlpine => {
                let content =
                    ImageContent::Known { size: ALPINE_SIZE, block_size: ALPINE_BLOCK_SIZE };
                ("alpine".to_string(), "propolis-blob".to_string(), content)
            }
        };
        let new = NewImage {
            id: Uuid::new_v4(),
            silo_id: opctx.actor()?.silo_id,
            project_id: match owner {
                ImageOwner::Project(id) => Some(id),
                ImageOwner::Silo(_) => None,
            },
            name: body.identity.name.into(),
            description: body.identity.description,
            os,
            version,
            content,
        };
        self.datastore.image_create(new).await
    }

    /// Deletes an image.
    pub async fn image_delete(&self, opctx: &OpContext, image: &Selector) -> Result<(), Error> {
        let image = self.image(opctx, image, Action::Delete).await?;
        self.datastore.image_delete(image.id).await
    }

    /// Makes an image of a project one of its silo.
    pub async fn image_promote(&self, opctx: &OpContext, image: &Selector) -> Result<Image, Error> {
        let image = self.image(opctx, image, Action::Modify).await?;
        let silo = Object::InSilo { silo_id: image.silo_id };
        opctx.authorize_open(Action::CreateChild, silo)?;
        self.datastore.image_promote(image.id).await
    }

    /// Makes an image of the silo one of a project.
    pub async fn image_demote(
        &self,
        opctx: &OpContext,
        image: NameOrId,
        project: &NameOrId,
    ) -> Result<Image, Error> {
        let image = self.image(opctx, &Selector::new(image, None), Action::Modify).await?;
        let project = self.project(opctx, project, Action::CreateChild).await?;
        self.datastore.image_demote(image.id, project.id).await
    }
}
