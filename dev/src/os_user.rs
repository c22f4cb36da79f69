//! The unprivileged user of the operating system under which PostgreSQL runs.
//!
//! PostgreSQL refuses to run as root. Where `nexus-dev` runs as root (in a container, in CI) the
//! server gets Debian's `postgres` user, or `nobody` where there is none.

use anyhow::{Context, Result};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A user of the operating system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OsUser {
    /// The login name.
    pub name: String,
    /// The user id.
    pub uid: u32,
    /// The primary group's id.
    pub gid: u32,
}

impl OsUser {
    /// The user to become; none where the current one is not root.
    pub fn unprivileged() -> Result<Option<Self>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let user = OsUser::named("postgres").or_else(|_| OsUser::named("nobody"))?;
        Ok(Some(user))
    }

    /// The user of this name.
    pub fn named(name: &str) -> Result<Self> {
        let passwd = std::fs::read_to_string("/etc/passwd").context("cannot read /etc/passwd")?;
        find(&passwd, name).with_context(|| format!("this system has no user {name}"))
    }

    /// Whether this user may pass through `dir` and everything above it.
    pub fn can_reach(&self, dir: &Path) -> bool {
        let Ok(dir) = dir.canonicalize() else { return false };
        dir.ancestors().all(|dir| {
            dir.metadata().is_ok_and(|meta| {
                let enter = match (meta.uid() == self.uid, meta.gid() == self.gid) {
                    (true, _) => 0o100,
                    (false, true) => 0o010,
                    (false, false) => 0o001,
                };
                meta.mode() & enter != 0
            })
        })
    }
}

fn find(passwd: &str, name: &str) -> Option<OsUser> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next()? != name {
            return None;
        }
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        Some(OsUser { name: name.to_string(), uid, gid })
    })
}

#[cfg(test)]
mod test {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn users_are_read_from_passwd() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\npostgres:x:101:104::/var/lib:/bin/sh\n";
        let user = find(passwd, "postgres").expect("it is there");
        assert_eq!((user.uid, user.gid), (101, 104));
        assert_eq!(find(passwd, "postgre"), None);
    }

    #[test]
    fn a_private_directory_cannot_be_reached_by_others() {
        let dir = tempfile::tempdir().expect("a directory");
        let inner = dir.path().join("inner");
        std::fs::create_dir(&inner).expect("a directory");
        let mode = |mode| {
            std::fs::set_permissions(dir.path(), Permissions::from_mode(mode)).expect("ours");
        };
        let stranger = OsUser { name: "stranger".to_string(), uid: 54_321, gid: 54_321 };
        mode(0o700);
        assert!(!stranger.can_reach(&inner));
        mode(0o711);
        let parent_open = dir.path().parent().is_some_and(|parent| stranger.can_reach(parent));
        assert_eq!(stranger.can_reach(&inner), parent_open);
    }
}
