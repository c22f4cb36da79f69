//! The audit log's entry of a request: begun once it is known who asks, and before anything is
//! done; completed when the answer is there.
//!
//! Whatever request may change something has one: all but those that only read. Who asks for
//! something without saying who they are has one, too, if there is more to it than a refusal, as
//! at a login.

use super::front::FORWARDED_FOR;
use crate::app::{Actor, Credential, Nexus};
use crate::db::audit::AuditOutcome;
use crate::db::now;
use db_model::{AuditEntry, Ip};
use dropshot::{HttpError, HttpResponse, RequestContext};
use http::Method;
use http::header::USER_AGENT;
use nexus_common::Error;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use uuid::Uuid;

/// The longest URI and the longest name of a program that are kept; the rest is cut off.
const TEXT_MAX: usize = 512;

tokio::task_local! {
    static CURRENT: Arc<Audit>;
}

/// What is known of a request before it is known who asks.
pub(super) struct Audit {
    nexus: Arc<Nexus>,
    /// Taken when the entry is begun.
    entry: Mutex<Option<AuditEntry>>,
    id: Uuid,
    begun: AtomicBool,
}

fn cut(text: &str) -> String {
    text.chars().take(TEXT_MAX).collect()
}

/// The address that connected: the last that is named. Those before it are claims.
fn source_ip(rqctx: &RequestContext<Arc<Nexus>>) -> IpAddr {
    let named = rqctx.request.headers().get(FORWARDED_FOR).and_then(|value| value.to_str().ok());
    let last = named.and_then(|named| named.rsplit(',').next()?.trim().parse().ok());
    last.unwrap_or_else(|| rqctx.request.remote_addr().ip())
}

impl Audit {
    /// The audit of a request, if it may change something.
    pub fn of(api: &str, rqctx: &RequestContext<Arc<Nexus>>) -> Option<Arc<Self>> {
        let request = &rqctx.request;
        if api != "external" || matches!(*request.method(), Method::GET | Method::HEAD) {
            return None;
        }
        let user_agent = request.headers().get(USER_AGENT).and_then(|value| value.to_str().ok());
        let id = Uuid::new_v4();
        let entry = AuditEntry {
            id,
            time_started: now(),
            request_id: rqctx.request_id.clone(),
            request_uri: cut(&request.uri().to_string()),
            operation_id: rqctx.endpoint.operation_id.clone(),
            source_ip: Ip(source_ip(rqctx)),
            user_agent: user_agent.map(cut),
            silo_id: None,
            silo_user_id: None,
            auth_method: None,
            credential_id: None,
            time_completed: None,
            http_status_code: None,
            error_code: None,
            error_message: None,
        };
        Some(Arc::new(Audit {
            nexus: rqctx.context().clone(),
            entry: Mutex::new(Some(entry)),
            id,
            begun: AtomicBool::new(false),
        }))
    }

    async fn begin(&self, actor: Option<&Actor>) -> Result<(), Error> {
        let entry = self.entry.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut entry) = entry else { return Ok(()) };
        if let Some(actor) = actor {
            let (method, id) = match actor.credential {
                Credential::Token { id, .. } => ("access_token", id),
                Credential::Session { id } => ("session_cookie", id),
            };
            (entry.silo_id, entry.silo_user_id) = (Some(actor.silo_id), Some(actor.user_id));
            (entry.auth_method, entry.credential_id) = (Some(method.to_string()), Some(id));
        }
        self.nexus.audit.begin(entry).await?;
        self.begun.store(true, Ordering::Relaxed);
        Ok(())
    }

    async fn end<R: HttpResponse>(&self, result: &Result<R, HttpError>) {
        if !self.begun.load(Ordering::Relaxed) {
            return;
        }
        let (status, error) = match result {
            Ok(response) => (response.status_code(), None),
            Err(error) => (
                error.status_code.as_status(),
                Some((error.error_code.clone(), error.external_message.clone())),
            ),
        };
        let outcome = AuditOutcome {
            id: self.id,
            time_completed: now(),
            http_status_code: status.as_u16(),
            error,
        };
        self.nexus.audit.end(outcome).await;
    }
}

/// Handles a request, and completes its entry.
pub(super) async fn audited<R: HttpResponse>(
    audit: Option<Arc<Audit>>,
    handle: impl Future<Output = Result<R, HttpError>>,
) -> Result<R, HttpError> {
    let Some(audit) = audit else { return handle.await };
    let result = CURRENT.scope(audit.clone(), handle).await;
    audit.end(&result).await;
    result
}

/// Begins the entry of the request that is being handled, if it has one.
///
/// # Errors
///
/// It was not written, and the request must not do anything.
pub(super) async fn begin(actor: Option<&Actor>) -> Result<(), Error> {
    match CURRENT.try_with(Arc::clone) {
        Ok(audit) => audit.begin(actor).await,
        Err(_) => Ok(()),
    }
}
