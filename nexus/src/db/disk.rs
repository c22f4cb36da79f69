//! Disks.

use super::error::{TxResult, taken};
use super::image::live_image;
use super::instance::live_instance;
use super::paging::page_by;
use super::project::live_project;
use super::quotas::check_storage;
use super::snapshot::{insert_snapshot, live_snapshot};
use super::{Datastore, now};
use db_model::schema::disk;
use db_model::{Disk, DiskState, DiskType, Instance, InstanceState, Project, Snapshot};
use diesel::prelude::*;
use nexus_common::{Error, Name, NameOrId, PageBy, ResourceType};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The most disks of an instance.
pub const MAX_DISKS: usize = 12;

/// The refusal of one more disk than that.
pub fn too_many_disks() -> Error {
    Error::invalid(format!("cannot attach more than {MAX_DISKS} disks to instance"))
}

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

/// A disk of a new instance.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum InstanceDisk {
    /// One that is there, by its name in the project.
    Attach(Name),
    /// One that is made with the instance.
    Create(NewDisk),
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
struct Place {
    instance_id: Uuid,
    slot: i16,
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

fn insert_disk(
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

fn not_attachable(name: &str, state: DiskState) -> Error {
    Error::invalid(match state {
        DiskState::Attached => {
            format!("cannot attach disk \"{name}\": disk is attached to another instance")
        }
        other => format!("cannot attach disk \"{name}\": invalid state {other}"),
    })
}

/// Gives a detached disk to an instance.
fn attach_at(conn: &mut PgConnection, found: &Disk, place: Place) -> TxResult<Disk> {
    if found.state != DiskState::Detached {
        return Err(not_attachable(&found.name, found.state).into());
    }
    let attached = diesel::update(disk::table.filter(disk::id.eq(found.id)))
        .set((
            disk::state.eq(DiskState::Attached),
            disk::instance_id.eq(Some(place.instance_id)),
            disk::slot.eq(Some(place.slot)),
            disk::time_modified.eq(now()),
        ))
        .returning(Disk::as_returning())
        .get_result(conn)?;
    Ok(attached)
}

/// Makes or finds the disks of a new instance, and attaches them to it, in order.
pub(super) fn attach_disks(
    conn: &mut PgConnection,
    project: &Project,
    instance_id: Uuid,
    disks: &[InstanceDisk],
) -> TxResult<Vec<Uuid>> {
    let mut ids = Vec::new();
    for (slot, wanted) in disks.iter().enumerate() {
        let place = Place { instance_id, slot: slot as i16 };
        let row = match wanted {
            InstanceDisk::Attach(name) => {
                let found = disk_by(conn, Some(project.id), &name.clone().into())?;
                attach_at(conn, &found, place)?
            }
            InstanceDisk::Create(new) => insert_disk(conn, project, new, Some(place))?,
        };
        ids.push(row.id);
    }
    Ok(ids)
}

/// Detaches the disks of an instance that is being deleted.
pub(super) fn detach_all_disks(conn: &mut PgConnection, instance_id: Uuid) -> QueryResult<()> {
    diesel::update(
        disk::table.filter(disk::instance_id.eq(instance_id)).filter(disk::time_deleted.is_null()),
    )
    .set((
        disk::state.eq(DiskState::Detached),
        disk::instance_id.eq(None::<Uuid>),
        disk::slot.eq(None::<i16>),
        disk::time_modified.eq(now()),
    ))
    .execute(conn)?;
    Ok(())
}

/// The lowest place that is free at an instance.
fn free_place(conn: &mut PgConnection, instance_id: Uuid) -> TxResult<Place> {
    let used: Vec<Option<i16>> = disk::table
        .filter(disk::instance_id.eq(instance_id))
        .filter(disk::time_deleted.is_null())
        .select(disk::slot)
        .load(conn)?;
    let slot = (0..MAX_DISKS as i16).find(|slot| !used.contains(&Some(*slot)));
    let slot = slot.ok_or_else(too_many_disks)?;
    Ok(Place { instance_id, slot })
}

fn attach_to_stopped(conn: &mut PgConnection, found: &Disk, to: &Instance) -> TxResult<Disk> {
    if found.instance_id == Some(to.id) {
        return Ok(found.clone());
    }
    if to.active_vmm_id.is_some() {
        let message = "cannot attach disk: instance is not fully stopped";
        return Err(Error::invalid(message).into());
    }
    let place = free_place(conn, to.id)?;
    if !matches!(to.state, InstanceState::Creating | InstanceState::NoVmm) {
        let message = format!("cannot attach disk to instance in {} state", to.state);
        return Err(Error::invalid(message).into());
    }
    attach_at(conn, found, place)
}

fn detach_from_stopped(conn: &mut PgConnection, found: &Disk, from: &Instance) -> TxResult<Disk> {
    if found.state == DiskState::Detached {
        return Ok(found.clone());
    }
    let cannot =
        |why: &str| Error::invalid(format!("cannot detach disk \"{}\": {why}", found.name));
    if found.state != DiskState::Attached {
        return Err(cannot(&format!("invalid state {}", found.state)).into());
    }
    if found.instance_id != Some(from.id) {
        return Err(cannot("disk is attached to another instance").into());
    }
    if from.active_vmm_id.is_some() {
        let message = "cannot detach disk: instance is not fully stopped";
        return Err(Error::invalid(message).into());
    }
    if from.boot_disk_id == Some(found.id) {
        return Err(Error::conflict("boot disk cannot be detached").into());
    }
    let detached = diesel::update(disk::table.filter(disk::id.eq(found.id)))
        .set((
            disk::state.eq(DiskState::Detached),
            disk::instance_id.eq(None::<Uuid>),
            disk::slot.eq(None::<i16>),
            disk::time_modified.eq(now()),
        ))
        .returning(Disk::as_returning())
        .get_result(conn)?;
    Ok(detached)
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

    /// A page of an instance's disks.
    pub async fn instance_disk_list(
        &self,
        instance_id: Uuid,
        page: PageBy,
    ) -> Result<Vec<Disk>, Error> {
        self.statement("disks of instance", move |conn| {
            let its = disk::instance_id.eq(instance_id).and(disk::time_deleted.is_null());
            Ok(page_by!(conn, disk, Disk, its, &page)?)
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

    /// Attaches a disk to a stopped instance of its project. One that it has already stays.
    pub async fn disk_attach(&self, id: Uuid, instance_id: Uuid) -> Result<Disk, Error> {
        self.transaction("attach disk", move |conn| {
            let instance = live_instance(conn, instance_id)?;
            let found = disk_by(conn, None, &id.into())?;
            if found.project_id != instance.project_id {
                let message = "disk must be in the same project as the instance";
                return Err(Error::invalid(message).into());
            }
            attach_to_stopped(conn, &found, &instance)
        })
        .await
    }

    /// Detaches a disk from a stopped instance. One that is detached stays so.
    pub async fn disk_detach(&self, id: Uuid, instance_id: Uuid) -> Result<Disk, Error> {
        self.transaction("detach disk", move |conn| {
            let instance = live_instance(conn, instance_id)?;
            let found = disk_by(conn, None, &id.into())?;
            detach_from_stopped(conn, &found, &instance)
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
