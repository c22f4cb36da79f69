//! Disks of instances: which an instance is made with, and which come and go while it is stopped.

use super::disk::{NewDisk, Place, disk_by, insert_disk, not_attachable};
use super::error::TxResult;
use super::instance::live_instance;
use super::paging::page_by;
use super::{Datastore, now};
use db_model::schema::disk;
use db_model::{Disk, DiskState, Instance, InstanceState, Project};
use diesel::prelude::*;
use nexus_common::{Error, Name, PageBy};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The most disks of an instance.
pub const MAX_DISKS: usize = 12;

/// The refusal of one more disk than that.
pub fn too_many_disks() -> Error {
    Error::invalid(format!("cannot attach more than {MAX_DISKS} disks to instance"))
}

/// A disk of a new instance.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum InstanceDisk {
    /// One that is there, by its name in the project.
    Attach(Name),
    /// One that is made with the instance.
    Create(NewDisk),
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
}
