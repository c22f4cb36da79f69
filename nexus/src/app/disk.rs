//! Disks: records, with no storage behind them.

use super::authz::Action;
use super::{Nexus, OpContext, Selector, check_description};
use crate::db::disk::{DiskContent, NewDisk};
use db_model::{Disk, DiskType};
use nexus_api::types::{BlockSize, DiskBackend, DiskCreate, DiskSource};
use nexus_common::{ByteCount, Error, NameOrId, PageBy};
use uuid::Uuid;

/// The unit of disk sizes.
const UNIT: ByteCount = ByteCount::from_gibibytes(1);
/// The largest distributed disk.
const MAX_DISTRIBUTED: ByteCount = ByteCount::from_gibibytes(1023);
/// The largest local disk: 10 PiB.
const MAX_LOCAL: ByteCount = ByteCount::from_gibibytes(10 << 20);
/// The block size of local disks, in bytes.
const LOCAL_BLOCK: BlockSize = BlockSize::AdvancedFormat;

/// Checks a disk that is to be made.
pub(super) fn new_disk(body: DiskCreate) -> Result<NewDisk, Error> {
    check_description(&body.identity.description)?;
    let (disk_type, content) = match body.disk_backend {
        DiskBackend::Local => {
            (DiskType::Local, DiskContent::Blank { block_size: stored(LOCAL_BLOCK) })
        }
        DiskBackend::Distributed { disk_source } => (DiskType::Distributed, content(disk_source)),
    };
    check_size(body.size, &content, disk_type)?;
    Ok(NewDisk {
        id: Uuid::new_v4(),
        name: body.identity.name.into(),
        description: body.identity.description,
        size: body.size.to_stored(),
        disk_type,
        content,
    })
}

fn stored(block_size: BlockSize) -> i32 {
    u32::from(block_size) as i32
}

fn content(source: DiskSource) -> DiskContent {
    match source {
        DiskSource::Blank { block_size } => DiskContent::Blank { block_size: stored(block_size) },
        DiskSource::ImportingBlocks { block_size } => {
            DiskContent::Import { block_size: stored(block_size) }
        }
        DiskSource::Image { image_id, read_only } => DiskContent::Image { id: image_id, read_only },
        DiskSource::Snapshot { snapshot_id, read_only } => {
            DiskContent::Snapshot { id: snapshot_id, read_only }
        }
    }
}

/// Checks a size by itself. Blocks of what the disk is made from divide the unit of sizes.
fn check_size(size: ByteCount, content: &DiskContent, disk_type: DiskType) -> Result<(), Error> {
    let invalid = |message: String| Err(Error::invalid_value("size", message));
    if let DiskContent::Blank { block_size } | DiskContent::Import { block_size } = content
        && size.to_stored() % i64::from(*block_size) != 0
    {
        let message = format!("total size must be a multiple of block size {block_size}");
        return Err(Error::invalid_value("size and block_size", message));
    }
    if size < UNIT {
        return invalid(format!("total size must be at least {UNIT}"));
    }
    if !size.is_multiple_of(UNIT) {
        return invalid(format!("total size must be a multiple of {UNIT}"));
    }
    match disk_type {
        DiskType::Distributed if size > MAX_DISTRIBUTED => {
            invalid(format!("total size must be less than {MAX_DISTRIBUTED}"))
        }
        DiskType::Local if size > MAX_LOCAL => invalid("requested size over 10 PiB".to_string()),
        _ => Ok(()),
    }
}

impl Nexus {
    /// A page of a project's disks.
    pub async fn disk_list(
        &self,
        opctx: &OpContext,
        project: &NameOrId,
        page: PageBy,
    ) -> Result<Vec<Disk>, Error> {
        let project = self.project(opctx, project, Action::ListChildren).await?;
        self.datastore.disk_list(project.id, page).await
    }

    /// Makes a disk.
    pub async fn disk_create(
        &self,
        opctx: &OpContext,
        project: &NameOrId,
        body: DiskCreate,
    ) -> Result<Disk, Error> {
        let project = self.project(opctx, project, Action::CreateChild).await?;
        let new = new_disk(body)?;
        self.may_read_content(opctx, &new).await?;
        self.datastore.disk_create(project.id, new).await
    }

    /// Refuses a disk that is made from what the actor may not see.
    pub(super) async fn may_read_content(
        &self,
        opctx: &OpContext,
        new: &NewDisk,
    ) -> Result<(), Error> {
        let by_id = |id: Uuid| Selector::new(id.into(), None);
        match new.content {
            DiskContent::Blank { .. } | DiskContent::Import { .. } => {}
            DiskContent::Image { id, .. } => {
                self.image(opctx, &by_id(id), Action::Read).await?;
            }
            DiskContent::Snapshot { id, .. } => {
                self.snapshot(opctx, &by_id(id), Action::Read).await?;
            }
        }
        Ok(())
    }

    /// Deletes a disk that is not attached.
    pub async fn disk_delete(&self, opctx: &OpContext, disk: &Selector) -> Result<(), Error> {
        let disk = self.disk(opctx, disk, Action::Delete).await?;
        self.datastore.disk_delete(disk.id).await
    }
}
