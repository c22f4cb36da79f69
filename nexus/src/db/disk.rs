//! Disks: what they are made from, and the import of what is to be on them.

use super::error::{TxResult, taken};
use super::image::live_image;
use super::paging::page_by;
use super::project::live_project;
use super::quotas::check_storage;
use super::snapshot::{insert_snapshot, live_snapshot};
use super::{Datastore, now};
use db_model::schema::disk;
use db_model::{Disk, DiskState, DiskType, Project, Snapshot};
use diesel::prelude::*;
use nexus_common::{Error, NameOrId, PageBy, ResourceType};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub(super) fn disk_by(
    conn: &mut PgConnection,
    project_id: Option<Uuid>,
    selector: &NameOrId,
) -> TxResult<Disk> {
    let query =
        disk::table.filter(disk::time_deleted.is_null()).select(Disk::as_select()).into_boxed();
    let query = match (selector, project_id) {
        (NameOrId::Name(name), Some(project_id)) => {
            query.filter(disk::project_id.eq(project_id)).filter(disk::name.eq(name.as_str()))
        }
        (NameOrId::Id(id), _) => query.filter(disk::id.eq(*id)),
        (NameOrId::Name(_), None) => {
            return Err(Error::not_found(ResourceType::Disk, selector).into());
        }
    };
    let found = query.first(conn).optional()?;
    Ok(found.ok_or_else(|| Error::not_found(ResourceType::Disk, selector))?)
}

/// A disk to be made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewDisk {
    pub id: Uuid,
    pub name: String,
    pub description: String,
    /// Bytes.
    pub size: i64,
    pub disk_type: DiskType,
    pub content: DiskContent,
}

/// What is on a new disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum DiskContent {
    /// Nothing, in blocks of so many bytes.
    Blank { block_size: i32 },
    /// What a client will write to it, in blocks of so many bytes.
    Import { block_size: i32 },
    /// What is in the image.
    Image { id: Uuid, read_only: bool },
    /// What is in the snapshot.
    Snapshot { id: Uuid, read_only: bool },
}

/// The place of a disk at an instance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub instance_id: Uuid,
    pub slot: i16,
}

/// The row of a disk of the project, as what it is made from shapes it.
fn new_row(
    conn: &mut PgConnection,
    project: &Project,
    new: &NewDisk,
    place: Option<Place>,
) -> TxResult<Disk> {
    let created = now();
    let attached = |_: Place| DiskState::Attached;
    let row = Disk {
        id: new.id,
        project_id: project.id,
        name: new.name.clone(),
        description: new.description.clone(),
        size: new.size,
        block_size: 0,
        disk_type: new.disk_type,
        image_id: None,
        snapshot_id: None,
        read_only: false,
        state: place.map_or(DiskState::Detached, attached),
        instance_id: place.map(|place| place.instance_id),
        slot: place.map(|place| place.slot),
        time_created: created,
        time_modified: created,
        time_deleted: None,
    };
    Ok(match new.content {
        DiskContent::Blank { block_size } => Disk { block_size, ..row },
        DiskContent::Import { block_size } => match place {
            Some(_) => return Err(not_attachable(&new.name, DiskState::ImportReady).into()),
            None => Disk { block_size, state: DiskState::ImportReady, ..row },
        },
        DiskContent::Image { id, read_only } => {
            let image = live_image(conn, id)?;
            if image.silo_id != project.silo_id {
                return Err(Error::not_found(ResourceType::Image, id).into());
            }
            if image.project_id.is_some_and(|of| of != project.id) {
                return Err(Error::invalid("image does not belong to this project").into());
            }
            check_source("image", new.size, image.size, read_only)?;
            Disk { block_size: image.block_size, image_id: Some(id), read_only, ..row }
        }
        DiskContent::Snapshot { id, read_only } => {
            let snapshot = live_snapshot(conn, id)?;
            if snapshot.project_id != project.id {
                return Err(Error::invalid("snapshot does not belong to this project").into());
            }
            check_source("snapshot", new.size, snapshot.size, read_only)?;
            Disk { block_size: snapshot.block_size, snapshot_id: Some(id), read_only, ..row }
        }
    })
}

/// Refuses a size that does not fit what the disk is made from.
fn check_source(kind: &str, size: i64, source: i64, read_only: bool) -> Result<(), Error> {
    if read_only && size != source {
        return Err(Error::invalid(format!(
            "read-only disk size {size} must be equal to source {kind} size {source}"
        )));
    }
    if size < source {
        return Err(Error::invalid(format!(
            "disk size {size} must be greater than or equal to {kind} size {source}"
        )));
    }
    Ok(())
}

/// Makes a disk of the project, attached from the beginning if it has a place, if the silo has
/// room for it.
pub(super) fn insert_disk(
    conn: &mut PgConnection,
    project: &Project,
    new: &NewDisk,
    place: Option<Place>,
) -> TxResult<Disk> {
    let row = new_row(conn, project, new, place)?;
    check_storage(conn, project.silo_id, row.size)?;
    diesel::insert_into(disk::table).values(&row).execute(conn).map_err(taken(
        "disk_name",
        ResourceType::Disk,
        &row.name,
    ))?;
    Ok(row)
}

/// The refusal of a disk that is not detached.
pub(super) fn not_attachable(name: &str, state: DiskState) -> Error {
    Error::invalid(match state {
        DiskState::Attached => {
            format!("cannot attach disk \"{name}\": disk is attached to another instance")
        }
        other => format!("cannot attach disk \"{name}\": invalid state {other}"),
    })
}

impl Datastore {
    /// The disk with this id, or with this name in the project.
    pub async fn disk_fetch(
        &self,
        project_id: Option<Uuid>,
        selector: NameOrId,
    ) -> Result<Disk, Error> {
        self.statement("disk", move |conn| disk_by(conn, project_id, &selector)).await
    }

    /// A page of a project's disks.
    pub async fn disk_list(&self, project_id: Uuid, page: PageBy) -> Result<Vec<Disk>, Error> {
        self.statement("disks", move |conn| {
            let mine = disk::project_id.eq(project_id).and(disk::time_deleted.is_null());
            Ok(page_by!(conn, disk, Disk, mine, &page)?)
        })
        .await
    }

    /// Makes a disk.
    pub async fn disk_create(&self, project_id: Uuid, new: NewDisk) -> Result<Disk, Error> {
        self.transaction("create disk", move |conn| {
            let project = live_project(conn, project_id)?;
            insert_disk(conn, &project, &new, None)
        })
        .await
    }

    /// Deletes a disk that is not attached.
    pub async fn disk_delete(&self, id: Uuid) -> Result<(), Error> {
        self.transaction("delete disk", move |conn| {
            let found = disk_by(conn, None, &id.into())?;
            if found.state != DiskState::Detached {
                return Err(Error::invalid(format!(
                    "disk cannot be deleted in state \"{}\"",
                    found.state
                ))
                .into());
            }
            diesel::update(disk::table.filter(disk::id.eq(id)))
                .set(disk::time_deleted.eq(Some(now())))
                .execute(conn)?;
            Ok(())
        })
        .await
    }

    /// Takes a disk from one state of its import to another.
    pub async fn disk_import_step(
        &self,
        id: Uuid,
        from: DiskState,
        to: DiskState,
    ) -> Result<(), Error> {
        self.transaction("step of disk import", move |conn| {
            let found = disk_by(conn, None, &id.into())?;
            if found.state != from {
                let message = format!("cannot set disk in state {} to {to}", found.state);
                return Err(Error::invalid(message).into());
            }
            diesel::update(disk::table.filter(disk::id.eq(id)))
                .set((disk::state.eq(to), disk::time_modified.eq(now())))
                .execute(conn)?;
            Ok(())
        })
        .await
    }

    /// Ends the import of a disk's content: it is detached then. Makes a snapshot of it, if one is
    /// given, as that describes it; the disk's own size and project are filled in.
    pub async fn disk_finalize_import(
        &self,
        id: Uuid,
        snapshot: Option<Snapshot>,
    ) -> Result<(), Error> {
        self.transaction("finalize disk import", move |conn| {
            let found = disk_by(conn, None, &id.into())?;
            if found.state != DiskState::ImportReady {
                return Err(Error::invalid(format!(
                    "cannot finalize disk in state {}: only disks in state {} can be finalized",
                    found.state,
                    DiskState::ImportReady
                ))
                .into());
            }
            diesel::update(disk::table.filter(disk::id.eq(id)))
                .set((disk::state.eq(DiskState::Detached), disk::time_modified.eq(now())))
                .execute(conn)?;
            if let Some(snapshot) = &snapshot {
                let project = live_project(conn, found.project_id)?;
                insert_snapshot(conn, &project, snapshot)?;
            }
            Ok(())
        })
        .await
    }
}
