//! Running cargo, and what it has built.
//!
//! Always with `--workspace`: the features of shared dependencies depend on which packages are
//! built together, and a build of fewer would compile half of them anew.

use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Fails if a file is not formatted.
pub fn fmt_check() -> Result<()> {
    run(cargo().args(["fmt", "--all", "--check"]))
}

/// Lints everything; a warning is a failure.
pub fn clippy() -> Result<()> {
    run(cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

/// Builds everything, programs included: the tests run them.
pub fn build() -> Result<()> {
    run(cargo().args(["build", "--workspace"]))
}

/// Runs all tests. A rack is five processes besides its test, so there is a limit on how many
/// tests run at once, whatever the number of cores.
pub fn test(args: &[String]) -> Result<()> {
    let mut command = cargo();
    command.args(["test", "--workspace", "--no-fail-fast", "--"]).args(args);
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        command.env("RUST_TEST_THREADS", "4");
    }
    run(&mut command)
}

/// Builds a program on a published version of the SDK; everything of it goes to this directory.
pub fn build_client(package: &str, dir: &Path) -> Result<()> {
    let mut command = cargo();
    command.args(["build", "--locked", "--manifest-path", "clients/Cargo.toml", "-p", package]);
    run(command.env("CARGO_TARGET_DIR", dir))
}

/// Runs a command in the root of the repository; fails if it does.
pub fn run(command: &mut Command) -> Result<()> {
    command.current_dir(root()?);
    let name = command.get_program().to_string_lossy().into_owned();
    let words: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
    let shown = format!("{} {}", name.rsplit('/').next().unwrap_or(&name), words.join(" "));
    eprintln!("$ {shown}");
    let status = command.status().with_context(|| format!("cannot run {name}"))?;
    ensure!(status.success(), "`{shown}` failed ({status})");
    Ok(())
}

/// The packages of other people that the workspace is built from here, each with its version and
/// the licences that it names.
pub fn licenses() -> Result<BTreeSet<(String, String)>> {
    let mut command = cargo();
    command.args(["tree", "--workspace", "--locked", "--edges", "normal,build,dev"]);
    command.args(["--prefix", "none", "--format", "{p}\t{l}"]);
    let output = command.current_dir(root()?).output().context("cannot run cargo tree")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`cargo tree` failed: {}", said.trim());
    let text = String::from_utf8(output.stdout).context("what cargo tree prints is not UTF-8")?;
    // What was printed before with all that it brings along is marked.
    let lines = text.lines().map(|line| line.trim_end_matches("(*)").trim_end_matches(' '));
    let packages = lines.filter_map(|line| line.split_once('\t'));
    // A package of this workspace has its path behind its version.
    let of_others = packages.filter(|(package, _)| !package.contains("(/"));
    Ok(of_others.map(|(package, license)| (package.to_string(), license.to_string())).collect())
}

/// A program that the build has made: it lies beside this one.
pub fn program(name: &str) -> Result<PathBuf> {
    let this = std::env::current_exe().context("cannot find this program's directory")?;
    Ok(this.parent().unwrap_or(Path::new(".")).join(name))
}

/// Where the tests' server logs the statements that it executes.
pub fn sql_log_dir() -> Result<PathBuf> {
    Ok(target_dir()?.join("tmp").join("sql-log"))
}

/// Cargo's target directory.
pub fn target_dir() -> Result<PathBuf> {
    let this = std::env::current_exe().context("cannot find this program's directory")?;
    let target = this.ancestors().nth(2).context("this program was not built by cargo")?;
    Ok(target.to_path_buf())
}

/// The root of the repository.
pub fn root() -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().map(Path::to_path_buf).context("this crate lies below the repository's root")
}

/// The cargo that runs this program.
fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}
