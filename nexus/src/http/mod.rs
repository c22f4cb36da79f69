//! The servers: authenticate, parse, call the application, shape the view. No rules.

mod authn;
mod external;
mod internal;
pub(crate) mod measure;
mod metrics;
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
use slog::{Logger, o};
use std::net::SocketAddr;
use std::sync::Arc;

/// The three servers of a Nexus.
pub struct Servers {
    external: HttpServer<Arc<Nexus>>,
    internal: HttpServer<Arc<Nexus>>,
    operator: HttpServer<Arc<Nexus>>,
}

type MakeApi = fn() -> Result<ApiDescription<Arc<Nexus>>, ApiDescriptionBuildErrors>;

fn dropshot_config(bind_address: SocketAddr, body_max: usize) -> ConfigDropshot {
    ConfigDropshot {
        bind_address,
        default_request_body_max_bytes: body_max,
        // A client that hangs up leaves its request to be finished.
        default_handler_task_mode: HandlerTaskMode::Detached,
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
        let body_max = nexus_api::api::REQUEST_BODY_MAX;
        let default_version = config.external.default_api_version.clone();
        let default_version = default_version.unwrap_or_else(nexus_api::version::latest_version);
        let start = |name: &'static str, api: MakeApi, bind: SocketAddr, policy| {
            let describe = || api().map_err(|error| anyhow::anyhow!("{error}"));
            let policy = measure::counted(nexus.metrics.clone(), name, policy, describe()?);
            ServerBuilder::new(describe()?, nexus.clone(), log.new(o!("server" => name)))
                .config(dropshot_config(bind, body_max))
                .version_policy(policy)
                .start()
                .map_err(|error| anyhow::anyhow!("{name} API on {bind}: {error:#}"))
        };
        Ok(Servers {
            internal: start(
                "internal",
                internal::api,
                config.internal.bind_address,
                metrics::aside(nexus_internal_api::internal::version_policy()),
            )?,
            operator: start(
                "operator",
                operator::api,
                config.operator.bind_address,
                VersionPolicy::Unversioned,
            )?,
            external: start(
                "external",
                external::api,
                config.external.bind_address,
                external_policy(default_version)?,
            )?,
        })
    }

    /// Stops taking connections, and waits for the requests that are being handled.
    pub async fn close(self) -> Result<(), String> {
        let (external, internal, operator) =
            tokio::join!(self.external.close(), self.internal.close(), self.operator.close());
        external.and(internal).and(operator)
    }
}
