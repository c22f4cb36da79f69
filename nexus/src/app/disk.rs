//! Disks: records, with no storage behind them.

use super::authz::Action;
use super::{Nexus, OpContext, Selector, check_description};
use crate::db::disk::NewDisk;
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
    let (disk_type, block_size) = match body.disk_backend {
        DiskBackend::Local => (DiskType::Local, LOCAL_BLOCK),
        DiskBackend::Distributed { disk_source: DiskSource::Blank { block_size } } => {
            (DiskType::Distributed, block_size)
        }
        DiskBackend::Distributed { .. } => {
            return Err(Error::invalid_value(
                "disk_source",
                "disks are records without storage here: only blank disks can be made",
            ));
        }
    };
    check_size(body.size, u32::from(block_size), disk_type)?;
    Ok(NewDisk {
        id: Uuid::new_v4(),
        name: body.identity.name.into(),
        description: body.identity.description,
        size: body.size.to_stored(),
        block_size: u32::from(block_size) as i32,
        disk_type,
    })
}

fn check_size(size: ByteCount, block_size: u32, disk_type: DiskType) -> Result<(), Error> {
    let invalid = |message: String| Err(Error::invalid_value("size", message));
    if !size.to_bytes().is_multiple_of(u64::from(block_size)) {
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
        let row = new_disk(body)?.into_row(project.id);
        self.datastore.disk_create(row).await
    }

    /// Deletes a disk that is not attached.
    pub async fn disk_delete(&self, opctx: &OpContext, disk: &Selector) -> Result<(), Error> {
        let disk = self.disk(opctx, disk, Action::Delete).await?;
        self.datastore.disk_delete(disk.id).await
    }
}
