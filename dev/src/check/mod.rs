//! `nexus-dev check`: proves that a rack at rest is consistent, or says what is not.
//!
//! Nexus itself checks its database, the switches, and what the sleds tell ([`Ready::operator_api`]).
//! A sled agent does not tell which external addresses its ports have; the simulators do, so this
//! compares those too ([`ports`]).

mod ports;

use crate::ready::Ready;
use anyhow::{Context, Result, bail};
use nexus_client::operator::Client;
use nexus_client::operator::types::{CheckCounts, Violation};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// What `nexus-dev check` is told.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The ready file of the rack
    #[arg(long, value_name = "FILE")]
    ready_file: PathBuf,
}

/// What a check has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What is not as it must be, a line for each.
    pub violations: Vec<String>,
    /// What could not be checked, a line for each.
    pub unchecked: Vec<String>,
    /// How much was compared, in one line.
    pub summary: String,
}

/// What the exit code says when something is not as it must be.
const VIOLATED: u8 = 1;
/// What the exit code says when not everything could be checked.
const UNCHECKED: u8 = 2;

/// A large database takes its time.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Checks a rack, and prints what it finds.
pub async fn run(args: Args) -> ExitCode {
    let outcome = match Ready::read(&args.ready_file) {
        Ok(ready) => check(&ready).await,
        Err(error) => Err(error),
    };
    match outcome {
        Ok(outcome) => report(&outcome),
        Err(error) => {
            eprintln!("not checked: {error:#}");
            ExitCode::from(UNCHECKED)
        }
    }
}

fn report(outcome: &Outcome) -> ExitCode {
    for violation in &outcome.violations {
        println!("{violation}");
    }
    for what in &outcome.unchecked {
        eprintln!("not checked: {what}");
    }
    if !outcome.violations.is_empty() {
        return ExitCode::from(VIOLATED);
    }
    if !outcome.unchecked.is_empty() {
        return ExitCode::from(UNCHECKED);
    }
    println!("no violations: {}", outcome.summary);
    ExitCode::SUCCESS
}

/// Checks a rack. Fails if no Nexus could be asked, or the one that was could not tell.
pub async fn check(ready: &Ready) -> Result<Outcome> {
    let api = operator(ready).await?;
    let (report, ports) = tokio::join!(api.check_run(), ports::check(ready, &api));
    let report = report.context("Nexus could not check")?.into_inner();
    let ports = ports.context("Nexus could not tell what ports are to have")?;
    let mut violations: Vec<String> = report.violations.iter().map(line).collect();
    if let Some(more) = report.violation_count.checked_sub(violations.len() as u64)
        && more > 0
    {
        violations.push(format!("and {more} more violations"));
    }
    violations.extend(ports.violations);
    let mut unchecked = report.unchecked;
    unchecked.extend(ports.unchecked);
    let summary = summary(&report.compared, ports.compared);
    Ok(Outcome { violations, unchecked, summary })
}

/// A client of the first Nexus that answers.
async fn operator(ready: &Ready) -> Result<Client> {
    let mut refusals = Vec::new();
    for url in &ready.operator_api {
        let api = nexus_client::operator_client(url, TIMEOUT)?;
        match api.bgtask_list().await {
            Ok(_) => return Ok(api),
            Err(error) => refusals.push(format!("{url}: {error}")),
        }
    }
    bail!("no Nexus answers: {}", refusals.join("; "))
}

fn line(violation: &Violation) -> String {
    let mut line = format!("{}: {}", violation.kind, violation.message);
    let mut ids: Vec<_> = violation.ids.iter().collect();
    ids.sort();
    for (what, id) in ids {
        // To a string nothing is written in vain.
        let _ = write!(line, "; {what} {id}");
    }
    line
}

fn summary(counts: &CheckCounts, ports: usize) -> String {
    let CheckCounts {
        external_ips,
        free_addresses,
        pools,
        instances,
        vmms,
        nat_entries,
        switches,
        switch_addresses,
        sleds,
        v2p_mappings,
        children,
    } = counts;
    format!(
        "{external_ips} external IPs and {free_addresses} released addresses of {pools} pools, \
         {instances} instances, {vmms} VMMs, {nat_entries} NAT entries, {switch_addresses} \
         addresses on {switches} switches, {v2p_mappings} v2p mappings on {sleds} sleds, ports of \
         {ports} VMMs, {children} rows with their parents"
    )
}
