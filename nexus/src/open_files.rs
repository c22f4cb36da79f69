//! How many files this process may have open: every connection is one.

use nexus::config::LimitsConfig;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use slog::{Logger, warn};

/// What is open besides connections.
const OTHERS: usize = 128;

/// Allows as many as the system lets this process have; says so if that is too few.
pub fn allow_all(limits: &LimitsConfig, database_connections: u32, log: &Logger) {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        warn!(log, "cannot raise the number of open files"; "error" => %error);
    }
    let database = usize::try_from(database_connections).unwrap_or(usize::MAX);
    // There are three servers, and each request that is being handled takes two more.
    let needed = (limits.connections + 2 * limits.requests).saturating_mul(3) + OTHERS + database;
    let allowed = getrlimit(Resource::Nofile).current;
    if let Some(allowed) = allowed.filter(|allowed| *allowed < needed as u64) {
        warn!(log, "too few open files are allowed for all connections that limits.connections and \
            limits.requests allow"; "allowed" => allowed, "needed" => needed);
    }
}
