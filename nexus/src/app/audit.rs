//! The audit log: who changed what, when, by which credential, from where, and what came of it.
//!
//! The entry of a request is written before the request does anything, so that there is none that
//! changed something and left no trace. What came of it is added soon after the answer; where that
//! is lost, because this process died, the entry says that the outcome is unknown.
//!
//! Entries of requests that come at the same time are written together: one writer takes whatever
//! has gathered while it wrote the last.

use super::authz::{Action, Object};
use super::{Nexus, OpContext};
use crate::db::Datastore;
use crate::db::audit::{AuditOutcome, AuditPage};
use crate::db::now;
use chrono::{DateTime, TimeDelta, Utc};
use db_model::AuditEntry;
use nexus_common::Error;
use slog::{Logger, warn};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

/// How many notes may wait to be written; more make requests wait.
const QUEUE: usize = 1024;
/// How many notes are written together.
const BATCH: usize = 256;
/// How long an outcome waits for company. Nobody waits for it.
const OUTCOME_DELAY: Duration = Duration::from_millis(50);
/// How many outcomes are kept while the database cannot be reached.
const OUTCOMES_KEPT: usize = 10_000;

#[derive(Debug)]
enum Note {
    Begun(Box<AuditEntry>, oneshot::Sender<Result<(), Error>>),
    Ended(AuditOutcome),
}

/// Where entries are sent to be written.
#[derive(Clone, Debug)]
pub(crate) struct AuditLog {
    notes: mpsc::Sender<Note>,
}

impl AuditLog {
    /// Starts the writer, which runs for as long as there is somebody to send.
    pub fn start(datastore: Arc<Datastore>, log: Logger) -> Self {
        let (notes, queue) = mpsc::channel(QUEUE);
        let writer = Writer { datastore, queue, begun: Vec::new(), ended: Vec::new(), log };
        tokio::spawn(writer.run());
        AuditLog { notes }
    }

    /// Writes the entry of a request that begins.
    ///
    /// # Errors
    ///
    /// The entry was not written, and the request must not do anything.
    pub async fn begin(&self, entry: AuditEntry) -> Result<(), Error> {
        let (answer, written) = oneshot::channel();
        let gone = |_| Error::internal("the writer of the audit log is gone");
        self.notes.send(Note::Begun(Box::new(entry), answer)).await.map_err(gone)?;
        written.await.map_err(Error::internal)?
    }

    /// Has what came of a request added to its entry, soon.
    pub async fn end(&self, outcome: AuditOutcome) {
        // The writer ends with the process.
        let _ = self.notes.send(Note::Ended(outcome)).await;
    }
}

struct Writer {
    datastore: Arc<Datastore>,
    queue: mpsc::Receiver<Note>,
    begun: Vec<(AuditEntry, oneshot::Sender<Result<(), Error>>)>,
    ended: Vec<AuditOutcome>,
    log: Logger,
}

impl Writer {
    async fn run(mut self) {
        while self.gather().await {
            self.write().await;
        }
        self.write().await;
    }

    fn take(&mut self, note: Note) {
        match note {
            Note::Begun(entry, answer) => self.begun.push((*entry, answer)),
            Note::Ended(outcome) => self.ended.push(outcome),
        }
    }

    /// Waits until there is something that should be written now. False if nothing more will come.
    async fn gather(&mut self) -> bool {
        let mut due = (!self.ended.is_empty()).then(|| Instant::now() + OUTCOME_DELAY);
        loop {
            let next = match due {
                None => self.queue.recv().await,
                Some(due) => match timeout_at(due, self.queue.recv()).await {
                    Ok(next) => next,
                    Err(_) => return true,
                },
            };
            let Some(note) = next else { return false };
            self.take(note);
            while self.begun.len() + self.ended.len() < BATCH
                && let Ok(note) = self.queue.try_recv()
            {
                self.take(note);
            }
            if !self.begun.is_empty() || self.ended.len() >= BATCH {
                return true;
            }
            due = due.or(Some(Instant::now() + OUTCOME_DELAY));
        }
    }

    async fn write(&mut self) {
        let (entries, answers): (Vec<_>, Vec<_>) = self.begun.drain(..).unzip();
        if entries.is_empty() && self.ended.is_empty() {
            return;
        }
        let written = self.datastore.audit_write(entries, self.ended.clone()).await;
        match &written {
            Ok(()) => self.ended.clear(),
            Err(error) => {
                warn!(self.log, "the audit log cannot be written"; "error" => %error);
                let lost = self.ended.len().saturating_sub(OUTCOMES_KEPT);
                self.ended.drain(..lost);
            }
        }
        for answer in answers {
            // Whoever asked may be gone.
            let _ = answer.send(written.clone());
        }
    }
}

/// What one run of the collector did.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub(crate) struct AuditCollected {
    /// Entries whose outcome will never be known.
    pub given_up: usize,
    /// Entries that were kept for long enough.
    pub deleted: usize,
}

impl Nexus {
    /// A page of the audit log: what was answered from `start` on and before `end`.
    pub async fn audit_log_list(
        &self,
        opctx: &OpContext,
        start: DateTime<Utc>,
        end: Option<DateTime<Utc>>,
        page: AuditPage,
    ) -> Result<Vec<AuditEntry>, Error> {
        opctx.authorize_open(Action::ListChildren, Object::Fleet)?;
        self.datastore.audit_list(start, end, page).await
    }

    /// Completes entries whose outcome will never be known, and deletes old ones.
    pub(crate) async fn audit_collect(&self) -> Result<AuditCollected, Error> {
        let audit = &self.config.audit;
        let ago =
            |secs: u64| now() - TimeDelta::seconds(i64::try_from(secs).unwrap_or(i64::MAX / 1000));
        let given_up = self.datastore.audit_give_up(ago(audit.give_up_secs)).await?;
        let deleted = self.datastore.audit_collect(ago(audit.keep_secs)).await?;
        Ok(AuditCollected { given_up, deleted })
    }
}
