//! Free ports on the loopback address.
//!
//! A server's port must be known before the server runs, since others are told of it. A port that
//! the kernel picks can be taken by any outgoing connection in the meantime, so ports are picked
//! from below the range that outgoing connections use.

use anyhow::{Result, bail, ensure};
use rand::Rng;
use std::collections::HashSet;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Mutex, PoisonError};

/// Ports that this process has given out: a second rack in the same process must not get them
/// before the first one's servers are listening.
static GIVEN: Mutex<Option<HashSet<u16>>> = Mutex::new(None);

const LOWEST: u16 = 10_240;

/// A port that nothing listens on and that this process has not given out before.
pub fn pick() -> Result<u16> {
    const TRIES: usize = 1000;
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    let given = given.get_or_insert_default();
    let below = outgoing_from();
    for _ in 0..TRIES {
        let port = rand::rng().random_range(LOWEST..below);
        if is_free(port) && given.insert(port) {
            return Ok(port);
        }
    }
    bail!("no free port found between {LOWEST} and {below}")
}

/// Fails, with one clear line, if something listens on a port.
pub fn ensure_free(port: u16, whose: &str, hint: &str) -> Result<()> {
    ensure!(is_free(port), "port {port}, which {whose} needs, is taken by another process: {hint}");
    Ok(())
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// The lowest port that the kernel gives to outgoing connections.
fn outgoing_from() -> u16 {
    const USUAL: u16 = 32_768;
    std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range")
        .ok()
        .and_then(|range| range.split_whitespace().next()?.parse().ok())
        .filter(|first| *first > LOWEST + 1000)
        .unwrap_or(USUAL)
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn ports_are_free_and_given_once() {
        let ports: HashSet<_> = (0..50).map(|_| pick().expect("a port")).collect();
        assert_eq!(ports.len(), 50);
    }

    #[test]
    fn a_taken_port_is_named() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let error = ensure_free(port, "nexus-0", "choose another").expect_err("it is taken");
        assert_eq!(
            error.to_string(),
            format!(
                "port {port}, which nexus-0 needs, is taken by another process: choose another"
            )
        );
    }
}
