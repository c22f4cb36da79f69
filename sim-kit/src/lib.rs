//! What the simulators have in common.

pub mod answer;

pub use answer::Answer;
