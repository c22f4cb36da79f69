//! Snapshots: records, with no storage behind them.

use super::authz::Action;
use super::{Nexus, OpContext, Selector, check_description};
use crate::db::snapshot::snapshot_of;
use db_model::Snapshot;
use nexus_api::types::SnapshotCreate;
use nexus_common::{Error, NameOrId, PageBy};

impl Nexus {
    /// A page of a project's snapshots.
    pub async fn snapshot_list(
        &self,
        opctx: &OpContext,
        project: &NameOrId,
        page: PageBy,
    ) -> Result<Vec<Snapshot>, Error> {
        let project = self.project(opctx, project, Action::ListChildren).await?;
        self.datastore.snapshot_list(project.id, page).await
    }

    /// Makes a snapshot of a disk of the same project.
    pub async fn snapshot_create(
        &self,
        opctx: &OpContext,
        project: &NameOrId,
        body: SnapshotCreate,
    ) -> Result<Snapshot, Error> {
        let project = self.project(opctx, project, Action::CreateChild).await?;
        check_description(&body.identity.description)?;
        let disk = self.disk_in(opctx, project.id, &body.disk, Action::Read).await?;
        if disk.project_id != project.id {
            let message = "can't create a snapshot of a disk in a different project";
            return Err(Error::invalid(message));
        }
        let row = snapshot_of(&disk, body.identity.name.into(), body.identity.description);
        self.datastore.snapshot_create(row).await
    }

    /// Deletes a snapshot.
    pub async fn snapshot_delete(
        &self,
        opctx: &OpContext,
        snapshot: &Selector,
    ) -> Result<(), Error> {
        let snapshot = self.snapshot(opctx, snapshot, Action::Delete).await?;
        self.datastore.snapshot_delete(snapshot.id).await
    }
}
