//! The statements in a PostgreSQL server's log.
//!
//! With `log_statement = all` an entry reads `PREFIX LOG:  statement: SQL` for a simple query and
//! `PREFIX LOG:  execute NAME: SQL` for a prepared one. Where the text has several lines, the
//! server starts each but the first with a tab; so a line without one starts an entry.

use std::io::BufRead;

/// Calls `found` with the text of each statement.
pub fn each_statement(log: impl BufRead, mut found: impl FnMut(&str)) -> std::io::Result<()> {
    let mut statement: Option<String> = None;
    for line in log.split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        if let Some(rest) = line.strip_prefix('\t') {
            if let Some(statement) = &mut statement {
                statement.push('\n');
                statement.push_str(rest);
            }
            continue;
        }
        if let Some(statement) = statement.take() {
            found(&statement);
        }
        statement = start(&line).map(str::to_string);
    }
    if let Some(statement) = statement {
        found(&statement);
    }
    Ok(())
}

/// The beginning of a statement, if this line has one.
fn start(line: &str) -> Option<&str> {
    let (_, entry) = line.split_once("LOG:  ")?;
    if let Some(statement) = entry.strip_prefix("statement: ") {
        return Some(statement);
    }
    // `execute NAME: SQL`, or `execute NAME/PORTAL: SQL`; names have no colon.
    let (name, statement) = entry.strip_prefix("execute ")?.split_once(": ")?;
    (!name.contains(' ')).then_some(statement)
}

#[cfg(test)]
mod test {
    use super::*;

    fn statements(log: &str) -> Vec<String> {
        let mut found = Vec::new();
        each_statement(log.as_bytes(), |s| found.push(s.to_string())).expect("a string reads");
        found
    }

    #[test]
    fn simple_and_prepared_statements_are_found() {
        let log = "2026-12-01 00:00:00 UTC [9] nexus LOG:  statement: BEGIN\n\
                   2026-12-01 00:00:00 UTC [9] nexus LOG:  execute <unnamed>: SELECT $1\n\
                   2026-12-01 00:00:00 UTC [9] nexus DETAIL:  parameters: $1 = 'x: y'\n\
                   2026-12-01 00:00:00 UTC [9] nexus LOG:  execute __diesel_stmt_1: SELECT 2\n\
                   2026-12-01 00:00:00 UTC [9] nexus LOG:  connection received: host=x\n";
        assert_eq!(statements(log), ["BEGIN", "SELECT $1", "SELECT 2"]);
    }

    #[test]
    fn a_statement_may_have_several_lines() {
        let log = "x LOG:  execute a: SELECT 1\n\tFROM t\n\t\tWHERE u\n\t\nx LOG:  statement: B\n";
        assert_eq!(statements(log), ["SELECT 1\nFROM t\n\tWHERE u\n", "B"]);
    }

    #[test]
    fn the_parameters_of_a_statement_are_not_part_of_it() {
        let log = "x LOG:  execute a: SELECT $1\nx DETAIL:  parameters: $1 = 'LISTEN\n\tNOTIFY'\n";
        assert_eq!(statements(log), ["SELECT $1"]);
    }

    #[test]
    fn the_last_statement_counts_too() {
        assert_eq!(statements("x LOG:  statement: SELECT 1"), ["SELECT 1"]);
    }
}
