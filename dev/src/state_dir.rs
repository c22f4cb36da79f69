//! The directory in which a rack keeps everything: databases, configurations, secrets, logs.
//!
//! A directory that a user names is kept and can be resumed from; without one a rack gets a
//! temporary directory, which goes when the rack does. One rack at a time may use a directory: a
//! locked file sees to that, and the lock is let go only when nothing of the rack runs any more.

use crate::proc_fs;
use anyhow::{Context, Result, bail};
use rand::Rng;
use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A state directory that is ours alone.
#[derive(Debug)]
pub struct StateDir {
    path: PathBuf,
    temporary: bool,
    lock: File,
}

impl StateDir {
    /// Opens, or makes, the directory; none: a temporary one.
    pub fn open(path: Option<&Path>) -> Result<Self> {
        let (path, temporary) = match path {
            Some(path) => {
                std::fs::create_dir_all(path)
                    .with_context(|| format!("cannot make the directory {}", path.display()))?;
                let path = path.canonicalize();
                (path.context("cannot find the state directory")?, false)
            }
            None => (temporary_dir()?, true),
        };
        let lock = lock(&path)?;
        Ok(StateDir { path, temporary, lock })
    }

    /// Where it is: an absolute path without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is removed at the end.
    pub fn is_temporary(&self) -> bool {
        self.temporary
    }

    /// Another handle of the lock, for whoever must have ended before the directory is free.
    pub fn lock_handle(&self) -> Result<File> {
        self.lock.try_clone().context("cannot duplicate the lock of the state directory")
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Reads a secret, or makes it if there is none: `make` gets 20 random bytes in hexadecimal.
    pub fn secret(&self, name: &str, make: impl FnOnce(String) -> String) -> Result<String> {
        let path = self.file(name);
        if let Ok(secret) = std::fs::read_to_string(&path) {
            return Ok(secret.trim_end().to_string());
        }
        let secret = make(hex::encode(rand::rng().random::<[u8; 20]>()));
        write_private(&path, &secret)?;
        Ok(secret)
    }
}

impl Drop for StateDir {
    fn drop(&mut self) {
        if self.temporary {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// Writes a file that only its owner can read, in one step: no one ever sees half of it.
pub fn write_private(path: &Path, content: &str) -> Result<()> {
    let written = || -> std::io::Result<()> {
        let partial = path.with_added_extension("partial");
        let mut file = OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(true)
            .mode(0o600)
            .open(&partial)?;
        // A file left by an earlier attempt keeps the mode it had.
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.write_all(content.as_bytes())?;
        std::fs::rename(&partial, path)
    };
    written().with_context(|| format!("cannot write {}", path.display()))
}

/// PostgreSQL's user must be able to pass through; the files with secrets have modes of their own.
fn temporary_dir() -> Result<PathBuf> {
    let made = || -> std::io::Result<PathBuf> {
        let dir = tempfile::Builder::new().prefix("nexus-dev-").tempdir()?.keep();
        std::fs::set_permissions(&dir, Permissions::from_mode(0o711))?;
        dir.canonicalize()
    };
    made().context("cannot make a temporary directory")
}

/// Takes the lock. What a killed rack left behind is being cleared away by its watchdog, which
/// holds the lock meanwhile: that is waited for. A rack that lives is not.
fn lock(dir: &Path) -> Result<File> {
    const CLEARING: Duration = Duration::from_secs(30);
    const STEP: Duration = Duration::from_millis(50);
    let path = dir.join("lock");
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(&path)
        .with_context(|| format!("cannot open {}", path.display()))?;
    let since = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) => {
                if let Some(pid) = holder(&path) {
                    bail!("process {pid} is already running a rack in {}", dir.display());
                }
                if since.elapsed() > CLEARING {
                    bail!("an earlier rack in {} is still being cleared away", dir.display());
                }
                std::thread::sleep(STEP);
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()));
            }
        }
    }
    let me = std::process::id();
    file.set_len(0)?;
    write!(file, "{me} {}", proc_fs::start_time(me).unwrap_or_default())?;
    Ok(file)
}

/// The process that took the lock, if it still runs.
fn holder(path: &Path) -> Option<u32> {
    let text = std::fs::read_to_string(path).ok()?;
    let (pid, started) = text.split_once(' ')?;
    let pid = pid.parse().ok()?;
    let started: u64 = started.parse().ok()?;
    let same = proc_fs::start_time(pid).unwrap_or_default() == started;
    (same && proc_fs::is_running(pid)).then_some(pid)
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_directory_has_one_rack() {
        let dir = tempfile::tempdir().expect("a directory");
        let first = StateDir::open(Some(dir.path())).expect("it is free");
        let error = StateDir::open(Some(dir.path())).expect_err("it is taken").to_string();
        assert!(error.contains(&std::process::id().to_string()), "{error}");
        drop(first);
        StateDir::open(Some(dir.path())).expect("it is free again");
    }

    #[test]
    fn secrets_are_made_once_and_private() {
        let dir = tempfile::tempdir().expect("a directory");
        let state = StateDir::open(Some(dir.path())).expect("it is free");
        let made = state.secret("token", |hex| format!("oxide-token-{hex}")).expect("a secret");
        assert_eq!(made.len(), "oxide-token-".len() + 40);
        assert_eq!(state.secret("token", |hex| hex).expect("the same"), made);
        let mode = state.file("token").metadata().expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn temporary_directories_go() {
        let state = StateDir::open(None).expect("a directory");
        let path = state.path().to_path_buf();
        assert!(path.exists() && state.is_temporary());
        drop(state);
        assert!(!path.exists());
    }
}
