//! The published SDKs, each against a rack of its own: what they can do.

use crate::cargo;
use crate::rack::Rack;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::{Command, Stdio};

/// A published version of the SDK, 0.N.
struct Sdk {
    minor: u8,
    /// The version of the API that it speaks. The first ones do not say so: Nexus must be told how
    /// to answer them.
    unsaid_api_version: Option<&'static str>,
}

/// The steps in the life of a floating IP, in the order in which the programs make them.
const STEPS: [&str; 10] = [
    "project",
    "disk",
    "auto",
    "explicit",
    "lists",
    "instance",
    "attach",
    "ephemeral",
    "update",
    "delete",
];

/// Those that every change is tested with: the newest, and one of each kind that is still in use.
pub const IN_BRIEF: [u8; 3] = [4, 14, 19];

fn published() -> Vec<Sdk> {
    let silent = [
        "0.0.1",
        "0.0.6",
        "20240327.0.0",
        "20240502.0.0",
        "20240710.0.0",
        "20240821.0.0",
        "20241009.0.0",
        "20241204.0.0",
        "20250212.0.0",
        "20250409.0.0",
    ];
    let silent = silent.into_iter().map(Some).chain(std::iter::repeat(None));
    let sdk = |(minor, unsaid_api_version)| Sdk { minor, unsaid_api_version };
    (2..=19).zip(silent).map(sdk).collect()
}

/// Runs the programs for these versions of the SDK, or for all if none is named, and prints a
/// table. The rack's programs must have been built.
pub fn run(minors: &[u8]) -> Result<()> {
    let mut sdks = published();
    for minor in minors {
        let found = sdks.iter().any(|sdk| sdk.minor == *minor);
        ensure!(found, "there is no program for version 0.{minor} of the SDK");
    }
    if !minors.is_empty() {
        sdks.retain(|sdk| minors.contains(&sdk.minor));
    }
    let dir = cargo::target_dir()?.join("clients");
    let mut outcomes = Vec::new();
    for sdk in &sdks {
        cargo::build_client(&sdk.package(), &dir)?;
        outcomes.push(sdk.live(&dir)?);
    }
    println!("SDK   {}", STEPS.map(|step| format!("{step:<10}")).concat());
    for (sdk, outcome) in sdks.iter().zip(&outcomes) {
        let cell = |step: &str| if outcome.passed.iter().any(|s| s == step) { "ok" } else { "-" };
        let cells = STEPS.map(|step| format!("{:<10}", cell(step))).concat();
        println!("0.{:<4}{cells}{}", sdk.minor, outcome.failure.as_deref().unwrap_or_default());
    }
    let failed: Vec<_> = sdks
        .iter()
        .zip(&outcomes)
        .filter(|(_, outcome)| outcome.failure.is_some())
        .map(|(sdk, _)| format!("0.{}", sdk.minor))
        .collect();
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

/// What became of a program.
struct Outcome {
    passed: Vec<String>,
    failure: Option<String>,
}

impl Sdk {
    fn package(&self) -> String {
        format!("sdk-0-{}", self.minor)
    }

    fn live(&self, dir: &Path) -> Result<Outcome> {
        let ready = dir.join(format!("{}.json", self.package()));
        let _rack = Rack::start(&ready, self.unsaid_api_version)?;
        let program = dir.join("debug").join(self.package());
        let output = Command::new(&program)
            .arg(&ready)
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("cannot run {}", program.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let (passed, other): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| STEPS.contains(line));
        let failure = if output.status.success() {
            None
        } else {
            Some(format!("{} ({})", other.join(" "), output.status))
        };
        let passed = passed.into_iter().map(str::to_string).collect();
        Ok(Outcome { passed, failure })
    }
}
