//! Requests that a generator makes from the newest OpenAPI document: whatever comes, no answer is
//! a server's error, or one that the document does not tell of.

use crate::cargo;
use crate::rack::Rack;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The generator, from PyPI.
const SCHEMATHESIS: &str = "schemathesis==4.32.5";
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_schema_conformance";
/// What would lock the generator out of the rack.
const EXCLUDED: &str = "/policy$|/logout$|access-tokens";
/// Requests of each kind for an operation.
const EXAMPLES: &str = "40";
/// As many requests there have to be at least.
const REQUESTS_MIN: usize = 2000;

/// Sends generated requests to a rack: first such that name things that are there, then any. The
/// rack's programs must have been built.
pub fn run(seed: u64) -> Result<()> {
    let dir = cargo::target_dir()?.join("fuzz");
    let python = python(&dir)?;
    let ready = dir.join("ready.json");
    let _rack = Rack::start(&ready, None)?;
    let sources = cargo::root()?.join("xtask/fuzz");
    cargo::run(Command::new(&python).arg(sources.join("furnish.py")).arg(&ready))?;
    let target = Target::read(&python, &ready)?;
    let names = sources.join("names.toml");
    let mut requests = target.generate(&dir, &names, &["--exclude-method", "DELETE"], seed)?;
    requests += target.generate(&dir, &sources.join("any.toml"), &[], seed)?;
    ensure!(requests >= REQUESTS_MIN, "only {requests} requests were made");
    println!("{requests} requests, and no answer that should not be");
    Ok(())
}

/// Makes a virtual environment with the generator, unless there is one. The answer is its Python.
fn python(dir: &Path) -> Result<PathBuf> {
    let venv = dir.join(format!("venv-{SCHEMATHESIS}"));
    let python = venv.join("bin/python");
    if !venv.join("bin/schemathesis").exists() {
        cargo::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))
            .context("Python 3 with venv is needed: on Debian, `apt-get install python3-venv`")?;
        cargo::run(Command::new(&python).args(["-m", "pip", "install", "-q", SCHEMATHESIS]))?;
    }
    Ok(python)
}

/// Where requests go.
struct Target {
    python: PathBuf,
    url: String,
    token: String,
}

impl Target {
    fn read(python: &Path, ready: &Path) -> Result<Self> {
        const PRINT: &str = "import json, sys; ready = json.load(open(sys.argv[1])); \
                             print(ready['external_api'][0], ready['token'])";
        let output = Command::new(python).args(["-c", PRINT]).arg(ready).output()?;
        let text = String::from_utf8(output.stdout)?;
        let (url, token) = text.trim().split_once(' ').context("the ready file is not one")?;
        Ok(Target { python: python.to_path_buf(), url: url.to_string(), token: token.to_string() })
    }

    /// Runs the generator. The answer is the number of requests that it made.
    fn generate(&self, dir: &Path, config: &Path, more: &[&str], seed: u64) -> Result<usize> {
        let document = cargo::root()?.join("openapi/nexus/nexus-latest.json");
        let output = Command::new(self.python.with_file_name("schemathesis"))
            .env("NEXUS_TOKEN", &self.token)
            .arg("--config-file")
            .arg(config)
            .arg("run")
            .arg(document)
            .args(["--url", &self.url, "--phases", "fuzzing", "--continue-on-failure"])
            .args(["--checks", CHECKS, "--exclude-path-regex", EXCLUDED])
            .args(["--max-examples", EXAMPLES, "--seed", &seed.to_string()])
            .args(["--workers", "2", "--no-color"])
            .args(more)
            // It keeps what it has learnt beside where it runs.
            .current_dir(dir)
            .stderr(Stdio::inherit())
            .output()
            .context("cannot run the generator")?;
        let text = String::from_utf8_lossy(&output.stdout);
        println!("{text}");
        ensure!(output.status.success(), "there were failures ({})", output.status);
        let made = |line: &str| line.trim().split_once(" generated")?.0.parse().ok();
        text.lines().find_map(made).context("the generator does not say what it made")
    }
}
