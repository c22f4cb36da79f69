//! A whole rack on one machine: database, switches, sleds and Nexus servers, each a process.
//!
//! [`Rack::start`] makes or resumes a rack in a state directory and returns when every part
//! answers; [`Rack::stop`] ends it in the order in which its parts need each other. A rack that is
//! dropped, also one whose start was given up half way, is stopped; one whose owner is killed is
//! cleared away by its [watchdog](crate::watchdog).

use crate::layout::{Database, Layout, Request, url};
use crate::part::Part;
use crate::postgres::{self, Cluster};
use crate::process::{Process, Spec, stop_all};
use crate::ready::{Ready, ReadyProcess, ReadySled, ReadySwitch};
use crate::state_dir::{StateDir, write_private};
use crate::watchdog::Watchdog;
use crate::{config, proc_fs, ready, seed};
use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The silo that every rack has.
pub const SILO: &str = "default-silo";

/// The user that every rack has: administrator of the fleet and of [`SILO`].
pub const USER: &str = "admin";

/// How long a part may take from its start to its first answer.
const START_BOUND: Duration = Duration::from_secs(120);

/// How a rack is to be started.
#[derive(Clone, Debug)]
pub struct Options {
    /// What it is to consist of.
    pub request: Request,
    /// Where it keeps everything; none: in a temporary directory.
    pub state_dir: Option<PathBuf>,
    /// Where to write, once everything answers, where everything is.
    pub ready_file: Option<PathBuf>,
    /// Whether a new rack gets the default pools.
    pub seed_pools: bool,
    /// The directory with the programs `nexus`, `nexus-dev`, `dpd-sim` and `sled-agent-sim`.
    pub programs: PathBuf,
}

impl Options {
    /// The defaults, with the programs that were built together with this one.
    pub fn new() -> Result<Self> {
        let program = std::env::current_exe().context("cannot find this program's directory")?;
        let dir = program.parent().unwrap_or(Path::new("."));
        // Cargo puts tests one directory below the programs.
        let dir = if dir.ends_with("deps") { dir.parent().unwrap_or(dir) } else { dir };
        Ok(Options {
            request: Request::default(),
            state_dir: None,
            ready_file: None,
            seed_pools: true,
            programs: dir.to_path_buf(),
        })
    }
}

/// How to end a rack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Let everyone finish what they are doing.
    Orderly,
    /// Kill what has nothing to save. For racks that nobody will resume.
    Abrupt,
}

/// A running rack.
#[derive(Debug)]
pub struct Rack {
    programs: PathBuf,
    layout: Layout,
    cluster: Option<Cluster>,
    database_url: String,
    token: String,
    password: String,
    processes: Mutex<Vec<Arc<Process>>>,
    http: reqwest::Client,
    // Dropped last, in this order: the directory goes after what runs in it, the watchdog after
    // there is nothing left to watch.
    state: StateDir,
    watchdog: Watchdog,
}

impl Rack {
    /// Makes or resumes a rack, and waits until every part of it answers.
    pub async fn start(options: Options) -> Result<Self> {
        let seed_pools = options.seed_pools;
        let ready_file = options.ready_file.clone();
        let mut rack = Rack::prepare(options)?;
        // One of an earlier rack would be taken for this one's.
        if let Some(file) = &ready_file {
            ready::remove(file)?;
        }
        rack.start_database().await?;
        rack.set_up_database().await?;
        for part in rack.parts().into_iter().filter(|part| *part != Part::Postgres) {
            rack.launch(rack.spec(part)?)?;
        }
        let parts = rack.parts();
        for part in &parts {
            rack.wait_for(*part, &parts).await?;
        }
        if !rack.layout.pools_settled {
            if seed_pools {
                seed::default_pools(&rack.http, &rack.external_url(0)?, &rack.token, SILO).await?;
            }
            rack.layout.pools_settled = true;
            rack.layout.save(&rack.state)?;
        }
        if let Some(file) = &ready_file {
            rack.ready().write(file)?;
        }
        Ok(rack)
    }

    fn prepare(options: Options) -> Result<Self> {
        for program in ["nexus", "nexus-dev", "dpd-sim", "sled-agent-sim"] {
            let path = options.programs.join(program);
            ensure!(
                path.exists(),
                "{} is missing: build it with `cargo build --workspace`",
                path.display()
            );
        }
        let state = StateDir::open(options.state_dir.as_deref())?;
        let watchdog =
            Watchdog::start(&options.programs.join("nexus-dev"), Some(state.lock_handle()?))?;
        if state.is_temporary() {
            watchdog.remove(state.path());
        }
        let layout = Layout::open(&state, &options.request)?;
        layout.ensure_ports_free()?;
        // Nothing here is reached through a proxy, and an answer that takes long is none.
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(5)).build()?;
        Ok(Rack {
            programs: options.programs,
            layout,
            cluster: None,
            database_url: String::new(),
            token: state.secret("token", |hex| format!("oxide-token-{hex}"))?,
            password: state.secret("password", |hex| hex)?,
            processes: Mutex::default(),
            http,
            state,
            watchdog,
        })
    }

    async fn start_database(&mut self) -> Result<()> {
        let port = match &self.layout.database {
            Database::External { url } => {
                self.database_url.clone_from(url);
                return Ok(());
            }
            Database::Private { port } => *port,
        };
        let settings = postgres::Settings {
            port,
            password: self.state.secret("database-password", |hex| hex)?,
            durable: true,
            more: Vec::new(),
        };
        let cluster = Cluster::open(&self.state, settings, &self.watchdog).await?;
        self.database_url = cluster.url(postgres::ROLE);
        self.cluster = Some(cluster);
        self.launch(self.spec(Part::Postgres)?)?;
        self.wait_for(Part::Postgres, &[Part::Postgres]).await
    }

    /// The URL under which Nexus uses the database.
    fn nexus_database_url(&self) -> String {
        match self.layout.database {
            Database::Private { .. } => self.database_url.clone(),
            Database::External { .. } => postgres::with_settings(&self.database_url),
        }
    }

    /// Brings the schema up to date, and makes the silo and the user.
    async fn set_up_database(&self) -> Result<()> {
        let url_file = self.state.file("database-url");
        write_private(&url_file, &self.nexus_database_url())?;
        let file = |name: &str| self.state.file(name).display().to_string();
        let url_file = file("database-url");
        self.nexus(&["db", "migrate", "--database-url-file", &url_file]).await?;
        let (token, password) = (file("token"), file("password"));
        self.nexus(&[
            "db",
            "bootstrap",
            "--database-url-file",
            &url_file,
            "--silo",
            SILO,
            "--user",
            USER,
            "--token-file",
            &token,
            "--password-file",
            &password,
        ])
        .await
    }

    async fn nexus(&self, arguments: &[&str]) -> Result<()> {
        let output = tokio::process::Command::new(self.programs.join("nexus"))
            .args(arguments)
            .stdin(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .output()
            .await
            .context("cannot run nexus")?;
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        let command = arguments.iter().take(2).copied().collect::<Vec<_>>().join(" ");
        ensure!(
            output.status.success(),
            "`nexus {command}` failed: {}",
            last.unwrap_or("it left no message")
        );
        Ok(())
    }

    /// What the rack consists of, in the order of the ready file, which is that of starting.
    pub fn parts(&self) -> Vec<Part> {
        let postgres = self.cluster.iter().map(|_| Part::Postgres);
        postgres
            .chain((0..self.layout.switches.len()).map(Part::Dpd))
            .chain((0..self.layout.sleds.len()).map(Part::SledAgent))
            .chain((0..self.layout.nexus.len()).map(Part::Nexus))
            .collect()
    }

    /// How to start a part. Writes its configuration.
    fn spec(&self, part: Part) -> Result<Spec> {
        let log = self.state.file(&format!("{part}.log"));
        let (program, text) = match part {
            Part::Postgres => {
                let cluster = self.cluster.as_ref().context("the database is not the rack's")?;
                return Ok(cluster.spec(&self.programs.join("nexus-dev"), log));
            }
            Part::Dpd(index) => ("dpd-sim", config::dpd(&self.layout, self.switch(index)?)?),
            Part::SledAgent(index) => {
                ("sled-agent-sim", config::sled_agent(&self.layout, self.sled(index)?)?)
            }
            Part::Nexus(index) => {
                let nexus = self.layout.nexus.get(index).context("no such Nexus")?;
                ("nexus", config::nexus(&self.layout, nexus, &self.nexus_database_url())?)
            }
        };
        let file = self.state.file(&format!("{part}.toml"));
        write_private(&file, &text)?;
        Ok(Spec {
            name: part.to_string(),
            argv: vec![
                self.programs.join(program).display().to_string(),
                "--config".to_string(),
                file.display().to_string(),
            ],
            becomes: None,
            log,
            stop_signal: Signal::TERM,
            patience: Duration::from_secs(if program == "nexus" { 20 } else { 5 }),
        })
    }

    fn launch(&self, spec: Spec) -> Result<()> {
        let gently = spec.name == Part::Postgres.to_string();
        let process = Arc::new(Process::start(spec)?);
        self.watchdog.watch_command(process.pid(), gently, process.spec().runs_as());
        let mut processes = self.processes.lock().unwrap_or_else(PoisonError::into_inner);
        match processes.iter_mut().find(|known| known.name() == process.name()) {
            Some(known) => *known = process,
            None => processes.push(process),
        }
        Ok(())
    }

    /// Waits until a part answers. Fails as soon as one of the `needed` has ended.
    async fn wait_for(&self, part: Part, needed: &[Part]) -> Result<()> {
        const STEP: Duration = Duration::from_millis(20);
        let since = Instant::now();
        while !self.answers(part).await {
            for needed in needed {
                let process = self.process(*needed)?;
                if let Some(status) = process.ended() {
                    bail!("{needed} ended during start-up ({status}): {}", process.last_words());
                }
            }
            ensure!(
                since.elapsed() < START_BOUND,
                "{part} does not answer after {} s; its last words: {}",
                START_BOUND.as_secs(),
                self.process(part)?.last_words()
            );
            tokio::time::sleep(STEP).await;
        }
        Ok(())
    }

    async fn answers(&self, part: Part) -> bool {
        match part {
            Part::Postgres => {
                let serving = self.cluster.as_ref().and_then(Cluster::serving);
                serving.is_some_and(|pid| self.process(part).is_ok_and(|p| p.pid() == pid))
            }
            Part::Dpd(index) => match self.switch(index) {
                Ok(switch) => self.ok(format!("{}/sim/state", url(switch.sim_port))).await,
                Err(_) => false,
            },
            Part::SledAgent(index) => match self.sled(index) {
                Ok(sled) => self.ok(format!("{}/sim/state", url(sled.sim_port))).await,
                Err(_) => false,
            },
            Part::Nexus(index) => self.nexus_answers(index).await,
        }
    }

    /// A Nexus is ready for use when both APIs answer and every sled has made itself known.
    async fn nexus_answers(&self, index: usize) -> bool {
        let Some(nexus) = self.layout.nexus.get(index) else { return false };
        let internal = url(nexus.internal);
        // The two APIs count their versions apart; only the internal one demands to be told.
        let ping = self.http.get(format!("{}/v1/ping", url(nexus.external))).send().await;
        if !ping.is_ok_and(|response| response.status().is_success())
            || !self.ok(format!("{internal}/v1/ping")).await
        {
            return false;
        }
        for sled in &self.layout.sleds {
            if !self.ok(format!("{internal}/sled-agents/{}", sled.id)).await {
                return false;
            }
        }
        true
    }

    async fn ok(&self, url: String) -> bool {
        let request = self.http.get(url).header("api-version", "1.0.0");
        request.send().await.is_ok_and(|response| response.status().is_success())
    }

    fn switch(&self, index: usize) -> Result<&crate::layout::SwitchPart> {
        self.layout.switches.get(index).context("no such switch")
    }

    fn sled(&self, index: usize) -> Result<&crate::layout::SledPart> {
        self.layout.sleds.get(index).context("no such sled")
    }

    fn external_url(&self, index: usize) -> Result<String> {
        self.layout.nexus.get(index).map(|nexus| url(nexus.external)).context("no such Nexus")
    }

    /// Where everything of the rack is.
    pub fn ready(&self) -> Ready {
        let urls = |port: fn(&crate::layout::NexusPart) -> u16| {
            self.layout.nexus.iter().map(|nexus| url(port(nexus))).collect()
        };
        let sled = |sled: &crate::layout::SledPart| ReadySled {
            id: sled.id,
            url: url(sled.port),
            sim_url: url(sled.sim_port),
        };
        let switch = |switch: &crate::layout::SwitchPart| ReadySwitch {
            slot: switch.slot.clone(),
            url: url(switch.port),
            sim_url: url(switch.sim_port),
        };
        let process = |process: Arc<Process>| ReadyProcess {
            name: process.name().to_string(),
            pid: process.pid(),
            argv: process.spec().argv.clone(),
            log: process.spec().log.clone(),
        };
        Ready {
            external_api: urls(|nexus| nexus.external),
            internal_api: urls(|nexus| nexus.internal),
            operator_api: urls(|nexus| nexus.operator),
            token: self.token.clone(),
            silo: SILO.to_string(),
            database_url: self.database_url.clone(),
            sled_agents: self.layout.sleds.iter().map(sled).collect(),
            switches: self.layout.switches.iter().map(switch).collect(),
            processes: self.processes().into_iter().map(process).collect(),
        }
    }

    /// The password of the user [`USER`].
    pub fn password(&self) -> &str {
        &self.password
    }

    /// The directory with the rack's data, configurations and logs.
    pub fn state_dir(&self) -> &Path {
        self.state.path()
    }

    /// The rack's processes, also those that have ended.
    pub fn processes(&self) -> Vec<Arc<Process>> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The process of a part.
    pub fn process(&self, part: Part) -> Result<Arc<Process>> {
        let name = part.to_string();
        let found = self.processes().into_iter().find(|process| process.name() == name);
        found.with_context(|| format!("the rack has no {name}"))
    }

    /// Ends a part at once, as a crash would.
    pub fn kill(&self, part: Part) -> Result<()> {
        self.process(part)?.kill();
        Ok(())
    }

    /// Starts a part again, after it has ended, and waits until it answers.
    pub async fn restart(&self, part: Part) -> Result<()> {
        let process = self.process(part)?;
        ensure!(process.ended().is_some(), "{part} is still running");
        self.launch(process.spec().clone())?;
        self.wait_for(part, &[part]).await
    }

    /// Ends every process of the rack: Nexus first, so that nothing it does fails halfway, the
    /// database last. A part that someone has started again by its command line is part of the
    /// rack as well. Returns when nothing of it runs any more.
    pub fn stop(&self, how: Stop) {
        let processes =
            std::mem::take(&mut *self.processes.lock().unwrap_or_else(PoisonError::into_inner));
        let of = |stage: u8| -> Vec<_> {
            processes.iter().filter(|p| stop_stage(p.name()) == stage).cloned().collect()
        };
        for stage in 0..=2 {
            let processes = of(stage);
            if how == Stop::Abrupt && stage < 2 {
                processes.iter().for_each(|process| process.signal(Signal::KILL));
            }
            stop_all(&processes);
            for process in processes {
                self.watchdog.forget(process.pid());
                stop_again_started(process.spec());
            }
        }
        if let Some(cluster) = self.cluster.as_ref().filter(|_| self.state.is_temporary()) {
            cluster.remove_outside();
        }
    }
}

impl Drop for Rack {
    fn drop(&mut self) {
        self.stop(Stop::Orderly);
    }
}

fn stop_stage(name: &str) -> u8 {
    match name.parse() {
        Ok(Part::Nexus(_)) => 0,
        Ok(Part::Postgres) => 2,
        Ok(Part::Dpd(_) | Part::SledAgent(_)) | Err(_) => 1,
    }
}

/// Ends processes that are not ours but run a part's command line, which names a file in the
/// rack's own directory.
fn stop_again_started(spec: &Spec) {
    const STEP: Duration = Duration::from_millis(20);
    let argv = spec.runs_as();
    let running = || -> Vec<_> {
        let pids = proc_fs::with_argv(argv).into_iter().filter(|pid| proc_fs::is_running(*pid));
        pids.filter_map(|pid| Pid::from_raw(i32::try_from(pid).ok()?)).collect()
    };
    for signal in [spec.stop_signal, Signal::KILL] {
        let since = Instant::now();
        for pid in running() {
            let _ = kill_process(pid, signal);
        }
        while !running().is_empty() && since.elapsed() < spec.patience {
            std::thread::sleep(STEP);
        }
    }
}
