//! What the system says of this process.

/// Bytes of memory that are resident, if `/proc` is there to tell.
pub fn resident_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Open file descriptors, if `/proc` is there to tell.
pub fn open_fds() -> Option<usize> {
    // The descriptor that reads the directory is none of ours.
    Some(std::fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1))
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn proc_is_read() {
        assert!(resident_memory().is_some_and(|bytes| bytes > 1 << 20));
        assert!(open_fds().is_some_and(|fds| fds >= 3));
    }
}
