//! What clients connect to: certificates, addresses, limits.

mod bind;
mod own_nexus;
mod tls;
mod wire;
