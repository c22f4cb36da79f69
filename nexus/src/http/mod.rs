//! The servers: authenticate, parse, call the application, shape the view. No rules.

pub(crate) mod audit;
mod authn;
mod console;
mod external;
mod front;
mod internal;
pub(crate) mod measure;
mod metrics;
mod operation;
mod operator;
mod pages;
mod parameters;
mod unserved;
mod views;

use crate::app::Nexus;
use crate::config::Config;
use dropshot::{
    ApiDescription, ApiDescriptionBuildErrors, ConfigDropshot, HandlerTaskMode, HttpServer,
    ServerBuilder, VersionPolicy,
};
use front::{BodyLimits, Certificate, Front, Pass};
use slog::{Logger, error, info, o, warn};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// The three servers of a Nexus.
pub struct Servers {
    external: Server,
    internal: Server,
    operator: Server,
    certificate: Option<Certificate>,
    log: Logger,
}

/// What clients connect to, and what answers them.
struct Server {
    front: Front,
    dropshot: HttpServer<Arc<Nexus>>,
}

impl Server {
    async fn close(self) -> Result<(), String> {
        let front = self.front.close().await;
        self.dropshot.close().await.and(front)
    }
}

/// What makes one server differ from another.
struct Api<'a> {
    name: &'static str,
    make: fn() -> Result<ApiDescription<Arc<Nexus>>, ApiDescriptionBuildErrors>,
    bind: SocketAddr,
    policy: VersionPolicy,
    body_max: usize,
    certificate: Option<&'a Certificate>,
}

fn dropshot_config(body_max: usize) -> ConfigDropshot {
    ConfigDropshot {
        bind_address: (Ipv4Addr::LOCALHOST, 0).into(),
        default_request_body_max_bytes: body_max,
        // A client that hangs up leaves its request to be finished.
        default_handler_task_mode: HandlerTaskMode::Detached,
        // The address of the connection is the front's.
        log_headers: vec![front::FORWARDED_FOR.to_string()],
        ..Default::default()
    }
}

/// What is looked at in a request to the external API before it is routed.
fn external_policy(default_version: semver::Version) -> anyhow::Result<VersionPolicy> {
    let api = || external::api().map_err(|error| anyhow::anyhow!("{error}"));
    let policy = nexus_api::version::version_policy(default_version);
    let policy = parameters::with_known_parameters(policy, api()?)?;
    Ok(unserved::with_unserved(policy, api()?))
}

impl Servers {
    /// Starts all three.
    pub fn start(config: &Config, nexus: Arc<Nexus>, log: &Logger) -> anyhow::Result<Self> {
        let default_version = config.external.default_api_version.clone();
        let default_version = default_version.unwrap_or_else(nexus_api::version::latest_version);
        let certificate = config.external.tls.as_ref().map(Certificate::read).transpose()?;
        if certificate.as_ref().is_some_and(Certificate::key_is_public) {
            warn!(log, "everyone on this machine may read the private key of the external API");
        }
        let start = |api: Api| {
            let Api { name, make, bind, policy, body_max, certificate } = api;
            let describe = || make().map_err(|error| anyhow::anyhow!("{error}"));
            let log = log.new(o!("server" => name));
            let pass = Pass::new();
            let policy = measure::counted(nexus.metrics.clone(), name, policy, describe()?);
            let server = || -> anyhow::Result<Server> {
                let dropshot = ServerBuilder::new(describe()?, nexus.clone(), log.clone())
                    .config(dropshot_config(body_max))
                    .version_policy(front::only_with(pass.clone(), policy))
                    .start()?;
                let settings = front::Settings {
                    api: name,
                    bind,
                    certificate,
                    limits: config.limits,
                    body_limits: BodyLimits::of(describe()?, body_max),
                    metrics: nexus.metrics.clone(),
                    log,
                };
                let front = Front::start(settings, dropshot.local_addr(), &pass)?;
                Ok(Server { front, dropshot })
            };
            server().map_err(|error| anyhow::anyhow!("{name} API on {bind}: {error:#}"))
        };
        Ok(Servers {
            internal: start(Api {
                name: "internal",
                make: internal::api,
                bind: config.internal.bind_address,
                policy: metrics::aside(nexus_internal_api::internal::version_policy()),
                body_max: nexus_internal_api::internal::REQUEST_BODY_MAX,
                certificate: None,
            })?,
            operator: start(Api {
                name: "operator",
                make: operator::api,
                bind: config.operator.bind_address,
                policy: VersionPolicy::Unversioned,
                body_max: nexus_internal_api::internal::REQUEST_BODY_MAX,
                certificate: None,
            })?,
            external: start(Api {
                name: "external",
                make: external::api,
                bind: config.external.bind_address,
                policy: external_policy(default_version)?,
                body_max: nexus_api::api::REQUEST_BODY_MAX,
                certificate: certificate.as_ref(),
            })?,
            certificate,
            log: log.clone(),
        })
    }

    /// Where the external API listens.
    pub fn external_address(&self) -> SocketAddr {
        self.external.front.local_addr()
    }

    /// Reads the files of the certificate again. Files that are no good are logged, and the old
    /// certificate stays.
    pub fn reload_certificate(&self) {
        let Some(certificate) = &self.certificate else {
            return info!(self.log, "there is no certificate to read again");
        };
        match certificate.reload() {
            Ok(()) => info!(self.log, "new connections get the certificate that was read now"),
            Err(error) => error!(self.log, "the old certificate stays: the new one is no good";
                "error" => format!("{error:#}")),
        }
    }

    /// Stops taking connections, and waits for the requests that are being handled.
    pub async fn close(self) -> Result<(), String> {
        let (external, internal, operator) =
            tokio::join!(self.external.close(), self.internal.close(), self.operator.close());
        external.and(internal).and(operator)
    }
}
