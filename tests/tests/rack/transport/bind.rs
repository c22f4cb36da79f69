//! Nexus does not start where strangers could listen in, or give orders.

use crate::own_nexus::{command, table};
use toml::Table;

/// A configuration that needs nothing but itself to be refused.
fn config() -> Table {
    "
        id = '7d3f1f0a-3a55-4f0e-9a36-0b9f6d2a51c4'
        external = { bind_address = '127.0.0.1:0' }
        database = { url = 'postgresql://nobody@127.0.0.1:1/nowhere' }
    "
    .parse()
    .expect("it is TOML")
}

#[test]
fn an_exposed_server_is_refused_in_one_line() {
    for server in ["external", "internal", "operator"] {
        let mut config = config();
        table(&mut config, server).insert("bind_address".to_string(), "0.0.0.0:0".into());
        let dir = tempfile::tempdir().expect("a directory");
        let output = command(&config, dir.path()).output().expect("nexus runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains(&format!("{server}.bind_address is 0.0.0.0:0")), "{said}");
        assert!(said.contains(&format!("set {server}.insecure = true")), "{said}");
    }
}
