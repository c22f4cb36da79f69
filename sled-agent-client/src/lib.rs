//! A client of the API of sled agents, generated from its OpenAPI document.
//!
//! Nothing here is written by hand but the choice of the types that both sides share, and
//! [`client`], which makes a client that does not wait for ever.

pub use nexus_common::client::Timeouts;

progenitor::generate_api!(
    spec = "../openapi/sled-agent.json",
    derives = [PartialEq],
    replace = {
        Generation = nexus_internal_api::types::Generation,
        Hostname = nexus_common::Hostname,
        IpNet = oxnet::IpNet,
        Ipv4Net = oxnet::Ipv4Net,
        Ipv6Net = oxnet::Ipv6Net,
        MacAddr = nexus_common::MacAddr,
        MigrationRuntimeState = nexus_internal_api::types::MigrationRuntimeState,
        MigrationState = nexus_internal_api::types::MigrationState,
        Name = nexus_common::Name,
        SledVmmState = nexus_internal_api::types::SledVmmState,
        Vni = nexus_common::Vni,
        VmmRuntimeState = nexus_internal_api::types::VmmRuntimeState,
        VmmState = nexus_internal_api::types::VmmState,
    },
);

/// A client of the sled agent at `base_url`. It fails if the system has no room for another HTTP client.
pub fn client(base_url: &str, timeouts: Timeouts) -> Result<Client, reqwest::Error> {
    let http = nexus_common::client::http_client(timeouts)?;
    Ok(Client::new_with_client(base_url, http))
}
