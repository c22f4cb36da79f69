//! Where servers may listen: not where strangers could listen in, or give orders, unless the
//! configuration says that this is meant.

use super::{Config, ListenConfig};
use anyhow::ensure;
use std::net::SocketAddr;

/// Where the internal API listens by default.
pub(super) fn internal() -> ListenConfig {
    loopback(12221)
}

/// Where the operator's API listens by default.
pub(super) fn operator() -> ListenConfig {
    loopback(12232)
}

fn loopback(port: u16) -> ListenConfig {
    ListenConfig { bind_address: SocketAddr::from(([127, 0, 0, 1], port)), insecure: false }
}

/// Whether only this machine can connect there.
fn is_local(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

impl Config {
    /// Fails, with one line that says what to change, if a server would listen where it should
    /// not.
    pub(super) fn check_exposure(&self) -> anyhow::Result<()> {
        let external = &self.external;
        let address = external.bind_address;
        ensure!(
            external.tls.is_some() || external.insecure || is_local(address),
            "external.bind_address is {address}, where passwords and tokens would cross the network \
             in the clear: set external.tls.cert_file and external.tls.key_file, or bind to a \
             loopback address, or set external.insecure = true if something else protects it"
        );
        for (name, listen, friends) in [
            ("internal", &self.internal, "sleds, switches and Prometheus"),
            ("operator", &self.operator, "operators"),
        ] {
            let address = listen.bind_address;
            ensure!(
                listen.insecure || is_local(address),
                "{name}.bind_address is {address}, and the {name} API obeys whoever reaches it: bind \
                 it to a loopback address, or set {name}.insecure = true if nobody but {friends} can \
                 reach that address (it cannot ask clients for certificates)"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use toml::{Table, Value};

    /// What is said of a configuration with this instead of the defaults.
    fn checked(server: &str, with: &str) -> Result<(), String> {
        let mut text: Table = "
            id = '7d3f1f0a-3a55-4f0e-9a36-0b9f6d2a51c4'
            external = { bind_address = '127.0.0.1:0' }
            database = { url = 'postgresql://localhost' }
        "
        .parse()
        .expect("it is TOML");
        let with: Table = with.parse().expect("it is TOML");
        text.insert(server.to_string(), Value::Table(with));
        let config: Config = text.try_into().expect("a configuration");
        config.check_exposure().map_err(|error| error.to_string())
    }

    #[test]
    fn servers_are_local_by_default() {
        checked("log", "").expect("nothing is exposed");
    }

    #[test]
    fn strangers_are_kept_away() {
        for server in ["external", "internal", "operator"] {
            for address in ["127.0.0.1:1", "127.8.9.10:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
                checked(server, &format!("bind_address = '{address}'")).expect("it is local");
            }
            for address in ["0.0.0.0:1", "[::]:1", "192.0.2.1:1", "[fd00::1]:1"] {
                let exposed = format!("bind_address = '{address}'\n");
                let said = checked(server, &exposed).expect_err("it is exposed");
                assert!(said.starts_with(&format!("{server}.bind_address is {address}")), "{said}");
                assert!(said.contains(&format!("{server}.insecure = true")), "{said}");
                assert!(!said.contains('\n'), "{said}");
                checked(server, &(exposed + "insecure = true")).expect("it is meant");
            }
        }
    }

    #[test]
    fn tls_protects_the_external_api_anywhere() {
        let tls = "bind_address = '0.0.0.0:1'\ntls = { cert_file = 'c', key_file = 'k' }";
        checked("external", tls).expect("it is protected");
    }
}
