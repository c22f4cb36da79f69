//! A client of the API of dpd, generated from its OpenAPI document.
//!
//! Nothing here is written by hand but the choice of the types that both sides share, and
//! [`client`], which makes a client that does not wait for ever.

pub use nexus_common::client::Timeouts;

progenitor::generate_api!(
    spec = "../openapi/dpd.json",
    derives = [PartialEq],
    replace = { Vni = nexus_common::Vni },
);

/// A client of the dpd at `base_url`. It fails if the system has no room for another HTTP client.
pub fn client(base_url: &str, timeouts: Timeouts) -> Result<Client, reqwest::Error> {
    let http = nexus_common::client::http_client(timeouts)?;
    Ok(Client::new_with_client(base_url, http))
}
