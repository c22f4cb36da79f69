//! The control plane.

pub mod config;
pub mod db;
