//! How a task stands.

use chrono::{DateTime, Utc};
use serde_json::Value;
use std::time::Duration;

/// Why a task ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Signaled,
    Timeout,
}

/// What a task does now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Current {
    Idle,
    Running { start_time: DateTime<Utc>, reason: Reason, iteration: u64 },
}

/// What a task did last.
#[derive(Clone, Debug, PartialEq)]
pub enum Last {
    NeverCompleted,
    Completed {
        iteration: u64,
        start_time: DateTime<Utc>,
        reason: Reason,
        elapsed: Duration,
        details: Value,
    },
}

/// A task, as an operator sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskStatus {
    pub name: &'static str,
    pub description: &'static str,
    pub period: Duration,
    pub current: Current,
    pub last: Last,
    iterations: u64,
}

impl TaskStatus {
    pub(super) fn new(name: &'static str, description: &'static str, period: Duration) -> Self {
        TaskStatus {
            name,
            description,
            period,
            current: Current::Idle,
            last: Last::NeverCompleted,
            iterations: 0,
        }
    }

    pub(super) fn begin(&mut self, reason: Reason) {
        self.iterations += 1;
        self.current =
            Current::Running { start_time: Utc::now(), reason, iteration: self.iterations };
    }

    pub(super) fn end(&mut self, elapsed: Duration, details: Value) {
        if let Current::Running { start_time, reason, iteration } =
            std::mem::replace(&mut self.current, Current::Idle)
        {
            self.last = Last::Completed { iteration, start_time, reason, elapsed, details };
        }
    }
}
