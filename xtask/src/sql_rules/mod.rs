//! Holds the project's SQL against what both PostgreSQL and CockroachDB accept.
//!
//! Two sources are read: the migrations, and the statements that the last run of the tests
//! executed, as the tests' server logged them. A check that has nothing to look at has found
//! nothing out, so it fails where there are no migrations, no log, or only a few statements in it.
//!
//! * `log`: the statements in a server's log;
//! * `token`: SQL text as words, without comments and literals;
//! * `rule`: what is forbidden.

mod log;
mod rule;
mod token;

use crate::cargo;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// A run of all the tests executes many times as many.
const FEWEST: usize = 1000;

/// Checks both sources, and says what was looked at.
pub fn check() -> Result<String> {
    let migrations = migrations(&cargo::root()?.join("db-model").join("migrations"))?;
    let executed = executed(&cargo::sql_log_dir()?)?;
    let mut found = BTreeSet::new();
    for (origin, statement) in &migrations {
        found.extend(violations(&origin.display().to_string(), statement));
    }
    for statement in &executed.different {
        found.extend(violations("executed by the tests", statement));
    }
    if !found.is_empty() {
        bail!("SQL that not both engines accept:\n{}", Vec::from_iter(found).join("\n"));
    }
    Ok(format!(
        "SQL rules hold for {} statements of the migrations and {} executed ones, {} of them \
         different",
        migrations.len(),
        executed.count,
        executed.different.len()
    ))
}

fn violations(origin: &str, statement: &str) -> Vec<String> {
    let shown: String = statement.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown: String = shown.chars().take(200).collect();
    rule::broken(statement).into_iter().map(|why| format!("  {why}; {origin}: {shown}")).collect()
}

fn migrations(dir: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut statements = Vec::new();
    for file in files(dir, "sql")? {
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        statements.extend(token::split(&text).into_iter().map(|s| (file.clone(), s)));
    }
    ensure!(!statements.is_empty(), "{} holds no migrations", dir.display());
    Ok(statements)
}

/// What the tests executed.
struct Executed {
    count: usize,
    different: BTreeSet<String>,
}

fn executed(dir: &Path) -> Result<Executed> {
    let mut executed = Executed { count: 0, different: BTreeSet::new() };
    let files = files(dir, "log")
        .context("the tests have logged no statements: run them first, with `cargo xtask test`")?;
    for file in files {
        let log = File::open(&file).with_context(|| format!("cannot open {}", file.display()))?;
        log::each_statement(BufReader::new(log), |statement| {
            executed.count += 1;
            if !executed.different.contains(statement) {
                executed.different.insert(statement.to_string());
            }
        })
        .with_context(|| format!("cannot read {}", file.display()))?;
    }
    ensure!(
        executed.count >= FEWEST,
        "only {} statements are logged in {}, where all the tests execute at least {FEWEST}: the \
         rules cannot be checked on these",
        executed.count,
        dir.display()
    );
    Ok(executed)
}

/// The files below a directory that have this extension.
fn files(dir: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries =
        std::fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path, extension)?);
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod test {
    use super::*;
    use std::fmt::Write as _;

    /// A directory of this test's own, gone at the end.
    struct Dir(PathBuf);

    impl Dir {
        fn new(name: &str) -> Self {
            let dir = std::env::temp_dir().join(format!("sql-rules-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&dir).expect("a directory");
            Dir(dir)
        }
    }

    impl Drop for Dir {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_log_that_is_missing_or_short_is_a_failure() {
        let dir = Dir::new("short");
        assert!(executed(&dir.0.join("absent")).is_err());
        assert!(executed(&dir.0).is_err());
        let mut log = String::new();
        for n in 1..FEWEST {
            writeln!(log, "2026 [1] x LOG:  statement: SELECT {n}").expect("a string grows");
        }
        std::fs::write(dir.0.join("1.log"), &log).expect("a file");
        assert!(executed(&dir.0).is_err());
        std::fs::write(dir.0.join("2.log"), "2026 [1] x LOG:  statement: SELECT 1\n").expect("ok");
        let read = executed(&dir.0).expect("now there are enough");
        assert_eq!((read.count, read.different.len()), (FEWEST, FEWEST - 1));
    }

    #[test]
    fn migrations_that_are_missing_are_a_failure() {
        let dir = Dir::new("none");
        assert!(migrations(&dir.0).is_err());
        std::fs::write(dir.0.join("up.sql"), "-- only a remark;\nSELECT 1; SELECT ';';")
            .expect("ok");
        let found = migrations(&dir.0).expect("two statements");
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn a_violation_says_what_and_where() {
        let found = violations("up.sql", "CREATE  UNLOGGED TABLE\n t (id UUID)");
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("up.sql: CREATE UNLOGGED TABLE t (id UUID)"), "{}", found[0]);
    }
}
