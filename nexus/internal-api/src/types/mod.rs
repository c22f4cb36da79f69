//! What requests and answers are made of.

mod background;
mod check;
mod generation;
mod instance;
mod nat;
mod saga;
mod sled;
mod vmm;

pub use background::{
    ActivationReason, BackgroundTask, BackgroundTasksActivateRequest, CurrentStatus,
    CurrentStatusRunning, LastResult, LastResultCompleted,
};
pub use check::{CheckCounts, CheckReport, IntendedPort, IntendedSnat, Violation, ViolationKind};
pub use generation::Generation;
pub use instance::InstanceMigrateRequest;
pub use nat::NatEntryView;
pub use saga::{NodeName, Saga, SagaErrorInfo, SagaState};
pub use sled::{Baseboard, SledAgentInfo, SledCpuFamily, SledRole};
pub use vmm::{MigrationRuntimeState, MigrationState, SledVmmState, VmmRuntimeState, VmmState};
