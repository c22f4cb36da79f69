//! What the clients of the project's own APIs have in common.

use std::time::Duration;

/// How long a client waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// For an answer, counted from the request, the connection included.
    pub request: Duration,
}

/// An HTTP client. It fails if the system has no room for another.
pub fn http_client(timeouts: Timeouts) -> Result<reqwest::Client, reqwest::Error> {
    // No proxy, whatever the environment says: these APIs are reached over the underlay or the
    // loopback interface, where there is none.
    reqwest::Client::builder()
        .no_proxy()
        .connect_timeout(timeouts.connect)
        .timeout(timeouts.request)
        .build()
}
