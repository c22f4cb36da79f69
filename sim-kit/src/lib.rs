//! What the simulators have in common.
//!
//! A simulator is a daemon and a control port, two HTTP servers on one state. Every call of the
//! daemon passes the [`Gate`], where tests put [faults](fault) in its way; the control port says
//! which. What a daemon does is its simulator's own: an API trait, a model that does no I/O, and
//! the server that connects the two.

#![warn(missing_docs)]

pub mod answer;
pub mod calls;
pub mod config;
pub mod context;
pub mod control;
pub mod fault;
pub mod gate;
pub mod log;
pub mod nexus;
pub mod packet;
pub mod run;
pub mod simulator;
pub mod tasks;

pub use answer::Answer;
pub use config::{Config, LogConfig};
pub use context::SimContext;
pub use gate::Gate;
pub use nexus::{NexusClients, NexusError};
pub use run::run;
pub use simulator::{Server, Simulator};
pub use tasks::Tasks;
