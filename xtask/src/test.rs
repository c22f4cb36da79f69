//! Everything that CI checks, in the order in which a failure is cheapest to find.

use crate::steps::Steps;
use crate::{OpenapiAction, cargo, clients, install, licenses, openapi, sql_rules};
use anyhow::{Context, Result};

/// Installs what is missing, then runs every check.
pub fn run(args: &[String]) -> Result<()> {
    install::postgres()?;
    install::browser()?;
    let mut steps = Steps::default();
    steps.step("fmt", cargo::fmt_check);
    steps.step("licences", licenses::check);
    steps.step("clippy", cargo::clippy);
    steps.step("build", cargo::build);
    steps.step("openapi", || openapi(OpenapiAction::Check));
    steps.step("tests", || {
        // The rules are for what these tests execute, not for what others did before.
        clear(&cargo::sql_log_dir()?)?;
        cargo::test(args)
    });
    if args.is_empty() {
        steps.step("clients", || clients::run(&clients::IN_BRIEF));
    }
    // A filter leaves out most statements; that there are few of them would mean nothing then.
    if args.is_empty() {
        steps.step("sql-rules", || sql_rules::check().map(|summary| eprintln!("{summary}")));
    }
    steps.finish()
}

fn clear(dir: &std::path::Path) -> Result<()> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", dir.display()))
        }
        _ => Ok(()),
    }
}
