//! The chores of the project: `cargo xtask --help` lists them.
//!
//! This program depends on no database or HTTP library, so that on a new machine it is built in
//! seconds and can install what the rest needs.

#![warn(missing_docs)]

mod cargo;
mod install;
mod sql_rules;
mod steps;
mod test;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// The chores of the project.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Install what is missing, build everything, and run a whole rack until Ctrl-C
    Dev {
        /// Arguments for `nexus-dev run-all`, after `--`
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Install what is missing, then run every check that CI runs
    Test {
        /// Arguments for the tests, after `--`: a filter, `--nocapture`, …
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Check formatting, and lints with warnings as errors
    Lint,
    /// Write the OpenAPI documents in `openapi/`, or check that they are up to date
    Openapi {
        #[command(subcommand)]
        action: OpenapiAction,
    },
    /// Hold the migrations, and every statement that the last tests executed, against the SQL that
    /// both PostgreSQL and CockroachDB accept
    SqlRules,
}

#[derive(Clone, Copy, Subcommand)]
enum OpenapiAction {
    /// Write the documents from the API traits
    Generate,
    /// Fail if a document is not what the API traits say
    Check,
}

fn main() -> ExitCode {
    match run(Cli::parse().chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> Result<()> {
    match chore {
        Chore::Dev { args } => dev(&args),
        Chore::Test { args } => test::run(&args),
        Chore::Lint => {
            let mut steps = steps::Steps::default();
            steps.step("fmt", cargo::fmt_check);
            steps.step("clippy", cargo::clippy);
            steps.finish()
        }
        Chore::Openapi { action } => {
            cargo::build()?;
            openapi(action)
        }
        Chore::SqlRules => sql_rules::check().map(|summary| println!("{summary}")),
    }
}

/// Becomes `nexus-dev run-all`, so that signals reach it directly.
fn dev(args: &[String]) -> Result<()> {
    install::postgres()?;
    cargo::build()?;
    let program = cargo::program("nexus-dev")?;
    let error = Command::new(&program).arg("run-all").args(args).exec();
    Err(error).with_context(|| format!("cannot run {}", program.display()))
}

fn openapi(action: OpenapiAction) -> Result<()> {
    let action = match action {
        OpenapiAction::Generate => "generate",
        OpenapiAction::Check => "check",
    };
    cargo::run(Command::new(cargo::program("openapi-manager")?).arg(action))
}
