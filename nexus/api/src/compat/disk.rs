//! Disks: `disk_source` without a backend, from when there was only one.

use super::fields::both;
use super::{Fields, OldSpellings};
use crate::types::DiskCreate;
use dropshot::HttpError;
use nexus_common::NameOrId;
use serde_json::json;

impl OldSpellings for DiskCreate {
    fn modernize(fields: &mut Fields) -> Result<Option<NameOrId>, HttpError> {
        modernize_disk(fields)?;
        Ok(None)
    }
}

/// Rewrites a disk to create.
pub fn modernize_disk(fields: &mut Fields) -> Result<(), HttpError> {
    if let Some(source) = fields.take("disk_source") {
        if fields.has("disk_backend") {
            return Err(both("disk_source", "disk_backend"));
        }
        fields.set("disk_backend", json!({"type": "distributed", "disk_source": source}));
    }
    Ok(())
}

#[cfg(test)]
mod test {
    use super::super::test_util::{assert_means, read};
    use super::*;

    #[test]
    fn a_source_alone_is_a_distributed_disk() {
        let disk = |name: &str, value: serde_json::Value| json!({"name": "d", "description": "", "size": 1 << 30, name: value});
        let blank = json!({"type": "blank", "block_size": 512});
        let backend = json!({"type": "distributed", "disk_source": blank});
        assert_means::<DiskCreate>(disk("disk_source", blank), disk("disk_backend", backend));
    }

    #[test]
    fn a_source_beside_a_backend_is_refused() {
        let body = json!({"disk_source": {"type": "blank"}, "disk_backend": {"type": "local"}});
        let error = read::<DiskCreate>(body).map(|_| ()).expect_err("a contradiction");
        assert_eq!(error, "cannot specify both `disk_source` and `disk_backend`");
    }
}
