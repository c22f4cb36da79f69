//! What the project's SQL must not contain.
//!
//! CockroachDB is the production database and PostgreSQL the one for development and tests, and
//! there is one schema and one set of statements for both. Each rule is either something that only
//! one of them has, or something whose meaning differs between them.

use super::token::{Token, tokens};

/// What is wrong with a statement; nothing, mostly.
pub fn broken(statement: &str) -> Vec<String> {
    let tokens = tokens(statement);
    let mut broken: Vec<String> = Vec::new();
    for rule in RULES {
        if (rule.matches)(&tokens) {
            broken.push(rule.why.to_string());
        }
    }
    broken.extend(changed_twice(&tokens));
    broken
}

struct Rule {
    why: &'static str,
    matches: fn(&[Token]) -> bool,
}

const RULES: &[Rule] = &[
    Rule {
        why: "advisory locks are PostgreSQL's",
        matches: |t| any_name(t, |name| name.contains("advisory")),
    },
    Rule {
        why: "LISTEN and NOTIFY are PostgreSQL's",
        matches: |t| {
            first(t, "listen") || first(t, "notify") || first(t, "unlisten") || name(t, "pg_notify")
        },
    },
    Rule {
        why: "triggers are not used: what happens must be seen where it is asked for",
        matches: |t| creates(t, &["trigger"]) || sequence(t, &["event", "trigger"]),
    },
    Rule {
        why: "stored procedures are not used: the logic is in one place",
        matches: |t| creates(t, &["function", "procedure"]) || first(t, "call"),
    },
    Rule { why: "DO blocks are PostgreSQL's", matches: |t| first(t, "do") },
    Rule {
        why: "SKIP LOCKED differs between the engines",
        matches: |t| sequence(t, &["skip", "locked"]),
    },
    Rule {
        why: "CockroachDB has no deferrable constraints",
        matches: |t| {
            word(t, "deferrable")
                || sequence(t, &["initially", "deferred"])
                || sequence(t, &["set", "constraints"])
        },
    },
    Rule {
        why: "CockroachDB has no EXCLUDE constraints",
        matches: |t| sequence(t, &["exclude", "using"]) || sequence(t, &["exclude", "("]),
    },
    Rule {
        why: "CockroachDB has no GiST indexes",
        matches: |t| ["gist", "spgist", "brin"].iter().any(|method| name(t, method)),
    },
    Rule {
        why: "CockroachDB has no range types",
        matches: |t| RANGE_TYPES.iter().any(|range| name(t, range)),
    },
    Rule {
        why: "system columns are PostgreSQL's",
        matches: |t| ["ctid", "xmin", "xmax", "cmin", "cmax"].iter().any(|column| name(t, column)),
    },
    Rule { why: "UNLOGGED tables are PostgreSQL's", matches: |t| word(t, "unlogged") },
    Rule {
        why: "temporary tables differ between the engines",
        matches: |t| {
            ["temp", "temporary"].iter().any(|temporary| {
                ["create", "local", "global", "into"]
                    .iter()
                    .any(|before| sequence(t, &[before, temporary]))
            })
        },
    },
    Rule {
        why: "foreign keys are not used: the transaction that needs one checks it",
        matches: |t| word(t, "references") || sequence(t, &["foreign", "key"]),
    },
    Rule {
        why: "OFFSET reads what it skips: pages are keyset pages",
        matches: |t| word(t, "offset"),
    },
    Rule {
        why: "sequences give numbers in no order of commits",
        matches: |t| {
            creates(t, &["sequence"])
                || SEQUENCE_WORDS.iter().any(|of| name(t, of))
                || sequence(t, &["as", "identity"])
        },
    },
    Rule {
        why: "AS OF SYSTEM TIME is CockroachDB's",
        matches: |t| sequence(t, &["as", "of", "system", "time"]),
    },
];

const RANGE_TYPES: [&str; 12] = [
    "int4range",
    "int8range",
    "numrange",
    "tsrange",
    "tstzrange",
    "daterange",
    "int4multirange",
    "int8multirange",
    "nummultirange",
    "tsmultirange",
    "tstzmultirange",
    "datemultirange",
];

const SEQUENCE_WORDS: [&str; 10] = [
    "serial",
    "serial2",
    "serial4",
    "serial8",
    "smallserial",
    "bigserial",
    "nextval",
    "setval",
    "currval",
    "lastval",
];

/// Whether the statement begins with this word.
fn first(tokens: &[Token], word: &str) -> bool {
    tokens.first().is_some_and(|token| token.is(word))
}

/// Whether this word occurs, and not as a quoted identifier.
fn word(tokens: &[Token], word: &str) -> bool {
    tokens.iter().any(|token| token.is(word))
}

/// Whether this name occurs, quoted or not: quoting makes a function or a type no other.
fn name(tokens: &[Token], wanted: &str) -> bool {
    any_name(tokens, |name| name.eq_ignore_ascii_case(wanted))
}

fn any_name(tokens: &[Token], wanted: impl Fn(&str) -> bool) -> bool {
    tokens.iter().filter_map(Token::name).any(wanted)
}

/// Whether these words and signs follow one another.
fn sequence(tokens: &[Token], words: &[&str]) -> bool {
    tokens.windows(words.len()).any(|window| {
        window.iter().zip(words).all(|(token, word)| match token {
            Token::Sign(sign) => word.chars().eq([*sign]),
            Token::Word(_) | Token::Quoted(_) => token.is(word),
        })
    })
}

/// Whether this is `CREATE`, with what may stand between (`OR REPLACE`, …), of one of `kinds`.
fn creates(tokens: &[Token], kinds: &[&str]) -> bool {
    const BETWEEN: [&str; 6] = ["or", "replace", "constraint", "temp", "temporary", "unlogged"];
    if !first(tokens, "create") {
        return false;
    }
    let mut rest = tokens.iter().skip(1).skip_while(|t| BETWEEN.iter().any(|word| t.is(word)));
    rest.next().is_some_and(|token| kinds.iter().any(|kind| token.is(kind)))
}

/// A statement with several parts (`WITH … AS (UPDATE …)`) that changes one table twice: the parts
/// see the same snapshot, and the engines differ in what comes of it.
fn changed_twice(tokens: &[Token]) -> Option<String> {
    let mut changed: Vec<&str> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| &tokens[before]);
        let table_at = if token.is("insert") || token.is("delete") {
            let into = tokens.get(at + 1);
            into.filter(|t| t.is("into") || t.is("from")).map(|_| at + 2)
        } else if token.is("update") {
            // Not FOR UPDATE, FOR NO KEY UPDATE, ON CONFLICT … DO UPDATE.
            let locks = before.is_some_and(|t| t.is("for") || t.is("key") || t.is("do"));
            (!locks).then_some(at + 1)
        } else {
            None
        };
        let Some(table) = table_at.and_then(|at| table(tokens, at)) else { continue };
        if changed.contains(&table) {
            return Some(format!("changes the table {table} twice in one statement"));
        }
        changed.push(table);
    }
    None
}

/// The table named at `at`, without its schema.
fn table(tokens: &[Token], at: usize) -> Option<&str> {
    let at = if tokens.get(at)?.is("only") { at + 1 } else { at };
    let name = tokens.get(at)?.name()?;
    match (tokens.get(at + 1), tokens.get(at + 2)) {
        (Some(Token::Sign('.')), Some(table)) => table.name(),
        _ => Some(name),
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn what_one_engine_lacks_is_found() {
        for bad in [
            "SELECT pg_advisory_xact_lock($1)",
            "SELECT pg_catalog.\"pg_try_advisory_lock\"(1)",
            "LISTEN changes",
            "NOTIFY changes, 'x'",
            "SELECT pg_notify('a', 'b')",
            "CREATE TRIGGER t AFTER UPDATE ON x EXECUTE FUNCTION f()",
            "CREATE OR REPLACE CONSTRAINT TRIGGER t AFTER UPDATE ON x EXECUTE FUNCTION f()",
            "CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$",
            "create procedure p() language sql as ''",
            "CALL p()",
            "DO $$ BEGIN END $$",
            "-- a remark\nDO LANGUAGE plpgsql 'BEGIN END'",
            "SELECT id FROM job FOR UPDATE SKIP\n LOCKED",
            "CREATE TABLE t (a INT UNIQUE DEFERRABLE INITIALLY DEFERRED)",
            "SET CONSTRAINTS ALL IMMEDIATE",
            "CREATE TABLE t (r INT8RANGE, EXCLUDE USING gist (r WITH &&))",
            "CREATE INDEX i ON t USING GIST (a)",
            "SELECT tstzrange(a, b) FROM t",
            "SELECT ctid FROM t",
            "SELECT \"xmin\" FROM t",
            "CREATE UNLOGGED TABLE t (a INT)",
            "CREATE TEMPORARY TABLE t (a INT)",
            "CREATE TEMP TABLE t (a INT)",
            "SELECT 1 INTO TEMP t",
            "CREATE TABLE t (a UUID REFERENCES u (id))",
            "ALTER TABLE t ADD FOREIGN KEY (a) REFERENCES u (id)",
            "SELECT * FROM t LIMIT 10 OFFSET 20",
            "CREATE SEQUENCE s",
            "CREATE TABLE t (id BIGSERIAL PRIMARY KEY)",
            "CREATE TABLE t (id INT8 GENERATED ALWAYS AS IDENTITY)",
            "SELECT nextval('s')",
            "SELECT * FROM t AS OF SYSTEM TIME '-10s'",
            "WITH a AS (UPDATE t SET x = 1 RETURNING id) DELETE FROM t WHERE id = 1",
            "WITH a AS (INSERT INTO public.t VALUES (1)) UPDATE \"t\" SET x = 1",
        ] {
            assert!(!broken(bad).is_empty(), "{bad}");
        }
    }

    #[test]
    fn what_both_have_is_left_alone() {
        for good in [
            "SELECT * FROM job WHERE name > $1 ORDER BY name LIMIT $2 FOR UPDATE",
            "INSERT INTO t VALUES ($1) ON CONFLICT (id) DO NOTHING",
            "INSERT INTO t VALUES ($1) ON CONFLICT (id) DO UPDATE SET n = excluded.n",
            "SELECT 'DO $$ LISTEN pg_advisory_lock OFFSET' -- OFFSET 1",
            "SELECT \"offset\" FROM t",
            "CREATE TABLE t (id UUID PRIMARY KEY, serial_number TEXT, temporary BOOL)",
            "CREATE UNIQUE INDEX i ON t (name) WHERE time_deleted IS NULL",
            "CREATE DATABASE a TEMPLATE b",
            "BEGIN TRANSACTION ISOLATION LEVEL SERIALIZABLE",
            "SET client_encoding = 'UTF8'",
            "WITH a AS (INSERT INTO t VALUES (1) RETURNING id), b AS (UPDATE u SET n = 1 FROM a) \
             SELECT * FROM a FOR NO KEY UPDATE",
            "CREATE INDEX i ON ip_pool_range (pool_id)",
            "SELECT first_port, last_port FROM nat WHERE port_range = $1",
        ] {
            assert_eq!(broken(good), Vec::<String>::new(), "{good}");
        }
    }
}
