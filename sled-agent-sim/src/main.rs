//! The program: a simulated sled agent.

use std::process::ExitCode;

fn main() -> ExitCode {
    sim_kit::run("sled-agent-sim", sled_agent_sim::start)
}
