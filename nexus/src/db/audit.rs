//! The audit log.

use super::Datastore;
use super::now;
use chrono::{DateTime, Utc};
use db_model::AuditEntry;
use db_model::schema::audit_log;
use diesel::prelude::*;
use nexus_common::{Direction, Error, PageParams};
use uuid::Uuid;

/// What became of a request.
#[derive(Clone, Debug)]
pub struct AuditOutcome {
    pub id: Uuid,
    pub time_completed: DateTime<Utc>,
    pub http_status_code: u16,
    /// Of an error: its code, if it has one, and its message.
    pub error: Option<(Option<String>, String)>,
}

/// What a page of the log is by: the time at which requests were answered, then their ids.
pub type AuditPage = PageParams<(DateTime<Utc>, Uuid)>;

/// Entries that are deleted at a time.
const BATCH: i64 = 1000;

impl Datastore {
    /// Writes entries of requests that begin, and completes others.
    pub async fn audit_write(
        &self,
        begun: Vec<AuditEntry>,
        outcomes: Vec<AuditOutcome>,
    ) -> Result<(), Error> {
        self.transaction("write audit log", move |conn| {
            if !begun.is_empty() {
                // The whole of it may have been written by a try whose answer was lost.
                diesel::insert_into(audit_log::table)
                    .values(&begun)
                    .on_conflict_do_nothing()
                    .execute(conn)?;
            }
            for outcome in &outcomes {
                let (error_code, error_message) = outcome.error.clone().unzip();
                diesel::update(
                    audit_log::table
                        .filter(audit_log::id.eq(outcome.id))
                        .filter(audit_log::time_completed.is_null()),
                )
                .set((
                    audit_log::time_completed.eq(Some(outcome.time_completed)),
                    audit_log::http_status_code.eq(Some(i32::from(outcome.http_status_code))),
                    audit_log::error_code.eq(error_code.flatten()),
                    audit_log::error_message.eq(error_message),
                ))
                .execute(conn)?;
            }
            Ok(())
        })
        .await
    }

    /// A page of the entries that were completed from `start` on and before `end`.
    pub async fn audit_list(
        &self,
        start: DateTime<Utc>,
        end: Option<DateTime<Utc>>,
        page: AuditPage,
    ) -> Result<Vec<AuditEntry>, Error> {
        use audit_log::{id, time_completed};
        self.statement("audit log", move |conn| {
            let mut query = audit_log::table
                .filter(time_completed.ge(start))
                .select(AuditEntry::as_select())
                .into_boxed();
            if let Some(end) = end {
                query = query.filter(time_completed.lt(end));
            }
            if let Some((time, last)) = page.marker {
                query = match page.direction {
                    Direction::Ascending => query.filter(
                        time_completed.gt(time).or(time_completed.eq(time).and(id.gt(last))),
                    ),
                    Direction::Descending => query.filter(
                        time_completed.lt(time).or(time_completed.eq(time).and(id.lt(last))),
                    ),
                };
            }
            let query = match page.direction {
                Direction::Ascending => query.order((time_completed.asc(), id.asc())),
                Direction::Descending => query.order((time_completed.desc(), id.desc())),
            };
            Ok(query.limit(page.limit()).load(conn)?)
        })
        .await
    }

    /// Completes entries of requests that began before this and were never completed: nobody
    /// knows what became of them. Returns how many.
    pub async fn audit_give_up(&self, before: DateTime<Utc>) -> Result<usize, Error> {
        self.statement("give up audit entries", move |conn| {
            let lost = audit_log::table
                .filter(audit_log::time_completed.is_null())
                .filter(audit_log::time_started.lt(before));
            let completed = audit_log::time_completed.eq(Some(now()));
            Ok(diesel::update(lost).set(completed).execute(conn)?)
        })
        .await
    }

    /// Deletes entries that were completed before this. Returns how many.
    pub async fn audit_collect(&self, before: DateTime<Utc>) -> Result<usize, Error> {
        let mut deleted = 0;
        loop {
            let batch = self
                .transaction("collect audit log", move |conn| {
                    let old: Vec<Uuid> = audit_log::table
                        .filter(audit_log::time_completed.lt(before))
                        .order(audit_log::time_completed)
                        .limit(BATCH)
                        .select(audit_log::id)
                        .load(conn)?;
                    let rows = audit_log::table.filter(audit_log::id.eq_any(old));
                    Ok(diesel::delete(rows).execute(conn)?)
                })
                .await?;
            deleted += batch;
            if (batch as i64) < BATCH {
                return Ok(deleted);
            }
        }
    }
}
