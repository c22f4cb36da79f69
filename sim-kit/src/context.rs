//! What the servers and the tasks of a simulator share.

use crate::gate::Gate;
use crate::tasks::Tasks;
use std::sync::Arc;

/// What the servers and the tasks of a simulator share.
pub trait SimContext {
    /// The gate that calls of the daemon pass.
    fn gate(&self) -> &Gate;

    /// The tasks that end with the simulator.
    fn tasks(&self) -> &Tasks;
}

impl<T: SimContext> SimContext for Arc<T> {
    fn gate(&self) -> &Gate {
        T::gate(self)
    }

    fn tasks(&self) -> &Tasks {
        T::tasks(self)
    }
}
