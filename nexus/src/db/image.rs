//! Images, of projects and of silos.

use super::error::{TxError, TxResult, taken};
use super::paging::page_by;
use super::project::live_project;
use super::silo::live_silo;
use super::snapshot::live_snapshot;
use super::{Datastore, now};
use db_model::Image;
use db_model::schema::image;
use diesel::prelude::*;
use diesel::result::Error as DieselError;
use nexus_common::{Error, Name, NameOrId, PageBy, ResourceType};
use uuid::Uuid;

/// Whose images are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageOwner {
    Project(Uuid),
    Silo(Uuid),
}

/// Where the content of a new image comes from.
#[derive(Clone, Copy, Debug)]
pub enum ImageContent {
    Snapshot(Uuid),
    /// It is known to be of this size, in blocks of so many bytes.
    Known {
        size: i64,
        block_size: i32,
    },
}

/// An image to be made.
#[derive(Clone, Debug)]
pub struct NewImage {
    pub id: Uuid,
    pub silo_id: Uuid,
    /// None for an image of the silo.
    pub project_id: Option<Uuid>,
    pub name: String,
    pub description: String,
    pub os: String,
    pub version: String,
    pub content: ImageContent,
}

/// The live image with this id, for a transaction that rests on it.
pub(super) fn live_image(conn: &mut PgConnection, id: Uuid) -> TxResult<Image> {
    let found = image::table
        .filter(image::id.eq(id))
        .filter(image::time_deleted.is_null())
        .select(Image::as_select())
        .first(conn)
        .optional()?;
    Ok(found.ok_or_else(|| Error::not_found(ResourceType::Image, id))?)
}

/// Turns a violation of either rule that names of images are unique into "already exists".
fn name_taken(name: &str) -> impl FnOnce(DieselError) -> TxError {
    move |error| match taken("image_project_name", ResourceType::ProjectImage, name)(error) {
        TxError::Database(error) => taken("image_silo_name", ResourceType::SiloImage, name)(error),
        refused => refused,
    }
}

/// Gives an image to a project, or to its silo as a whole.
fn set_project(conn: &mut PgConnection, row: &Image, project_id: Option<Uuid>) -> TxResult<Image> {
    diesel::update(image::table.filter(image::id.eq(row.id)))
        .set((image::project_id.eq(project_id), image::time_modified.eq(now())))
        .returning(Image::as_returning())
        .get_result(conn)
        .map_err(name_taken(&row.name))
}

impl Datastore {
    /// The image with this id.
    pub async fn image_fetch(&self, id: Uuid) -> Result<Image, Error> {
        self.statement("image", move |conn| live_image(conn, id)).await
    }

    /// The image with this name among those of a project or a silo.
    pub async fn image_by_name(&self, owner: ImageOwner, name: Name) -> Result<Image, Error> {
        self.statement("image by name", move |conn| {
            let named = image::table
                .filter(image::name.eq(name.as_str()))
                .filter(image::time_deleted.is_null())
                .select(Image::as_select())
                .into_boxed();
            let (named, kind) = match owner {
                ImageOwner::Project(id) => {
                    (named.filter(image::project_id.eq(id)), ResourceType::ProjectImage)
                }
                ImageOwner::Silo(id) => (
                    named.filter(image::silo_id.eq(id)).filter(image::project_id.is_null()),
                    ResourceType::SiloImage,
                ),
            };
            let found = named.first(conn).optional()?;
            Ok(found.ok_or_else(|| Error::not_found(kind, &NameOrId::from(name.clone())))?)
        })
        .await
    }

    /// A page of the images of a project or a silo.
    pub async fn image_list(&self, owner: ImageOwner, page: PageBy) -> Result<Vec<Image>, Error> {
        self.statement("images", move |conn| {
            Ok(match owner {
                ImageOwner::Project(id) => {
                    let its = image::project_id.eq(id).and(image::time_deleted.is_null());
                    page_by!(conn, image, Image, its, &page)?
                }
                ImageOwner::Silo(id) => {
                    let its = image::silo_id.eq(id).and(image::project_id.is_null());
                    let its = its.and(image::time_deleted.is_null());
                    page_by!(conn, image, Image, its, &page)?
                }
            })
        })
        .await
    }

    /// Makes an image.
    pub async fn image_create(&self, new: NewImage) -> Result<Image, Error> {
        self.transaction("create image", move |conn| {
            match new.project_id {
                Some(id) => drop(live_project(conn, id)?),
                None => drop(live_silo(conn, new.silo_id)?),
            }
            let (size, block_size) = match new.content {
                ImageContent::Known { size, block_size } => (size, block_size),
                ImageContent::Snapshot(id) => {
                    let snapshot = live_snapshot(conn, id)?;
                    if new.project_id.is_some_and(|of| of != snapshot.project_id) {
                        let message = "snapshot does not belong to this project";
                        return Err(Error::invalid(message).into());
                    }
                    (snapshot.size, snapshot.block_size)
                }
            };
            let created = now();
            let row = Image {
                id: new.id,
                silo_id: new.silo_id,
                project_id: new.project_id,
                name: new.name.clone(),
                description: new.description.clone(),
                os: new.os.clone(),
                version: new.version.clone(),
                size,
                block_size,
                time_created: created,
                time_modified: created,
                time_deleted: None,
            };
            diesel::insert_into(image::table)
                .values(&row)
                .execute(conn)
                .map_err(name_taken(&row.name))?;
            Ok(row)
        })
        .await
    }

    /// Deletes an image. One that is gone already stays so.
    pub async fn image_delete(&self, id: Uuid) -> Result<(), Error> {
        self.statement("delete image", move |conn| {
            diesel::update(
                image::table.filter(image::id.eq(id)).filter(image::time_deleted.is_null()),
            )
            .set(image::time_deleted.eq(Some(now())))
            .execute(conn)?;
            Ok(())
        })
        .await
    }

    /// Makes an image of a project one of its silo.
    pub async fn image_promote(&self, id: Uuid) -> Result<Image, Error> {
        self.transaction("promote image", move |conn| {
            let row = live_image(conn, id)?;
            if row.project_id.is_none() {
                return Err(Error::invalid("cannot promote an image of the silo").into());
            }
            live_silo(conn, row.silo_id)?;
            set_project(conn, &row, None)
        })
        .await
    }

    /// Makes an image of a silo one of a project.
    pub async fn image_demote(&self, id: Uuid, project_id: Uuid) -> Result<Image, Error> {
        self.transaction("demote image", move |conn| {
            let row = live_image(conn, id)?;
            if row.project_id.is_some() {
                return Err(Error::invalid("cannot demote an image of a project").into());
            }
            live_project(conn, project_id)?;
            set_project(conn, &row, Some(project_id))
        })
        .await
    }
}
