//! What the programs have in common: reading the configuration, starting, and ending.

use crate::config::{self, Config};
use crate::context::SimContext;
use crate::log::logger;
use crate::simulator::Simulator;
use anyhow::{Context, Result};
use clap::Parser;
use dropshot::ServerContext;
use slog::{Logger, info};
use std::future::Future;
use std::path::PathBuf;
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};

#[derive(Parser)]
struct Args {
    /// The configuration, a TOML file
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
}

/// The whole of a simulator's `main`: starts it with the configuration that the command line
/// names, and stops it at SIGINT or SIGTERM. If it cannot be started, one line on stderr says why,
/// and the exit code is 1.
pub fn run<T, C, F, S>(name: &'static str, start: S) -> ExitCode
where
    T: Config,
    C: ServerContext + SimContext + Clone,
    F: Future<Output = Result<Simulator<C>>>,
    S: FnOnce(T, Logger) -> F,
{
    match until_signal(name, start) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn until_signal<T, C, F, S>(name: &'static str, start: S) -> Result<()>
where
    T: Config,
    C: ServerContext + SimContext + Clone,
    F: Future<Output = Result<Simulator<C>>>,
    S: FnOnce(T, Logger) -> F,
{
    let args = Args::parse();
    let config: T = config::load(&args.config)?;
    let (log, _guard) = logger(name, config.log());
    let runtime = tokio::runtime::Runtime::new().context("cannot start")?;
    runtime.block_on(async {
        // Before the start, so that no signal is missed once someone knows that it has started.
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let simulator = start(config, log.clone()).await?;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        info!(log, "stopping");
        simulator.close().await
    })
}
