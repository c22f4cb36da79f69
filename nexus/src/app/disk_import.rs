//! Disks that are made to be written to by a client before they are used.
//!
//! The client starts to write, writes, stops, and finishes the import; the disk's state says how
//! far it is. As there is no storage behind a disk, what is written is checked and not kept.

use super::authz::Action;
use super::{Nexus, OpContext, Selector};
use crate::db::snapshot::snapshot_of;
use db_model::DiskState;
use nexus_api::types::{FinalizeDisk, ImportBlocksBulkWrite};
use nexus_common::{ByteCount, Error};

/// The most bytes of one write.
const WRITE_MAX: usize = 512 << 10;

impl Nexus {
    /// Begins to write to a disk that waits for its content.
    pub async fn disk_import_start(&self, opctx: &OpContext, disk: &Selector) -> Result<(), Error> {
        let disk = self.disk(opctx, disk, Action::Modify).await?;
        let (from, to) = (DiskState::ImportReady, DiskState::ImportingFromBulkWrites);
        self.datastore.disk_import_step(disk.id, from, to).await
    }

    /// Ends writing to a disk, for now.
    pub async fn disk_import_stop(&self, opctx: &OpContext, disk: &Selector) -> Result<(), Error> {
        let disk = self.disk(opctx, disk, Action::Modify).await?;
        let (from, to) = (DiskState::ImportingFromBulkWrites, DiskState::ImportReady);
        self.datastore.disk_import_step(disk.id, from, to).await
    }

    /// Checks a write to a disk: whole blocks, within the disk, while it takes them.
    pub async fn disk_import_write(
        &self,
        opctx: &OpContext,
        disk: &Selector,
        body: ImportBlocksBulkWrite,
    ) -> Result<(), Error> {
        let disk = self.disk(opctx, disk, Action::Modify).await?;
        if disk.state != DiskState::ImportingFromBulkWrites {
            let message = "cannot import blocks with a bulk write for disk in state";
            return Err(Error::invalid(format!("{message} {}", disk.state)));
        }
        let len = body.base64_encoded_data.len();
        if len > WRITE_MAX {
            return Err(Error::invalid(format!(
                "a bulk write may have at most {WRITE_MAX} bytes, but has {len}"
            )));
        }
        let (len, block_size) = (len as u64, u64::from(disk.block_size.unsigned_abs()));
        if !body.offset.is_multiple_of(block_size) || !len.is_multiple_of(block_size) {
            return Err(Error::invalid(format!(
                "offset and length of a bulk write must be multiples of the block size {block_size}"
            )));
        }
        let size = ByteCount::from_stored(disk.size).to_bytes();
        if body.offset.checked_add(len).is_none_or(|end| end > size) {
            let message = format!("a bulk write must be within the disk's {size} bytes");
            return Err(Error::invalid(message));
        }
        Ok(())
    }

    /// Ends the import of a disk's content.
    pub async fn disk_finalize_import(
        &self,
        opctx: &OpContext,
        disk: &Selector,
        body: FinalizeDisk,
    ) -> Result<(), Error> {
        let disk = self.disk(opctx, disk, Action::Modify).await?;
        let description = || format!("snapshot of finalized disk {}", disk.name);
        let snapshot =
            body.snapshot_name.map(|name| snapshot_of(&disk, name.into(), description()));
        self.datastore.disk_finalize_import(disk.id, snapshot).await
    }
}
