//! The program: a simulated dpd.

use std::process::ExitCode;

fn main() -> ExitCode {
    sim_kit::run("dpd-sim", dpd_sim::start)
}
