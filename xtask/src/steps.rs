//! Steps in a row, each timed.
//!
//! A step that fails does not keep the others from running: whoever waited for the tests wants to
//! hear everything that is wrong. The row as a whole fails at its end and names what failed.

use anyhow::{Result, ensure};
use std::time::{Duration, Instant};

/// What has been done so far.
#[derive(Default)]
pub struct Steps {
    done: Vec<Step>,
}

struct Step {
    name: &'static str,
    time: Duration,
    passed: bool,
}

impl Steps {
    /// Does a step.
    pub fn step(&mut self, name: &'static str, action: impl FnOnce() -> Result<()>) {
        eprintln!("=== {name}");
        let since = Instant::now();
        let outcome = action();
        if let Err(error) = &outcome {
            eprintln!("{name}: {error:#}");
        }
        self.done.push(Step { name, time: since.elapsed(), passed: outcome.is_ok() });
    }

    /// Prints one line with every step and its time; fails if a step did.
    pub fn finish(self) -> Result<()> {
        println!("{}", self.summary());
        let failed: Vec<_> = self.done.iter().filter(|step| !step.passed).collect();
        let names: Vec<_> = failed.iter().map(|step| step.name).collect();
        ensure!(failed.is_empty(), "failed: {}", names.join(", "));
        Ok(())
    }

    fn summary(&self) -> String {
        let show = |step: &Step| {
            let word = if step.passed { "" } else { "FAILED after " };
            format!("{} {word}{}", step.name, seconds(step.time))
        };
        let steps: Vec<_> = self.done.iter().map(show).collect();
        let total = self.done.iter().map(|step| step.time).sum();
        format!("=== {}; total {}", steps.join(", "), seconds(total))
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1}s", time.as_secs_f64())
}

#[cfg(test)]
mod test {
    use super::*;
    use anyhow::bail;

    #[test]
    fn every_step_is_done_and_failures_are_named() {
        let mut steps = Steps::default();
        steps.step("first", || bail!("one"));
        steps.step("second", || Ok(()));
        steps.step("third", || bail!("three"));
        assert_eq!(
            steps.summary(),
            "=== first FAILED after 0.0s, second 0.0s, third FAILED after 0.0s; total 0.0s"
        );
        assert_eq!(steps.finish().expect_err("two failed").to_string(), "failed: first, third");
    }

    #[test]
    fn steps_that_pass_pass() {
        let mut steps = Steps::default();
        steps.step("only", || Ok(()));
        steps.finish().expect("it passed");
    }
}
