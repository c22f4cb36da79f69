//! The program `nexus-chaos`: a rack under random load while random parts of it fail.

use clap::Parser;
use nexus_chaos::{Outcome, Settings, run};
use nexus_dev::layout::NatMode;
use rand::Rng;
use std::process::ExitCode;
use std::time::Duration;

/// Torments a rack, and tells whether it kept its promises.
#[derive(Parser)]
#[command(name = "nexus-chaos", version)]
struct Cli {
    /// How long there is trouble, in minutes
    #[arg(long, value_name = "M", default_value_t = 2.0, value_parser = minutes)]
    minutes: f64,
    /// Decides what happens [default: a random one]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// How many clients make requests at the same time
    #[arg(long, value_name = "N", default_value_t = 6)]
    clients: usize,
    /// How the switches get NAT [default: push for an even seed, pull for an odd one]
    #[arg(long, value_enum)]
    nat: Option<NatMode>,
}

fn minutes(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(minutes) if (0.0..=10_000.0).contains(&minutes) => Ok(minutes),
        _ => Err("must be a number of minutes".to_string()),
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let Cli { minutes, seed, clients, nat } = Cli::parse();
    let seed = seed.unwrap_or_else(|| rand::rng().random_range(0..1_000_000));
    let duration = Duration::from_secs_f64(minutes * 60.0);
    let nat = nat.unwrap_or_else(|| Settings::nat_of(seed));
    let settings = Settings { seed, duration, clients, nat };
    let outcome = tokio::select! {
        outcome = run(settings) => outcome,
        _ = tokio::signal::ctrl_c() => {
            eprintln!("nexus-chaos: interrupted");
            return ExitCode::FAILURE;
        }
    };
    match outcome {
        Ok(Outcome { report, kept }) => {
            println!("{report}");
            let Some(kept) = kept else { return ExitCode::SUCCESS };
            println!("seed {seed}; logs and history are kept in {}", kept.display());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("nexus-chaos: seed {seed}: {error:#}");
            ExitCode::FAILURE
        }
    }
}
