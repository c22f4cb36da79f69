//! What is counted of one run of one saga.

use super::Metrics;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Unwinding,
    Over,
}

impl State {
    fn label(self) -> Option<&'static str> {
        match self {
            State::Running => Some("running"),
            State::Unwinding => Some("unwinding"),
            State::Over => None,
        }
    }
}

/// Follows one run of one saga, until it is over or dropped.
#[derive(Debug)]
pub struct SagaMeter {
    metrics: Arc<Metrics>,
    saga: String,
    state: Mutex<State>,
}

impl SagaMeter {
    /// A run of a saga with this name begins; of one that was being undone already, if `unwinding`.
    pub fn begin(metrics: Arc<Metrics>, saga: &str, unwinding: bool) -> Arc<Self> {
        let state = Mutex::new(State::Over);
        let meter = SagaMeter { metrics, saga: saga.to_string(), state };
        meter.enter(if unwinding { State::Unwinding } else { State::Running });
        Arc::new(meter)
    }

    /// The saga is being undone.
    pub fn unwinding(&self) {
        self.enter(State::Unwinding);
    }

    /// The saga has ended: `succeeded`, `undone`, `stuck`, or `not_begun`.
    pub fn finished(&self, outcome: &str) {
        self.enter(State::Over);
        self.metrics.sagas.finished.at([&self.saga, outcome]).inc();
    }

    /// The saga was found to be another's. Nodes that run side by side may each find out.
    pub fn lost(&self) {
        if self.enter(State::Over) != State::Over {
            self.metrics.sagas.lost.at([&self.saga]).inc();
        }
    }

    /// Part of an action, or of an undo if the saga is being undone, is tried again.
    pub fn retried(&self) {
        let sagas = &self.metrics.sagas;
        let unwinding = *self.state() == State::Unwinding;
        let retries = if unwinding { &sagas.undo_retries } else { &sagas.node_retries };
        retries.at([&self.saga]).inc();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the state before.
    fn enter(&self, new: State) -> State {
        let old = std::mem::replace(&mut *self.state(), new);
        let running = &self.metrics.sagas.running;
        if let Some(label) = new.label() {
            running.at([&self.saga, label]).inc();
        }
        if let Some(label) = old.label() {
            running.at([&self.saga, label]).dec();
        }
        old
    }
}

impl Drop for SagaMeter {
    fn drop(&mut self) {
        self.enter(State::Over);
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_saga_is_in_one_state_at_a_time() {
        let metrics = Arc::new(Metrics::new());
        let now = |state| metrics.sagas.running.at(["s", state]).get();
        let meter = SagaMeter::begin(metrics.clone(), "s", false);
        assert_eq!((now("running"), now("unwinding")), (1.0, 0.0));
        meter.retried();
        meter.unwinding();
        meter.unwinding();
        assert_eq!((now("running"), now("unwinding")), (0.0, 1.0));
        meter.retried();
        meter.finished("undone");
        assert_eq!((now("running"), now("unwinding")), (0.0, 0.0));
        drop(meter);
        assert_eq!((now("running"), now("unwinding")), (0.0, 0.0));
        assert_eq!(metrics.sagas.node_retries.at(["s"]).get(), 1);
        assert_eq!(metrics.sagas.undo_retries.at(["s"]).get(), 1);
        assert_eq!(metrics.sagas.finished.at(["s", "undone"]).get(), 1);
    }

    #[test]
    fn a_saga_is_lost_once() {
        let metrics = Arc::new(Metrics::new());
        let meter = SagaMeter::begin(metrics.clone(), "s", false);
        meter.lost();
        meter.lost();
        assert_eq!(metrics.sagas.lost.at(["s"]).get(), 1);
        assert_eq!(metrics.sagas.running.at(["s", "running"]).get(), 0.0);
    }
}
