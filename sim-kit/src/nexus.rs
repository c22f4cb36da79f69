//! Asking Nexus, of which there may be several that all have the same answer.

use anyhow::Result;
use http::StatusCode;
use nexus_client::internal::{Client, types};
use progenitor_client::{Error, ResponseValue};
use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How long one Nexus may take to answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The internal API of each Nexus.
pub struct NexusClients {
    clients: Vec<(String, Client)>,
    /// The one that answered last. It is asked first, so that one that is down or stuck does not
    /// cost every request a timeout.
    last: AtomicUsize,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum NexusError {
    /// The request is wrong, says a Nexus: every other would say so too, now and later.
    Refused(StatusCode, String),
    /// No Nexus could do it now.
    Failed(String),
}

impl fmt::Display for NexusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NexusError::Refused(status, message) => write!(f, "Nexus refuses: {status}: {message}"),
            NexusError::Failed(message) => f.write_str(message),
        }
    }
}

impl fmt::Debug for NexusClients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clients.iter().map(|(url, _)| url)).finish()
    }
}

impl NexusClients {
    /// Clients of the Nexus servers whose internal APIs are at these URLs.
    pub fn new(urls: &[String]) -> Result<Self> {
        let client = |url: &String| Ok((url.clone(), nexus_client::internal_client(url, TIMEOUT)?));
        let clients = urls.iter().map(client).collect::<Result<_>>()?;
        Ok(NexusClients { clients, last: AtomicUsize::new(0) })
    }

    /// Asks one Nexus after the other, until one has an answer.
    pub async fn ask<T, F>(&self, request: impl Fn(Client) -> F) -> Result<T, NexusError>
    where
        F: Future<Output = Result<ResponseValue<T>, Error<types::Error>>>,
    {
        let first = self.last.load(Ordering::Relaxed);
        let mut failure = "there is no Nexus".to_string();
        for n in 0..self.clients.len() {
            let at = (first + n) % self.clients.len();
            let (url, client) = &self.clients[at];
            match request(client.clone()).await {
                Ok(answer) => {
                    self.last.store(at, Ordering::Relaxed);
                    return Ok(answer.into_inner());
                }
                Err(Error::ErrorResponse(answer)) if answer.status().is_client_error() => {
                    let status = answer.status();
                    return Err(NexusError::Refused(status, answer.into_inner().message));
                }
                Err(error) => failure = format!("{url}: {error}"),
            }
        }
        Err(NexusError::Failed(failure))
    }
}
