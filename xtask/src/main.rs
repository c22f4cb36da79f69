//! The chores of the project: `cargo xtask --help` lists them.
//!
//! This program depends on no database or HTTP library, so that on a new machine it is built in
//! seconds and can install what the rest needs.

#![warn(missing_docs)]

mod cargo;
mod clients;
mod fuzz;
mod install;
mod licenses;
mod rack;
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
    /// Run a rack under random load while random parts of it fail, and check that it kept its
    /// promises
    Chaos {
        /// Arguments for `nexus-chaos`: `--minutes M`, `--seed S`, `--clients N`, `--nat push|pull`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Run the life of a floating IP on the published versions of the SDK, each against a rack, and
    /// print what passed
    Clients {
        /// The N of the versions 0.N [default: all]
        #[arg(value_name = "N")]
        minors: Vec<u8>,
    },
    /// Send a rack requests that are generated from the newest OpenAPI document, and check the
    /// answers
    FuzzApi {
        /// Where the generator begins
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Check formatting, lints with warnings as errors, and the licences of dependencies
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
        Chore::Chaos { args } => become_program("nexus-chaos", |command| command.args(args)),
        Chore::Clients { minors } => {
            install::postgres()?;
            cargo::build()?;
            clients::run(&minors)
        }
        Chore::FuzzApi { seed } => {
            install::postgres()?;
            cargo::build()?;
            fuzz::run(seed)
        }
        Chore::Lint => {
            let mut steps = steps::Steps::default();
            steps.step("fmt", cargo::fmt_check);
            steps.step("licences", licenses::check);
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

fn dev(args: &[String]) -> Result<()> {
    become_program("nexus-dev", |command| command.arg("run-all").args(args))
}

/// Builds everything and becomes one of the programs, so that signals reach it directly.
fn become_program(name: &str, with: impl FnOnce(&mut Command) -> &mut Command) -> Result<()> {
    install::postgres()?;
    cargo::build()?;
    let program = cargo::program(name)?;
    let error = with(&mut Command::new(&program)).exec();
    Err(error).with_context(|| format!("cannot run {}", program.display()))
}

fn openapi(action: OpenapiAction) -> Result<()> {
    let action = match action {
        OpenapiAction::Generate => "generate",
        OpenapiAction::Check => "check",
    };
    cargo::run(Command::new(cargo::program("openapi-manager")?).arg(action))
}
