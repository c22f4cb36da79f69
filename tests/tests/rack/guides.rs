//! What the documents show, run as it is shown.
//!
//! A line of a code block that begins with `$ ` is a command, and the lines after it are its
//! output. With `UPDATE_DOCS=1`, what a command prints is written into the document instead of
//! being compared.

use nexus_tests::TestRack;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};
use tokio::process::Command;

/// A line before the output of each command.
const MARK: &str = "@@@ next";

/// A document, cut at its commands.
#[derive(Debug, Default)]
struct Document {
    /// Text, and the command that follows it.
    steps: Vec<(String, String)>,
    /// What each command prints.
    outputs: Vec<String>,
    rest: String,
}

impl Document {
    fn read(text: &str) -> Self {
        let mut document = Document::default();
        let (mut in_block, mut in_output) = (false, false);
        for line in text.lines() {
            if line.starts_with("```") {
                (in_block, in_output) = (!in_block, false);
            }
            match line.strip_prefix("$ ").filter(|_| in_block) {
                Some(command) => {
                    in_output = true;
                    let text = std::mem::take(&mut document.rest);
                    document.steps.push((text, command.to_string()));
                    document.outputs.push(String::new());
                }
                None => {
                    let to = match document.outputs.last_mut().filter(|_| in_output) {
                        Some(output) => output,
                        None => &mut document.rest,
                    };
                    writeln!(to, "{line}").expect("a string takes everything");
                }
            }
        }
        document
    }

    fn with_outputs(&self, outputs: &[String]) -> String {
        let mut text = String::new();
        for ((before, command), output) in self.steps.iter().zip(outputs) {
            write!(text, "{before}$ {command}\n{output}").expect("a string takes everything");
        }
        text + &self.rest
    }
}

/// The text with what differs from run to run replaced: ids by numbers, in the order in which they
/// appear, and times and private IPv6 addresses by what they are.
struct Mask(BTreeMap<String, usize>);

impl Mask {
    fn word(&mut self, word: &str) -> String {
        if uuid::Uuid::try_parse(word).is_ok() {
            let next = self.0.len();
            return format!("id{}", self.0.entry(word.to_string()).or_insert(next));
        }
        if chrono::DateTime::parse_from_rfc3339(word).is_ok() {
            return "time".to_string();
        }
        // A VPC's prefix is random.
        if word.parse::<Ipv6Addr>().is_ok_and(|ip| ip.is_unique_local()) {
            return "private".to_string();
        }
        word.to_string()
    }

    fn text(&mut self, text: &str) -> String {
        let mut masked = String::new();
        for part in text.split_inclusive(['"', ' ', '\n']) {
            let word = part.trim_end_matches(['"', ' ', '\n']);
            masked += &self.word(word);
            masked += &part[word.len()..];
        }
        // Whether the machine is up already when the answer is written is a matter of luck.
        masked.replace("\"run_state\":\"starting\"", "\"run_state\":\"running\"")
    }

    fn all(outputs: &[String]) -> Vec<String> {
        let mut mask = Mask(BTreeMap::new());
        outputs.iter().map(|output| mask.text(output)).collect()
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The shell functions that the README defines.
fn functions() -> String {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("a README");
    let functions: Vec<_> = readme.lines().filter(|line| line.contains("() { ")).collect();
    assert_eq!(functions.len(), 2, "{functions:?}");
    functions.join("\n")
}

/// What the commands print, run one after the other in one shell.
async fn run(rack: &TestRack, document: &Document) -> Vec<String> {
    let mut script = functions() + "\n";
    for (_, command) in &document.steps {
        writeln!(script, "echo '{MARK}'\n{command}").expect("a string takes everything");
    }
    let ready = rack.ready();
    let output = Command::new("bash")
        .args(["-c", &script])
        .env("OXIDE_HOST", &ready.external_api[0])
        .env("OXIDE_TOKEN", &ready.token)
        .env("SWITCH", &ready.switches[0].sim_url)
        .output()
        .await
        .expect("bash runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.is_empty(), "{errors}");
    let printed = String::from_utf8(output.stdout).expect("text");
    let mark = format!("{MARK}\n");
    let outputs = printed.split(&mark).skip(1);
    // An answer without a body is an empty line.
    outputs.map(|output| output.replace("\n\n", "\n")).map(no_empty_line).collect()
}

fn no_empty_line(output: String) -> String {
    if output == "\n" { String::new() } else { output }
}

async fn holds(file: &str) {
    let path = root().join(file);
    let text = std::fs::read_to_string(&path).expect("a document");
    let document = Document::read(&text);
    assert!(document.steps.len() > 8, "{file} has {} commands", document.steps.len());
    let rack = TestRack::start().await;
    let outputs = run(&rack, &document).await;
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, document.with_outputs(&outputs)).expect("it can be written");
        return;
    }
    assert_eq!(outputs.len(), document.steps.len());
    let (shown, printed) = (Mask::all(&document.outputs), Mask::all(&outputs));
    for ((_, command), (shown, printed)) in document.steps.iter().zip(shown.iter().zip(&printed)) {
        assert_eq!(shown, printed, "{file}: {command}");
    }
    rack.settled().await;
}

#[tokio::test]
async fn the_tour_of_the_readme() {
    holds("README.md").await;
}

#[tokio::test]
async fn the_guide_to_floating_ips() {
    holds("docs/floating-ips.md").await;
}
