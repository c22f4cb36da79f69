//! The Nexus program: the server, and the chores of its database.

mod open_files;

use anyhow::Context;
use clap::{Parser, Subcommand};
use nexus::app::{Nexus, hash_password, hash_token};
use nexus::config::{Config, DatabaseConfig, LogConfig, is_public};
use nexus::db::auth::Bootstrap;
use nexus::db::{Datastore, migrate};
use nexus::http::Servers;
use nexus::metrics::Metrics;
use slog::{Drain, Logger, info, o, warn};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};

/// The control plane of floating IPs.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Args {
    /// The configuration of the server.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Chores of the database.
    #[command(subcommand)]
    Db(DbCommand),
}

#[derive(Subcommand)]
enum DbCommand {
    /// Bring the database to this program's schema.
    Migrate {
        /// A file that holds the database's URL.
        #[arg(long, value_name = "FILE")]
        database_url_file: PathBuf,
    },
    /// Make the first silo and its administrator, where they are missing.
    Bootstrap {
        /// A file that holds the database's URL.
        #[arg(long, value_name = "FILE")]
        database_url_file: PathBuf,
        /// The silo's name.
        #[arg(long)]
        silo: String,
        /// The administrator's name.
        #[arg(long)]
        user: String,
        /// A file that holds the administrator's API token.
        #[arg(long, value_name = "FILE")]
        token_file: PathBuf,
        /// A file that holds the administrator's password.
        #[arg(long, value_name = "FILE")]
        password_file: PathBuf,
    },
}

fn main() {
    let result = tokio::runtime::Runtime::new()
        .context("starting the runtime")
        .and_then(|runtime| runtime.block_on(run(Args::parse())));
    if let Err(error) = result {
        eprintln!("nexus: {error:#}");
        std::process::exit(1);
    }
}

async fn run(args: Args) -> anyhow::Result<()> {
    match (args.command, args.config) {
        (Some(Command::Db(DbCommand::Migrate { database_url_file })), _) => {
            let url = read(&database_url_file)?;
            let applied = tokio::task::spawn_blocking(move || migrate::migrate(&url)).await??;
            println!("{} migration(s) applied", applied.len());
            Ok(())
        }
        (
            Some(Command::Db(DbCommand::Bootstrap {
                database_url_file,
                silo,
                user,
                token_file,
                password_file,
            })),
            _,
        ) => {
            let url = read(&database_url_file)?;
            let first = Bootstrap {
                silo,
                user,
                token_hash: hash_token(&read(&token_file)?),
                password_hash: hash_password(&read(&password_file)?)?,
            };
            let log = Logger::root(slog::Discard, o!());
            let config = DatabaseConfig::with_url(url);
            Ok(Datastore::connect(&config, Arc::default(), log).await?.bootstrap(first).await?)
        }
        (None, Some(file)) => serve(Config::from_file(&file)?, &file).await,
        (None, None) => anyhow::bail!("nothing to do: see `nexus --help`"),
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    Ok(text.trim().to_string())
}

fn logger(config: &LogConfig) -> anyhow::Result<Logger> {
    let level = slog::Level::from_str(&config.level)
        .map_err(|()| anyhow::anyhow!("no such log level: {}", config.level))?;
    let drain: Box<dyn Drain<Ok = (), Err = slog::Never> + Send> = if config.json {
        Box::new(slog_bunyan::with_name("nexus", std::io::stderr()).build().fuse())
    } else {
        let decorator = slog_term::PlainDecorator::new(std::io::stderr());
        Box::new(slog_term::FullFormat::new(decorator).build().fuse())
    };
    let drain = slog_async::Async::new(drain).chan_size(4096).build().fuse();
    Ok(Logger::root(slog::LevelFilter::new(drain, level).fuse(), o!()))
}

async fn serve(config: Config, file: &Path) -> anyhow::Result<()> {
    let log = logger(&config.log)?;
    if is_public(file) {
        warn!(log, "everyone on this machine may read the configuration and the password in it");
    }
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    open_files::allow_all(&config.limits, config.database.max_connections, &log);
    let metrics = Arc::new(Metrics::new());
    let nexus = tokio::select! {
        nexus = Nexus::start(config.clone(), metrics, log.clone()) => nexus?,
        _ = terminate.recv() => return Ok(()),
        _ = interrupt.recv() => return Ok(()),
    };
    let servers = Servers::start(&config, nexus, &log)?;
    info!(log, "nexus is ready"; "external" => %servers.external_address());
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = hangup.recv() => servers.reload_certificate(),
        }
    }
    info!(log, "nexus stops");
    // Requests that take longer are resumed, as sagas, at the next start.
    let bound = std::time::Duration::from_secs(5);
    match tokio::time::timeout(bound, servers.close()).await {
        Ok(closed) => closed.map_err(|error| anyhow::anyhow!(error)),
        Err(_) => Ok(()),
    }
}
