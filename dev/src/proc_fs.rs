//! What `/proc` tells about processes that are not our children.
//!
//! Where there is no `/proc`, nothing is found; what rests on it is a convenience.

use std::path::{Path, PathBuf};

/// Whether a process runs (one that has ended but was not waited for yet does not).
pub fn is_running(pid: u32) -> bool {
    stat(pid).is_some_and(|fields| !matches!(fields.first().map(String::as_str), Some("Z" | "X")))
}

/// When a process started, in clock ticks since boot.
pub fn start_time(pid: u32) -> Option<u64> {
    // Field 22 of the file; the list starts with field 3.
    stat(pid)?.get(19)?.parse().ok()
}

/// The processes whose command line is exactly `argv`.
pub fn with_argv(argv: &[String]) -> Vec<u32> {
    if argv.is_empty() {
        return Vec::new();
    }
    let mut wanted = argv.join("\0").into_bytes();
    wanted.push(0);
    pids()
        .filter(|pid| std::fs::read(of(*pid).join("cmdline")).is_ok_and(|c| c == wanted))
        .collect()
}

/// The processes that work in a directory.
pub fn working_in(dir: &Path) -> Vec<u32> {
    pids()
        .filter(|pid| is_running(*pid))
        .filter(|pid| std::fs::read_link(of(*pid).join("cwd")).is_ok_and(|cwd| cwd == dir))
        .collect()
}

/// The fields of `/proc/PID/stat` after the name, which may itself hold spaces and parentheses.
fn stat(pid: u32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(of(pid).join("stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_string).collect())
}

fn of(pid: u32) -> PathBuf {
    Path::new("/proc").join(pid.to_string())
}

fn pids() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn finds_this_process() {
        let me = std::process::id();
        assert!(is_running(me));
        assert!(start_time(me).is_some_and(|ticks| ticks > 0));
        let argv: Vec<_> = std::env::args().collect();
        assert!(with_argv(&argv).contains(&me));
        let here = std::env::current_dir().expect("a directory");
        assert!(working_in(&here).contains(&me));
    }
}
