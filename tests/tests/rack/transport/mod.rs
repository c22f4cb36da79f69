//! What clients connect to: certificates, addresses, limits.

mod own_nexus;
mod tls;
mod wire;
