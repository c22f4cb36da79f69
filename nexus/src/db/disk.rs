//! Disks.

use super::error::{TxResult, taken};
use super::paging::page_by;
use super::project::live_project;
use super::{Datastore, now};
use db_model::schema::disk;
use db_model::{Disk, DiskState};
use diesel::prelude::*;
use nexus_common::{Error, NameOrId, PageBy, ResourceType};
use uuid::Uuid;

/// The most disks of an instance.
pub const MAX_DISKS: usize = 12;

fn disk_by(
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

fn insert_disk(conn: &mut PgConnection, row: &Disk) -> TxResult<()> {
    diesel::insert_into(disk::table).values(row).execute(conn).map_err(taken(
        "disk_name",
        ResourceType::Disk,
        &row.name,
    ))?;
    Ok(())
}

/// A disk of a new instance.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub enum InstanceDisk {
    /// One that is there, by its name in the project.
    Attach(nexus_common::Name),
    /// One that is made with the instance.
    Create(NewDisk),
}

/// A disk to be made.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct NewDisk {
    pub id: Uuid,
    pub name: String,
    pub description: String,
    pub size: i64,
    pub block_size: i32,
    pub disk_type: db_model::DiskType,
}

impl NewDisk {
    /// The row of a disk that is not attached.
    pub fn into_row(self, project_id: Uuid) -> Disk {
        Disk {
            id: self.id,
            project_id,
            name: self.name,
            description: self.description,
            size: self.size,
            block_size: self.block_size,
            disk_type: self.disk_type,
            state: DiskState::Detached,
            instance_id: None,
            slot: None,
            time_created: now(),
            time_modified: now(),
            time_deleted: None,
        }
    }
}

/// Makes or finds the disks of a new instance, and attaches them to it, in order.
pub(super) fn attach_disks(
    conn: &mut PgConnection,
    project_id: Uuid,
    instance_id: Uuid,
    disks: &[InstanceDisk],
) -> TxResult<Vec<Uuid>> {
    let mut ids = Vec::new();
    for (slot, wanted) in disks.iter().enumerate() {
        let id = match wanted {
            InstanceDisk::Attach(name) => {
                let found = disk_by(conn, Some(project_id), &name.clone().into())?;
                if found.state != DiskState::Detached {
                    return Err(Error::invalid(format!(
                        "cannot attach disk \"{name}\": disk is attached to another instance"
                    ))
                    .into());
                }
                found.id
            }
            InstanceDisk::Create(new) => {
                insert_disk(conn, &new.clone().into_row(project_id))?;
                new.id
            }
        };
        diesel::update(disk::table.filter(disk::id.eq(id)))
            .set((
                disk::state.eq(DiskState::Attached),
                disk::instance_id.eq(Some(instance_id)),
                disk::slot.eq(Some(slot as i16)),
                disk::time_modified.eq(now()),
            ))
            .execute(conn)?;
        ids.push(id);
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
    pub async fn disk_create(&self, row: Disk) -> Result<Disk, Error> {
        self.transaction("create disk", move |conn| {
            live_project(conn, row.project_id)?;
            insert_disk(conn, &row)?;
            Ok(row.clone())
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
}
