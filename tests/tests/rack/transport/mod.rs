//! What clients connect to: certificates, addresses, limits.

mod bind;
mod limits;
mod own_nexus;
mod tls;
mod wire;
