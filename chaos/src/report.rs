//! What is told at the end.

use crate::check::{Names, Violation, check};
use crate::history::{Entry, Event};
use crate::probe::Probed;
use std::collections::BTreeMap;
use std::fmt;

/// What has happened, counted, and what must not have.
#[derive(Debug)]
pub struct Report {
    /// Requests by operation and status (`lost` without an answer).
    pub requests: BTreeMap<(&'static str, String), usize>,
    /// Faults by kind, kills, restarts and crashes.
    pub troubles: BTreeMap<String, usize>,
    /// Packets.
    pub probed: Probed,
    /// Sagas that a Nexus took over from another one, or from its own last life.
    pub resumed: usize,
    /// What is wrong according to the history, and the story of each.
    pub violations: Vec<(Violation, Vec<String>)>,
    /// What is wrong according to the checker, and parts that have ended by themselves.
    pub faulty: Vec<String>,
}

impl Report {
    /// Counts and checks a history.
    pub fn of(entries: &[Entry], probed: Probed, resumed: usize, faulty: Vec<String>) -> Self {
        let names = Names::of(entries);
        let with_story = |violation: Violation| {
            let story = violation.story(entries, &names).iter().map(ToString::to_string).collect();
            (violation, story)
        };
        let mut report = Report {
            requests: BTreeMap::new(),
            troubles: BTreeMap::new(),
            probed,
            resumed,
            violations: check(entries).into_iter().map(with_story).collect(),
            faulty,
        };
        for entry in entries {
            report.count(entry);
        }
        report
    }

    fn count(&mut self, entry: &Entry) {
        match &entry.event {
            Event::Request(request, outcome) => {
                let status = outcome.status().map_or("lost".to_string(), |s| s.to_string());
                *self.requests.entry((request.operation(), status)).or_default() += 1;
            }
            Event::Trouble(what) => {
                let words = what.split_whitespace();
                let kind: Vec<_> = words.take(2).filter(|word| *word != "VMM").collect();
                *self.troubles.entry(kind.join(" ")).or_default() += 1;
            }
            Event::Packet(_) => {}
        }
    }

    /// How many violations there are.
    pub fn count_violations(&self) -> usize {
        self.violations.len() + self.faulty.len()
    }

    /// How often something was made to go wrong: `kill postgres`, `fault hang`, …
    pub fn troubles(&self, kind: &str) -> usize {
        let matching = self.troubles.iter().filter(|(name, _)| name.starts_with(kind));
        matching.map(|(_, count)| count).sum()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (violation, story) in &self.violations {
            writeln!(f, "VIOLATION {}", violation.what)?;
            for line in story {
                writeln!(f, "    {line}")?;
            }
        }
        for line in &self.faulty {
            writeln!(f, "VIOLATION {line}")?;
        }
        let total: usize = self.requests.values().sum();
        writeln!(f, "{total} requests")?;
        let mut of: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for ((operation, status), count) in &self.requests {
            of.entry(operation).or_default().push(format!("{status}: {count}"));
        }
        for (operation, counts) in of {
            writeln!(f, "    {operation:20} {}", counts.join(", "))?;
        }
        let troubles: Vec<_> = self.troubles.iter().map(|(k, n)| format!("{k}: {n}")).collect();
        writeln!(f, "troubles: {}", troubles.join(", "))?;
        let Probed { sent, passed, unknown } = self.probed;
        writeln!(f, "{sent} packets, {passed} passed, {unknown} of them at unknown VMMs")?;
        writeln!(f, "{} sagas resumed or taken over", self.resumed)?;
        write!(f, "{} violations", self.count_violations())
    }
}
