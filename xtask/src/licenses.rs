//! The licences of everything that Nexus is built from, tests and tools included, held against the
//! list of those that are allowed: `licenses.txt`.
//!
//! A package says its licences as an SPDX expression. What it does not say, or says in words that
//! are not understood, is not allowed.

use crate::cargo;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;

const ALLOWED: &str = include_str!("../licenses.txt");

/// Fails, and names the packages, if a licence is not allowed.
pub fn check() -> Result<()> {
    let packages = cargo::licenses()?;
    // An empty list would be a check of nothing.
    ensure!(packages.len() > 100, "only {} packages were found", packages.len());
    let allowed = allowed();
    let refused: Vec<_> = packages
        .iter()
        .filter(|(_, expression)| !is_allowed(expression, &allowed))
        .map(|(package, expression)| match expression.as_str() {
            "" => format!("{package}: no licence"),
            expression => format!("{package}: {expression}"),
        })
        .collect();
    ensure!(
        refused.is_empty(),
        "not allowed by xtask/licenses.txt (see CONTRIBUTING.md, A dependency):\n{}",
        refused.join("\n")
    );
    eprintln!("the licences of {} packages are allowed", packages.len());
    Ok(())
}

fn allowed() -> BTreeSet<&'static str> {
    ALLOWED
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect()
}

fn is_allowed(expression: &str, allowed: &BTreeSet<&str>) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = Words { words: spaced.split_whitespace().collect(), allowed };
    words.words.reverse();
    matches!(words.any(), Ok(true)) && words.words.is_empty()
}

/// What is left of an expression, the next word last.
struct Words<'a> {
    words: Vec<&'a str>,
    allowed: &'a BTreeSet<&'a str>,
}

impl Words<'_> {
    fn next_is(&mut self, word: &str) -> bool {
        let is = self.words.last() == Some(&word);
        if is {
            self.words.pop();
        }
        is
    }

    /// A choice: one must be allowed.
    fn any(&mut self) -> Result<bool> {
        let mut any = self.all()?;
        while self.next_is("OR") {
            any |= self.all()?;
        }
        Ok(any)
    }

    /// Several at once: all must be allowed.
    fn all(&mut self) -> Result<bool> {
        let mut all = self.one()?;
        while self.next_is("AND") {
            all &= self.one()?;
        }
        Ok(all)
    }

    fn one(&mut self) -> Result<bool> {
        if self.next_is("(") {
            let inner = self.any()?;
            ensure!(self.next_is(")"), "a parenthesis is open");
            return Ok(inner);
        }
        let license = self.words.pop().context("a licence is missing")?;
        if self.next_is("WITH") {
            let exception = self.words.pop().context("an exception is missing")?;
            return Ok(self.allowed.contains(format!("{license} WITH {exception}").as_str()));
        }
        Ok(self.allowed.contains(license))
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn expressions_are_understood() {
        let allowed = BTreeSet::from(["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"]);
        for (expression, expected) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("", false),
            ("GPL-3.0 OR MIT", true),
            ("GPL-3.0/MIT", true),
            ("GPL-3.0 / MIT", true),
            ("GPL-3.0 AND MIT", false),
            ("ISC AND MIT", true),
            ("GPL-3.0 OR ISC AND MIT", true),
            ("GPL-3.0 AND ISC OR MIT", true),
            ("GPL-3.0 AND (ISC OR MIT)", false),
            ("ISC AND (GPL-3.0 OR MIT)", true),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("Apache-2.0", false),
            ("MIT WITH LLVM-exception", false),
            ("(MIT", false),
            ("MIT)", false),
            ("MIT ISC", false),
            ("MIT OR", false),
            ("OR MIT", false),
        ] {
            assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
        }
    }

    #[test]
    fn the_list_is_in_order() {
        let listed: Vec<_> = ALLOWED.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(listed, allowed().into_iter().collect::<Vec<_>>());
    }
}
