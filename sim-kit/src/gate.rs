//! The gate that every call of a simulated daemon passes.
//!
//! It applies the faults that are set, and keeps the log of calls. A handler gives it what is to
//! be done as a closure, so that the gate decides whether that is done, and whether the client
//! learns of it.

use crate::answer::Answer;
use crate::calls::{Call, Calls};
use crate::fault::{EVERY_OPERATION, Fault, FaultKind, Faults};
use chrono::{DateTime, Utc};
use dropshot::{
    ApiDescription, ClientErrorStatusCode, ErrorStatusCode, HttpCodedResponse, HttpError,
    RequestContext, ServerContext,
};
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// The faults and the calls of a daemon.
#[derive(Debug)]
pub struct Gate {
    operations: BTreeSet<String>,
    faults: Mutex<Faults>,
    calls: Mutex<Calls>,
    /// Changes when faults are cleared. Hung calls wait for that.
    cleared: watch::Sender<()>,
}

/// What is to be done in a call: before the fault, or after it.
enum Work<R, F> {
    Done(Result<R, HttpError>),
    ToDo(F),
}

impl<R, F: FnOnce() -> Result<R, HttpError>> Work<R, F> {
    fn finish(self) -> Result<R, HttpError> {
        match self {
            Work::Done(result) => result,
            Work::ToDo(apply) => apply(),
        }
    }
}

impl Gate {
    /// A gate for the operations of an API.
    pub fn new<C: ServerContext>(
        api: &ApiDescription<C>,
        version: semver::Version,
    ) -> serde_json::Result<Self> {
        let document = api.openapi("", version).json()?;
        let paths = document["paths"].as_object().into_iter().flatten();
        let methods = paths.flat_map(|(_, path)| path.as_object().into_iter().flatten());
        let operations = methods
            .filter_map(|(_, operation)| operation["operationId"].as_str().map(String::from))
            .collect();
        Ok(Gate {
            operations,
            faults: Mutex::default(),
            calls: Mutex::default(),
            cleared: watch::Sender::new(()),
        })
    }

    /// Sets a fault, besides those that are set. Refused if its operation is not the daemon's, or
    /// its status is not an error's.
    pub fn add_fault(&self, fault: Fault) -> Result<(), HttpError> {
        if fault.operation != EVERY_OPERATION && !self.operations.contains(&fault.operation) {
            let known = self.operations.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            return Err(bad_request(format!(
                "there is no operation \"{}\"; there are: {EVERY_OPERATION}, {known}",
                fault.operation
            )));
        }
        error_status(fault.status)?;
        self.faults().add(fault);
        Ok(())
    }

    /// Clears all faults, and lets go of the calls that hang.
    pub fn clear_faults(&self) {
        let mut faults = self.faults();
        faults.clear();
        self.cleared.send_replace(());
    }

    /// The faults that are set, the oldest first.
    pub fn list_faults(&self) -> Vec<Fault> {
        self.faults().list().to_vec()
    }

    /// The last calls.
    pub fn list_calls(&self) -> Vec<Call> {
        self.calls().list()
    }

    /// Forgets the calls.
    pub fn clear_calls(&self) {
        self.calls().clear();
    }

    /// Does what a call is to do, or what a fault makes of it.
    ///
    /// `apply` makes the change, or refuses it. It must not wait for anything.
    pub async fn call<C, R, F>(
        &self,
        rqctx: &RequestContext<C>,
        apply: F,
    ) -> Result<Answer<R>, HttpError>
    where
        C: ServerContext,
        R: HttpCodedResponse,
        F: FnOnce() -> Result<R, HttpError>,
    {
        let arrival = Arrival {
            time: Utc::now(),
            operation: rqctx.endpoint.operation_id.clone(),
            path: rqctx.request.uri().path().to_string(),
        };
        let (fault, mut cleared) = {
            // One lock for both, or faults that are cleared between the two would leave a call
            // hanging for ever.
            let mut faults = self.faults();
            (faults.meet(&arrival.operation), self.cleared.subscribe())
        };
        let Some(fault) = fault else {
            let result = apply();
            self.record(arrival, true, Some(status_of(&result)), None);
            return result.map(Answer::Given);
        };
        let work = if fault.after_apply { Work::Done(apply()) } else { Work::ToDo(apply) };
        let record = |reached_daemon, status| {
            self.record(arrival.clone(), reached_daemon, status, Some(fault.fault));
        };
        match fault.fault {
            FaultKind::Error => {
                record(fault.after_apply, Some(fault.status));
                Err(injected_error(error_status(fault.status)?))
            }
            FaultKind::Disconnect => {
                record(fault.after_apply, None);
                Ok(Answer::BrokenOff)
            }
            FaultKind::Hang => {
                record(fault.after_apply, None);
                // It ends also when the sender is gone, which it never is while `self` lives.
                let _ = cleared.changed().await;
                Ok(Answer::BrokenOff)
            }
            FaultKind::Delay => {
                tokio::time::sleep(Duration::from_millis(fault.delay_ms)).await;
                let result = work.finish();
                record(true, Some(status_of(&result)));
                result.map(Answer::Given)
            }
        }
    }

    fn record(
        &self,
        arrival: Arrival,
        reached_daemon: bool,
        status: Option<u16>,
        fault: Option<FaultKind>,
    ) {
        let Arrival { time, operation, path } = arrival;
        self.calls().record(Call { time, operation, path, reached_daemon, status, fault });
    }

    // Nothing panics while it holds one of these locks, and a list is a list even so.
    fn faults(&self) -> MutexGuard<'_, Faults> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Clone)]
struct Arrival {
    time: DateTime<Utc>,
    operation: String,
    path: String,
}

fn status_of<R: HttpCodedResponse>(result: &Result<R, HttpError>) -> u16 {
    match result {
        Ok(_) => R::STATUS_CODE.as_u16(),
        Err(error) => error.status_code.as_u16(),
    }
}

fn bad_request(message: String) -> HttpError {
    HttpError::for_client_error(None, ClientErrorStatusCode::BAD_REQUEST, message)
}

fn error_status(status: u16) -> Result<ErrorStatusCode, HttpError> {
    ErrorStatusCode::from_u16(status)
        .map_err(|_| bad_request(format!("{status} is not the status of an error")))
}

/// The error that a fault asks for.
fn injected_error(status_code: ErrorStatusCode) -> HttpError {
    let message = "injected by a fault".to_string();
    HttpError {
        status_code,
        error_code: None,
        external_message: message.clone(),
        internal_message: message,
        headers: None,
    }
}
