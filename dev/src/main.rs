//! The program `nexus-dev`: a whole rack on one machine.

use anyhow::Result;
use clap::{Parser, Subcommand};
use nexus_dev::{check, exec_postgres, run_all, watchdog};
use std::process::ExitCode;

/// Runs a whole rack on one machine: database, simulated switches and sleds, and Nexus.
#[derive(Parser)]
#[command(name = "nexus-dev", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start a rack and keep it running until Ctrl-C
    RunAll(run_all::Args),
    /// Prove that a rack at rest is consistent
    ///
    /// Prints each violation on a line. Exits with 0 if there is none, with 1 if there are any, and
    /// with 2 if there is none but not everything could be checked.
    Check(check::Args),
    /// Become a rack's PostgreSQL server (the command line in the ready file)
    #[command(hide = true)]
    ExecPostgres(exec_postgres::Args),
    /// Clear away a rack whose owner was killed (started by the rack itself)
    #[command(hide = true)]
    Watchdog,
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("nexus-dev: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::RunAll(args) => tokio::runtime::Runtime::new()?.block_on(run_all::run(args))?,
        Command::Check(args) => {
            return Ok(tokio::runtime::Runtime::new()?.block_on(check::run(args)));
        }
        Command::ExecPostgres(args) => exec_postgres::run(&args)?,
        Command::Watchdog => {
            watchdog::run(std::io::stdin().lock());
        }
    }
    Ok(ExitCode::SUCCESS)
}
