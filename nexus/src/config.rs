//! The configuration file (TOML).

mod exposure;
mod limits;

pub use limits::{HEADER_BYTES_MAX, LimitsConfig};

use anyhow::{Context, ensure};
use nexus_common::Name;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::{Ipv6Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// The whole configuration of a Nexus.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Tells this Nexus from others on the same database, from one start to the next.
    pub id: Uuid,
    #[serde(default)]
    pub log: LogConfig,
    pub database: DatabaseConfig,
    pub external: ExternalConfig,
    #[serde(default = "exposure::internal")]
    pub internal: ListenConfig,
    #[serde(default = "exposure::operator")]
    pub operator: ListenConfig,
    #[serde(default)]
    pub limits: LimitsConfig,
    #[serde(default)]
    pub console: ConsoleConfig,
    #[serde(default)]
    pub dataplane: DataplaneConfig,
    #[serde(default)]
    pub sagas: SagaConfig,
    #[serde(default)]
    pub audit: AuditConfig,
}

/// The audit log.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AuditConfig {
    /// Seconds that an entry is kept.
    pub keep_secs: u64,
    /// Seconds after which a request that began is no longer expected to be answered by anyone.
    pub give_up_secs: u64,
}

impl Default for AuditConfig {
    fn default() -> Self {
        AuditConfig { keep_secs: 90 * 24 * 3600, give_up_secs: 3600 }
    }
}

/// What is logged; to standard error.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogConfig {
    /// `trace`, `debug`, `info`, `warn`, `error` or `critical`.
    pub level: String,
    /// Lines of JSON (bunyan) instead of lines for people.
    pub json: bool,
}

impl Default for LogConfig {
    fn default() -> Self {
        LogConfig { level: "info".to_string(), json: false }
    }
}

/// The database.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseConfig {
    /// `postgresql://user:password@host:port/database`; CockroachDB takes the same.
    pub url: String,
    /// The most connections that this Nexus opens.
    #[serde(default = "default_max_connections")]
    pub max_connections: u32,
    /// Milliseconds that a request waits for a connection before it is answered with 503.
    #[serde(default = "default_acquire_timeout_ms")]
    pub acquire_timeout_ms: u64,
}

impl DatabaseConfig {
    /// The database at this URL, with everything else as it is by default.
    pub fn with_url(url: String) -> Self {
        DatabaseConfig {
            url,
            max_connections: default_max_connections(),
            acquire_timeout_ms: default_acquire_timeout_ms(),
        }
    }
}

/// The URL holds a password.
impl std::fmt::Debug for DatabaseConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DatabaseConfig")
            .field("max_connections", &self.max_connections)
            .field("acquire_timeout_ms", &self.acquire_timeout_ms)
            .finish_non_exhaustive()
    }
}

fn default_max_connections() -> u32 {
    32
}

fn default_acquire_timeout_ms() -> u64 {
    5_000
}

/// The external API.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExternalConfig {
    pub bind_address: SocketAddr,
    /// The API version of requests that name none; the newest if absent.
    pub default_api_version: Option<semver::Version>,
    /// The certificate; without one the API speaks plain HTTP.
    pub tls: Option<TlsConfig>,
    /// Whether it may listen without TLS where other machines can connect.
    #[serde(default)]
    pub insecure: bool,
}

/// The files of a certificate, in the PEM format.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// The server's certificate, then those that lead from it towards its root.
    pub cert_file: PathBuf,
    /// The private key of the first.
    pub key_file: PathBuf,
}

/// How people log in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConsoleConfig {
    /// Seconds after which a session ends that is not used.
    pub session_idle_timeout_secs: u32,
    /// Seconds after which every session ends.
    pub session_absolute_timeout_secs: u32,
    /// Whether browsers reach this server by HTTPS though it listens without TLS itself, as
    /// behind a proxy that ends TLS: then its cookies are for HTTPS alone.
    pub behind_tls: bool,
    /// The directory of the web console's files, with `index.html` and `assets`.
    pub static_dir: Option<PathBuf>,
    /// The silo whose login page people see whose host's name is not that of another.
    pub default_silo: Name,
}

impl Default for ConsoleConfig {
    fn default() -> Self {
        ConsoleConfig {
            session_idle_timeout_secs: 8 * 3600,
            session_absolute_timeout_secs: 24 * 3600,
            behind_tls: false,
            static_dir: None,
            default_silo: Name::from_stored("default-silo".to_string()),
        }
    }
}

impl ConsoleConfig {
    /// Refuses a directory that is not one of a console's files.
    fn check(&self) -> anyhow::Result<()> {
        let Some(dir) = &self.static_dir else { return Ok(()) };
        ensure!(
            dir.join("index.html").is_file(),
            "console.static_dir is {}, where there is no index.html: give it the directory of the \
             console's files, or leave it out",
            dir.display()
        );
        Ok(())
    }
}

/// Where a server listens.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListenConfig {
    pub bind_address: SocketAddr,
    /// Whether it may listen where other machines can connect, though it asks nobody who they are.
    #[serde(default)]
    pub insecure: bool,
}

/// How switches get their NAT entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NatMode {
    /// Nexus writes them.
    #[default]
    Push,
    /// Nexus pokes the switch, which pulls from the changeset feed.
    Pull,
}

/// The switches and the way to the sleds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DataplaneConfig {
    pub nat_mode: NatMode,
    pub switches: Vec<SwitchConfig>,
    /// Base URLs of sled agents by underlay address, where this host has no route to the underlay
    /// itself (a rack that runs on one machine). Others are reached at the address and port that
    /// they registered.
    pub underlay: BTreeMap<Ipv6Addr, String>,
    /// Milliseconds until a connection to a switch or a sled is given up.
    pub connect_timeout_ms: u64,
    /// Milliseconds until a call to a switch is given up; also the longest that a user's
    /// operation waits for a switch.
    pub request_timeout_ms: u64,
    /// Milliseconds until a call to a sled is given up.
    pub sled_timeout_ms: u64,
    /// Seconds between two runs of the NAT reconciler of a switch that nothing else woke.
    pub reconcile_period_secs: u64,
    /// Seconds that a removed NAT entry stays in the changeset feed after every switch has passed
    /// it, for other readers of the feed.
    pub keep_removed_nat_secs: u64,
}

impl Default for DataplaneConfig {
    fn default() -> Self {
        DataplaneConfig {
            nat_mode: NatMode::Push,
            switches: Vec::new(),
            underlay: BTreeMap::new(),
            connect_timeout_ms: 1_000,
            request_timeout_ms: 2_000,
            sled_timeout_ms: 5_000,
            reconcile_period_secs: 3,
            keep_removed_nat_secs: 600,
        }
    }
}

/// A boundary switch.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchConfig {
    /// `switch0` or `switch1`.
    pub slot: String,
    /// Base URL of its dpd.
    pub url: String,
}

/// Who runs sagas, and for how long they are kept.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SagaConfig {
    /// Milliseconds that the lease of this process lasts without being renewed; then other
    /// Nexuses take its sagas.
    pub lease_ms: u64,
    /// Seconds that a finished saga is kept.
    pub keep_finished_secs: u64,
}

impl Default for SagaConfig {
    fn default() -> Self {
        SagaConfig { lease_ms: 5_000, keep_finished_secs: 7 * 24 * 3600 }
    }
}

/// Whether everyone on this machine may read a file.
pub fn is_public(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|meta| meta.permissions().mode() & 0o004 != 0)
}

impl Config {
    /// Reads and checks the file.
    pub fn from_file(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| anyhow::anyhow!("reading {}: {error}", path.display()))?;
        let config: Config = toml::from_str(&text)
            .map_err(|error| anyhow::anyhow!("{}: {}", path.display(), error.message()))?;
        let checked = config
            .check_exposure()
            .and_then(|()| config.limits.check())
            .and_then(|()| config.console.check());
        checked.with_context(|| path.display().to_string())?;
        Ok(config)
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use serde::de::value::Error;
    use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
    use std::collections::BTreeSet;

    /// Learns the fields of a structure from what it asks to be read from.
    struct Fields<'a>(&'a mut Vec<&'static str>);

    impl<'de> Deserializer<'de> for Fields<'_> {
        type Error = Error;

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _name: &'static str,
            fields: &'static [&'static str],
            _visitor: V,
        ) -> Result<V::Value, Error> {
            self.0.extend(fields);
            Err(Error::custom("no more is wanted"))
        }

        fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Error> {
            Err(Error::custom("not a structure"))
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
            unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }

    fn keys<T: DeserializeOwned>(prefix: &str) -> Vec<String> {
        let mut fields = Vec::new();
        // An error, always: that is how it stops after the names.
        let _ = T::deserialize(Fields(&mut fields));
        assert!(!fields.is_empty(), "{prefix}");
        fields.into_iter().map(|field| format!("{prefix}{field}")).collect()
    }

    /// The keys in the tables of docs/operations.md are the keys that there are.
    #[test]
    fn the_documented_keys_are_the_keys_that_exist() {
        let mut exist = BTreeSet::new();
        for key in keys::<Config>("") {
            exist.extend(match key.as_str() {
                "id" => vec![key],
                "log" => keys::<LogConfig>("log."),
                "database" => keys::<DatabaseConfig>("database."),
                "external" => keys::<ExternalConfig>("external."),
                "internal" | "operator" => keys::<ListenConfig>(&format!("{key}.")),
                "limits" => keys::<LimitsConfig>("limits."),
                "dataplane" => keys::<DataplaneConfig>("dataplane."),
                "sagas" => keys::<SagaConfig>("sagas."),
                "audit" => keys::<AuditConfig>("audit."),
                "console" => keys::<ConsoleConfig>("console."),
                _ => panic!("how does {key} look? Add it here"),
            });
        }
        exist.remove("external.tls");
        exist.extend(keys::<TlsConfig>("external.tls."));
        exist.remove("dataplane.switches");
        exist.extend(keys::<SwitchConfig>("dataplane.switches."));
        let text = include_str!("../../docs/operations.md");
        let (_, text) = text.split_once("\n## The configuration file\n").expect("the section");
        let (text, _) = text.split_once("\n## ").expect("its end");
        let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        let documented: BTreeSet<String> = rows.map(|(key, _)| key.to_string()).collect();
        assert_eq!(documented, exist);
    }
}
