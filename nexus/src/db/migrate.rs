//! Bringing a database to this program's schema, and refusing one that is not at it.

use super::Datastore;
use super::error::TxError;
use db_model::MIGRATIONS;
use diesel::migration::MigrationSource;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel_migrations::MigrationHarness;
use nexus_common::Error;

/// Where a database stands against this program's migrations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaState {
    /// At the version that this program was built for.
    Current,
    /// `nexus db migrate` would bring it there.
    Behind { pending: usize },
    /// It has a migration that this program does not know.
    Unknown { version: String },
}

fn compare(known: &[String], applied: &[String]) -> SchemaState {
    if let Some(version) = applied.iter().filter(|v| !known.contains(v)).max() {
        return SchemaState::Unknown { version: version.clone() };
    }
    match known.iter().filter(|v| !applied.contains(v)).count() {
        0 => SchemaState::Current,
        pending => SchemaState::Behind { pending },
    }
}

fn unknown_schema(version: &str) -> String {
    format!(
        "the database has schema version {version}, which this nexus does not know: run a nexus \
         that does"
    )
}

fn known_versions() -> Result<Vec<String>, String> {
    let migrations = MigrationSource::<Pg>::migrations(&MIGRATIONS).map_err(|e| e.to_string())?;
    Ok(migrations.iter().map(|m| m.name().version().to_string()).collect())
}

/// Applies what is missing; returns the names of what was applied.
pub fn migrate(url: &str) -> anyhow::Result<Vec<String>> {
    let fail = |what: &str, error: &dyn std::fmt::Display| anyhow::anyhow!("{what}: {error}");
    let mut conn = PgConnection::establish(url).map_err(|e| fail("connecting", &e))?;
    let known = known_versions().map_err(|e| fail("reading the migrations", &e))?;
    let applied = conn.applied_migrations().map_err(|e| fail("reading the schema version", &e))?;
    let applied: Vec<String> = applied.iter().map(ToString::to_string).collect();
    if let SchemaState::Unknown { version } = compare(&known, &applied) {
        anyhow::bail!(unknown_schema(&version));
    }
    let done =
        conn.run_pending_migrations(MIGRATIONS).map_err(|e| fail("applying the schema", &e))?;
    Ok(done.iter().map(ToString::to_string).collect())
}

diesel::table! {
    /// diesel's record of what was applied.
    __diesel_schema_migrations (version) {
        version -> Text,
        run_on -> Timestamp,
    }
}

impl Datastore {
    /// Fails, saying what to run, unless the database is at this program's schema. Only reads.
    pub async fn check_schema(&self) -> Result<(), Error> {
        let known = known_versions().map_err(Error::internal)?;
        let applied = self.statement("schema version", |conn| {
            use __diesel_schema_migrations::dsl;
            match dsl::__diesel_schema_migrations.select(dsl::version).load::<String>(conn) {
                // A database that was never migrated does not even have the table.
                Err(diesel::result::Error::DatabaseError(_, info))
                    if info.message().contains("does not exist") =>
                {
                    Ok(Vec::new())
                }
                other => other.map_err(TxError::from),
            }
        });
        match compare(&known, &applied.await?) {
            SchemaState::Current => Ok(()),
            SchemaState::Behind { pending } => Err(Error::internal(format!(
                "the database's schema lacks {pending} migration(s): run `nexus db migrate`"
            ))),
            SchemaState::Unknown { version } => Err(Error::internal(unknown_schema(&version))),
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_schema_from_the_future_is_not_taken_for_ours() {
        let versions = |vs: &[&str]| vs.iter().map(ToString::to_string).collect::<Vec<_>>();
        let known = versions(&["1", "2"]);
        assert_eq!(compare(&known, &versions(&["1", "2"])), SchemaState::Current);
        assert_eq!(compare(&known, &versions(&["1"])), SchemaState::Behind { pending: 1 });
        assert_eq!(compare(&known, &[]), SchemaState::Behind { pending: 2 });
        assert_eq!(
            compare(&known, &versions(&["1", "2", "3"])),
            SchemaState::Unknown { version: "3".to_string() }
        );
    }
}
