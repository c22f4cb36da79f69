//! What clients may take from a server.

use anyhow::ensure;
use serde::Deserialize;

/// The most that `header_bytes` may be, and what is read of a request's head before it is known to
/// be too large.
pub const HEADER_BYTES_MAX: usize = 64 << 10;

/// What each of the servers takes on at a time, and how long it waits for clients.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// The most connections. Beyond, the client with most of them loses one for each new one.
    pub connections: usize,
    /// The most requests that are handled at a time; one client has at most half of them.
    pub requests: usize,
    /// The most bytes of a request's path and headers together.
    pub header_bytes: usize,
    /// Milliseconds for the TLS handshake and the head of the first request together.
    pub header_timeout_ms: u64,
    /// Milliseconds for the body of a request, and again for taking the answer.
    pub body_timeout_ms: u64,
    /// Milliseconds from an answer to the end of the next request's head.
    pub idle_timeout_ms: u64,
    /// Milliseconds that a request waits for others before it is answered with 503.
    pub queue_timeout_ms: u64,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        LimitsConfig {
            connections: 1024,
            requests: 512,
            header_bytes: 16 << 10,
            header_timeout_ms: 10_000,
            body_timeout_ms: 30_000,
            idle_timeout_ms: 60_000,
            queue_timeout_ms: 5_000,
        }
    }
}

impl LimitsConfig {
    /// Fails, with one line that says what to change, if nobody could be served.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        ensure!(self.connections > 0, "limits.connections must be at least 1");
        ensure!(self.requests > 0, "limits.requests must be at least 1");
        ensure!(
            (1024..=HEADER_BYTES_MAX).contains(&self.header_bytes),
            "limits.header_bytes must be from 1024 to {HEADER_BYTES_MAX}"
        );
        for (name, milliseconds) in [
            ("header", self.header_timeout_ms),
            ("body", self.body_timeout_ms),
            ("idle", self.idle_timeout_ms),
            ("queue", self.queue_timeout_ms),
        ] {
            // An hour is for ever for a client that waits.
            ensure!(
                (1..=3_600_000).contains(&milliseconds),
                "limits.{name}_timeout_ms must be from 1 to 3600000"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn limits_that_let_nobody_in_are_refused() {
        let with = |change: fn(&mut LimitsConfig)| {
            let mut limits = LimitsConfig::default();
            change(&mut limits);
            limits.check().map_err(|error| error.to_string())
        };
        with(|_| {}).expect("the defaults are good");
        for (change, about) in [
            (with(|limits| limits.connections = 0), "limits.connections"),
            (with(|limits| limits.requests = 0), "limits.requests"),
            (with(|limits| limits.header_bytes = 100), "limits.header_bytes"),
            (with(|limits| limits.header_bytes = 1 << 20), "limits.header_bytes"),
            (with(|limits| limits.idle_timeout_ms = 0), "limits.idle_timeout_ms"),
        ] {
            assert!(change.expect_err("refused").contains(about));
        }
    }
}
