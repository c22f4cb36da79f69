//! `nexus-dev run-all`: a rack in the foreground.
//!
//! Signals are listened for before anything is started, so that Ctrl-C ends the rack at whatever
//! point of its start it comes. A part that ends later is reported and not started again: that is
//! for the operator to decide, or for the test that ended it.

use crate::layout::{NatMode, Request};
use crate::rack::{Options, Rack, Stop, USER};
use crate::ready::Ready;
use anyhow::{Context, Result};
use semver::Version;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What `nexus-dev run-all` is told.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where databases, configurations and logs are kept. A directory that holds an earlier run is
    /// resumed with all its data. Default: a temporary directory, removed at exit
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// Once everything answers, a JSON file that says where everything is is written here
    #[arg(long, value_name = "FILE")]
    ready_file: Option<PathBuf>,
    /// How many sleds [default: 2]
    #[arg(long, value_name = "N", value_parser = count)]
    sleds: Option<usize>,
    /// How many switches [default: 2]
    #[arg(long, value_name = "N", value_parser = count)]
    switches: Option<usize>,
    /// How many Nexus servers, on one database [default: 1]
    #[arg(long, value_name = "N", value_parser = count)]
    nexus: Option<usize>,
    /// An existing PostgreSQL or CockroachDB instead of a private PostgreSQL; the schema is applied
    /// if it is missing
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// The port of the external API of the first Nexus, 0 for any free port [default: 12220]
    #[arg(long, value_name = "P")]
    port: Option<u16>,
    /// Do not make the default pools
    #[arg(long)]
    no_seed_pool: bool,
    /// How the switches get NAT entries: pushed by Nexus, or pulled from its changeset feed
    /// [default: push]
    #[arg(long, value_enum, value_name = "MODE")]
    nat: Option<NatMode>,
    /// How Nexus answers requests without an API version, as clients of that time need it
    /// [default: the newest]
    #[arg(long, value_name = "VERSION")]
    default_api_version: Option<Version>,
}

/// Sleds, switches and servers are processes: a number with a slip of the finger in it must not
/// bring the machine down.
fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=64) => Ok(n),
        _ => Err("must be a number from 1 to 64".to_string()),
    }
}

/// Starts a rack, says where it is, and ends it when told to.
pub async fn run(args: Args) -> Result<()> {
    let mut signals = Signals::listen()?;
    let options = Options {
        request: Request {
            sleds: args.sleds,
            switches: args.switches,
            nexus: args.nexus,
            port: args.port,
            nat: args.nat,
            default_api_version: args.default_api_version,
            database_url: args.database_url,
        },
        state_dir: args.state_dir,
        ready_file: args.ready_file,
        seed_pools: !args.no_seed_pool,
        ..Options::new()?
    };
    let rack = tokio::select! {
        rack = Rack::start(options) => rack?,
        () = signals.any() => return Ok(()),
    };
    let ready = rack.ready();
    say(&greeting(&rack, &ready)?);
    tokio::select! {
        () = signals.any() => {}
        () = report_ends(&rack) => {}
    }
    say("stopping\n");
    rack.stop(Stop::Orderly);
    Ok(())
}

/// Prints; whoever read this may have gone, which is no reason to end.
fn say(text: &str) {
    let mut stdout = std::io::stdout();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

async fn report_ends(rack: &Rack) {
    const STEP: Duration = Duration::from_millis(200);
    let mut reported = HashSet::new();
    loop {
        for process in rack.processes() {
            if let Some(status) = process.ended()
                && reported.insert(process.pid())
            {
                let _ = writeln!(
                    std::io::stderr(),
                    "{} (process {}) has ended: {status}; its log: {}; to start it again: {}",
                    process.name(),
                    process.pid(),
                    process.spec().log.display(),
                    process.spec().argv.join(" ")
                );
            }
        }
        tokio::time::sleep(STEP).await;
    }
}

fn greeting(rack: &Rack, ready: &Ready) -> Result<String> {
    let url = ready.external_api.first().context("a rack has a Nexus")?;
    let mut text = String::new();
    writeln!(text, "The rack is up. Its files are in {}", rack.state_dir().display())?;
    writeln!(text)?;
    for (what, urls) in [
        ("external API", &ready.external_api),
        ("internal API", &ready.internal_api),
        ("operator API", &ready.operator_api),
    ] {
        writeln!(text, "  {what}   {}", urls.join(" "))?;
    }
    for sled in &ready.sled_agents {
        writeln!(text, "  sled           {} (simulator: {})", sled.url, sled.sim_url)?;
    }
    for switch in &ready.switches {
        writeln!(text, "  {}        {} (simulator: {})", switch.slot, switch.url, switch.sim_url)?;
    }
    writeln!(text, "  silo           {}", ready.silo)?;
    writeln!(text, "  user           {USER}, password {}", rack.password())?;
    writeln!(text, "  token          {}", ready.token)?;
    text.push_str(&next_commands(url, ready, rack.state_dir()));
    Ok(text)
}

/// What to try next. The lines work as they are.
fn next_commands(url: &str, ready: &Ready, state_dir: &Path) -> String {
    let token = &ready.token;
    let sim = ready.switches.first().map_or("", |switch| switch.sim_url.as_str());
    format!(
        r#"
Try, in another terminal:

  export OXIDE_HOST={url} OXIDE_TOKEN={token} SWITCH={sim}
  api() {{ curl -sS -H "Authorization: Bearer $OXIDE_TOKEN" -H "Content-Type: application/json" "$OXIDE_HOST$@"; echo; }}
  inbound() {{ curl -sS -H "Content-Type: application/json" "$SWITCH/sim/inbound" -d '{{"ip":"'$1'","port":22}}'; echo; }}
  api /v1/me
  api /v1/projects -d '{{"name":"demo","description":"a first project"}}'
  api "/v1/floating-ips?project=demo" -d '{{"name":"front","description":"an address to keep"}}'
  api "/v1/instances?project=demo" -d '{{"name":"web","description":"","hostname":"web","ncpus":2,"memory":2147483648}}'
  api "/v1/floating-ips/front/attach?project=demo" -d '{{"kind":"instance","parent":"web"}}'
  api "/v1/instances/web/external-ips?project=demo"
  inbound 10.0.0.0

Logs: {}/*.log. Ctrl-C ends the rack.
"#,
        state_dir.display()
    )
}

struct Signals([Signal; 3]);

impl Signals {
    fn listen() -> Result<Self> {
        Ok(Signals([
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        ]))
    }

    async fn any(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}
