//! Free ports on the loopback address.
//!
//! A server's port must be known before the server runs, since others are told of it. A port that
//! the kernel picks can be taken by any outgoing connection in the meantime, so ports are picked
//! from below the range that outgoing connections use. Several racks may run on one machine, and
//! a part that is down must find its port free when it comes back: a process claims ports before
//! it gives them out, and keeps them until it ends.

use anyhow::{Context, Result, ensure};
use rand::seq::SliceRandom;
use std::net::{Ipv4Addr, TcpListener};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::{Mutex, PoisonError};

/// What this process has claimed.
static CLAIMS: Mutex<Claims> = Mutex::new(Claims { blocks: Vec::new(), unused: Vec::new() });

const LOWEST: u16 = 10_240;

/// Ports are claimed so many at a time, because a claim is an open file.
const BLOCK: u16 = 16;

struct Claims {
    /// Sockets with abstract names (`unix(7)`): nobody else can have the name, and the kernel takes
    /// it back when the process ends, however it ends. Nothing listens on them.
    blocks: Vec<UnixListener>,
    unused: Vec<u16>,
}

impl Claims {
    fn claim_block(&mut self) -> Result<()> {
        let below = outgoing_from();
        let mut firsts: Vec<u16> = (LOWEST..below - BLOCK).step_by(usize::from(BLOCK)).collect();
        firsts.shuffle(&mut rand::rng());
        let claim = |first: u16| Some((first, claim(first)?));
        let (first, block) = firsts
            .into_iter()
            .find_map(claim)
            .with_context(|| format!("all ports from {LOWEST} to {below} are claimed"))?;
        self.blocks.push(block);
        self.unused.extend(first..first + BLOCK);
        Ok(())
    }
}

fn claim(first: u16) -> Option<UnixListener> {
    let name = SocketAddr::from_abstract_name(format!("nexus-ports-{first}")).ok()?;
    UnixListener::bind_addr(&name).ok()
}

/// A port that nothing listens on, and that is given out to nobody else while this process runs.
pub fn pick() -> Result<u16> {
    let mut claims = CLAIMS.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        match claims.unused.pop() {
            Some(port) if is_free(port) => return Ok(port),
            Some(_) => {}
            None => claims.claim_block()?,
        }
    }
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
    use std::collections::HashSet;

    #[test]
    fn ports_are_free_and_given_once() {
        let ports: HashSet<_> = (0..50).map(|_| pick().expect("a port")).collect();
        assert_eq!(ports.len(), 50);
        for port in ports {
            assert!(claim(port - port % BLOCK).is_none(), "{port} is nobody else's to give out");
        }
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
