//! Snapshots of disks.

use super::disk::disk_by;
use super::error::{TxResult, taken};
use super::paging::page_by;
use super::project::live_project;
use super::quotas::check_storage;
use super::{Datastore, now};
use db_model::schema::snapshot;
use db_model::{Disk, DiskType, Project, Snapshot};
use diesel::prelude::*;
use nexus_common::{Error, NameOrId, PageBy, ResourceType};
use uuid::Uuid;

/// A snapshot of a disk as it is now.
pub fn snapshot_of(disk: &Disk, name: String, description: String) -> Snapshot {
    let created = now();
    Snapshot {
        id: Uuid::new_v4(),
        project_id: disk.project_id,
        name,
        description,
        disk_id: disk.id,
        size: disk.size,
        block_size: disk.block_size,
        time_created: created,
        time_modified: created,
        time_deleted: None,
    }
}

fn snapshot_by(
    conn: &mut PgConnection,
    project_id: Option<Uuid>,
    selector: &NameOrId,
) -> TxResult<Snapshot> {
    let query = snapshot::table
        .filter(snapshot::time_deleted.is_null())
        .select(Snapshot::as_select())
        .into_boxed();
    let query = match (selector, project_id) {
        (NameOrId::Name(name), Some(project_id)) => query
            .filter(snapshot::project_id.eq(project_id))
            .filter(snapshot::name.eq(name.as_str())),
        (NameOrId::Id(id), _) => query.filter(snapshot::id.eq(*id)),
        (NameOrId::Name(_), None) => {
            return Err(Error::not_found(ResourceType::Snapshot, selector).into());
        }
    };
    let found = query.first(conn).optional()?;
    Ok(found.ok_or_else(|| Error::not_found(ResourceType::Snapshot, selector))?)
}

/// The live snapshot with this id, for a transaction that makes something from it.
pub(super) fn live_snapshot(conn: &mut PgConnection, id: Uuid) -> TxResult<Snapshot> {
    snapshot_by(conn, None, &id.into())
}

/// Inserts a snapshot of a disk of the project, if the silo has room for it.
pub(super) fn insert_snapshot(
    conn: &mut PgConnection,
    project: &Project,
    row: &Snapshot,
) -> TxResult<()> {
    check_storage(conn, project.silo_id, row.size)?;
    diesel::insert_into(snapshot::table).values(row).execute(conn).map_err(taken(
        "snapshot_name",
        ResourceType::Snapshot,
        &row.name,
    ))?;
    Ok(())
}

impl Datastore {
    /// The snapshot with this id, or with this name in the project.
    pub async fn snapshot_fetch(
        &self,
        project_id: Option<Uuid>,
        selector: NameOrId,
    ) -> Result<Snapshot, Error> {
        self.statement("snapshot", move |conn| snapshot_by(conn, project_id, &selector)).await
    }

    /// A page of a project's snapshots.
    pub async fn snapshot_list(
        &self,
        project_id: Uuid,
        page: PageBy,
    ) -> Result<Vec<Snapshot>, Error> {
        self.statement("snapshots", move |conn| {
            let mine = snapshot::project_id.eq(project_id).and(snapshot::time_deleted.is_null());
            Ok(page_by!(conn, snapshot, Snapshot, mine, &page)?)
        })
        .await
    }

    /// Makes a snapshot of a disk that is still there.
    pub async fn snapshot_create(&self, row: Snapshot) -> Result<Snapshot, Error> {
        self.transaction("create snapshot", move |conn| {
            let project = live_project(conn, row.project_id)?;
            let disk = disk_by(conn, None, &row.disk_id.into())?;
            if disk.disk_type == DiskType::Local {
                let message = "cannot create a snapshot of a local disk";
                return Err(Error::invalid(message).into());
            }
            insert_snapshot(conn, &project, &row)?;
            Ok(row.clone())
        })
        .await
    }

    /// Deletes a snapshot. One that is gone already stays so.
    pub async fn snapshot_delete(&self, id: Uuid) -> Result<(), Error> {
        self.statement("delete snapshot", move |conn| {
            diesel::update(
                snapshot::table
                    .filter(snapshot::id.eq(id))
                    .filter(snapshot::time_deleted.is_null()),
            )
            .set(snapshot::time_deleted.eq(Some(now())))
            .execute(conn)?;
            Ok(())
        })
        .await
    }
}
