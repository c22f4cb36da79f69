//! What a simulator does besides answering: tasks that end with it.

use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::task::JoinSet;

/// The tasks of a simulator.
#[derive(Debug)]
pub struct Tasks(Mutex<Option<JoinSet<()>>>);

impl Default for Tasks {
    fn default() -> Self {
        Tasks(Mutex::new(Some(JoinSet::new())))
    }
}

impl Tasks {
    /// Has a task run, at most until [`Tasks::end`]. After that nothing is begun any more.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(tasks) = self.lock().as_mut() {
            // Those that have ended take up room until someone has asked for their results.
            while tasks.try_join_next().is_some() {}
            tasks.spawn(task);
        }
    }

    /// Ends all tasks.
    pub fn end(&self) {
        // A set that is dropped ends its tasks.
        self.lock().take();
    }

    fn lock(&self) -> MutexGuard<'_, Option<JoinSet<()>>> {
        // Nothing panics while it holds the lock, and a set of tasks is one even so.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
