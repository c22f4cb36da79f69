//! A running simulator: the server of the daemon, the server of the control port, and the tasks
//! behind them.

use crate::context::SimContext;
use crate::log::http_logger;
use anyhow::{Context, Result, anyhow};
use dropshot::{
    ApiDescription, ConfigDropshot, HandlerTaskMode, HttpServer, ServerBuilder, ServerContext,
    VersionPolicy,
};
use slog::Logger;
use std::net::SocketAddr;
use std::time::Duration;

/// The most bytes of a request's body that a control port reads.
const CONTROL_BODY_MAX: usize = 1 << 16;

/// How long calls that are being answered may hold up the end.
const CLOSE_BOUND: Duration = Duration::from_secs(1);

/// One of the servers of a simulator.
pub struct Server<C: ServerContext> {
    /// What it serves.
    pub api: ApiDescription<C>,
    /// Where it listens.
    pub bind: SocketAddr,
    /// Which versions of the API it serves.
    pub version_policy: VersionPolicy,
    /// The most bytes of a request's body that it reads.
    pub request_body_max: usize,
}

impl<C: ServerContext> Server<C> {
    /// The server of a control port.
    pub fn control(api: ApiDescription<C>, bind: SocketAddr) -> Self {
        Server {
            api,
            bind,
            version_policy: VersionPolicy::Unversioned,
            request_body_max: CONTROL_BODY_MAX,
        }
    }

    fn start(self, context: C, log: &Logger) -> Result<HttpServer<C>> {
        let config = ConfigDropshot {
            bind_address: self.bind,
            default_request_body_max_bytes: self.request_body_max,
            // What a call has begun goes on when its client leaves, as in the real daemons. What a
            // delayed call does later is what tests are after.
            default_handler_task_mode: HandlerTaskMode::Detached,
            ..ConfigDropshot::default()
        };
        Ok(ServerBuilder::new(self.api, context, http_logger(log))
            .config(config)
            .version_policy(self.version_policy)
            .start()?)
    }
}

/// A running simulator, until [`Simulator::close`].
pub struct Simulator<C: ServerContext> {
    daemon: HttpServer<C>,
    control: HttpServer<C>,
}

impl<C: ServerContext + SimContext + Clone> Simulator<C> {
    /// Starts both servers. It fails if a port is taken.
    pub fn start(context: C, daemon: Server<C>, control: Server<C>, log: &Logger) -> Result<Self> {
        let daemon = daemon.start(context.clone(), log)?;
        let control = control.start(context, log).context("the control port")?;
        slog::info!(log, "listening"; "daemon" => daemon.local_addr(), "control" => control.local_addr());
        Ok(Simulator { daemon, control })
    }

    /// What the servers share.
    pub fn context(&self) -> &C {
        self.daemon.app_private()
    }

    /// The URL of the daemon.
    pub fn url(&self) -> String {
        format!("http://{}", self.daemon.local_addr())
    }

    /// The URL of the control port.
    pub fn sim_url(&self) -> String {
        format!("http://{}", self.control.local_addr())
    }

    /// Ends the tasks and lets go of calls that hang, and gives the other calls a moment.
    pub async fn close(self) -> Result<()> {
        self.context().tasks().end();
        self.context().gate().clear_faults();
        let both = async { tokio::join!(self.daemon.close(), self.control.close()) };
        match tokio::time::timeout(CLOSE_BOUND, both).await {
            Ok((daemon, control)) => daemon.and(control).map_err(|error| anyhow!(error)),
            // Whoever is still waiting for an answer will get none.
            Err(_) => Ok(()),
        }
    }
}
