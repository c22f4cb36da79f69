//! What clients connect to: certificates, addresses, limits.

mod bind;
mod limits;
mod tls;
mod wire;
