//! Installs what a new machine lacks: the PostgreSQL server, and a browser for the tests.

use anyhow::{Result, ensure};
use std::path::Path;
use std::process::Command;

/// Debian's package makes and starts a database cluster of the system's own, which nobody here
/// needs. It asks `createcluster.conf` whether to; a line is put there for the time of the
/// installation, unless the machine's owner has decided already.
const SCRIPT: &str = r#"
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends postgresql-common
conf=/etc/postgresql-common/createcluster.conf
if ! grep -q '^[[:space:]]*create_main_cluster' "$conf" 2>/dev/null; then
    cp -p "$conf" "$conf.before-nexus"
    trap 'mv "$conf.before-nexus" "$conf"' EXIT
    echo 'create_main_cluster = false' >> "$conf"
fi
apt-get install -y --no-install-recommends postgresql
"#;

const BROWSER_SCRIPT: &str = r#"
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends chromium
"#;

const BY_HAND: &str = "PostgreSQL's server programs are missing and could not be installed. Install \
    them by hand, then run this again: on Debian and Ubuntu, `apt-get install postgresql` as root; \
    elsewhere, any PostgreSQL from version 14 on, with `initdb` and `postgres` in PATH";

/// Installs the PostgreSQL server, unless it is there.
pub fn postgres() -> Result<()> {
    if has_postgres() {
        return Ok(());
    }
    eprintln!("PostgreSQL's server is missing: installing Debian's package");
    ensure!(run_as_root(SCRIPT) && has_postgres(), BY_HAND);
    Ok(())
}

/// Installs the browser that a test drives, unless it is there.
pub fn browser() -> Result<()> {
    const BROWSER: &str = "chromium";
    if in_path(BROWSER) {
        return Ok(());
    }
    eprintln!("Chromium is missing: installing Debian's package");
    ensure!(
        run_as_root(BROWSER_SCRIPT) && in_path(BROWSER),
        "Chromium is missing and could not be installed. Install it by hand, then run this again: \
         on Debian and Ubuntu, `apt-get install chromium` as root; elsewhere, with `chromium` in \
         PATH"
    );
    Ok(())
}

/// Runs a script of apt's commands as root. False if it fails, or cannot be.
fn run_as_root(script: &str) -> bool {
    let mut command = match (in_path("apt-get"), is_root(), in_path("sudo")) {
        (true, true, _) => Command::new("sh"),
        (true, false, true) => {
            let mut sudo = Command::new("sudo");
            sudo.arg("sh");
            sudo
        }
        _ => return false,
    };
    command.args(["-c", script]).status().is_ok_and(|status| status.success())
}

/// Whether the server's programs are in `PATH`, or where Debian puts them.
fn has_postgres() -> bool {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let programs = ["initdb", "postgres"];
    programs.iter().all(|program| in_path(program))
        || versions.flatten().any(|version| {
            programs.iter().all(|program| version.path().join("bin").join(program).exists())
        })
}

fn in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).exists())
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    // A process's own entry belongs to the user that it runs as.
    Path::new("/proc/self").metadata().is_ok_and(|meta| meta.uid() == 0)
}
