//! Clients of the APIs of Nexus that no user sees, generated from their OpenAPI documents.
//!
//! [`internal`] is what sled agents and switches call, [`operator`] what the operator's tools
//! call. Nothing here is written by hand but the choice of the types that both sides share, and
//! [`internal_client`] and [`operator_client`], which make clients that do not wait for ever.

use std::time::Duration;

/// What sled agents and switches call.
pub mod internal {
    progenitor::generate_api!(
        spec = "../openapi/nexus-internal.json",
        derives = [PartialEq],
        replace = {
            ByteCount = nexus_common::ByteCount,
            MacAddr = nexus_common::MacAddr,
            Vni = nexus_common::Vni,
        },
    );
}

/// What the operator's tools call.
pub mod operator {
    progenitor::generate_api!(
        spec = "../openapi/nexus-operator.json",
        derives = [PartialEq],
        replace = {
            ByteCount = nexus_common::ByteCount,
            Duration = std::time::Duration,
            Name = nexus_common::Name,
        },
    );
}

/// A client of the internal API at `base_url` that gives up an answer after `timeout`. The
/// generated code says in each request which version it speaks: that of the document.
pub fn internal_client(
    base_url: &str,
    timeout: Duration,
) -> Result<internal::Client, reqwest::Error> {
    Ok(internal::Client::new_with_client(base_url, http_client(timeout)?))
}

/// A client of the operator API at `base_url` that gives up an answer after `timeout`.
pub fn operator_client(
    base_url: &str,
    timeout: Duration,
) -> Result<operator::Client, reqwest::Error> {
    Ok(operator::Client::new_with_client(base_url, http_client(timeout)?))
}

fn http_client(timeout: Duration) -> Result<reqwest::Client, reqwest::Error> {
    // No proxy, whatever the environment says: these APIs are reached over the underlay or the
    // loopback interface, where there is none.
    reqwest::Client::builder().no_proxy().connect_timeout(timeout).timeout(timeout).build()
}
