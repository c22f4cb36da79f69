//! A rack whose Nexus runs in this process, on a runtime of its own, and can die.

use nexus::app::Nexus;
use nexus::config::Config;
use nexus::http::Servers;
use nexus::sagas::faults::Fault;
use nexus_dev::part::Part;
use nexus_tests::TestRack;
use nexus_tests::wait::eventually;
use std::sync::Arc;
use uuid::Uuid;

/// Who comes after a Nexus that died.
#[derive(Clone, Copy, Debug)]
pub enum Identity {
    Same,
    Another,
}

/// The rack, and the Nexus.
pub struct World {
    pub rack: TestRack,
    config: Config,
    nexus: Option<InProcess>,
}

struct InProcess {
    runtime: tokio::runtime::Runtime,
    nexus: Arc<Nexus>,
    servers: Servers,
}

impl InProcess {
    /// Ends it at once. Its connections to the database go with it.
    fn die(self) {
        let InProcess { runtime, nexus, servers } = self;
        {
            let _inside = runtime.enter();
            drop(servers);
        }
        runtime.shutdown_background();
        drop(nexus);
    }
}

async fn start(config: Config) -> (Arc<Nexus>, Servers) {
    let log = slog::Logger::root(slog::Discard, slog::o!());
    let nexus =
        Nexus::start(config.clone(), Arc::default(), log.clone()).await.expect("Nexus starts");
    // The ports of one that died may take a moment to be free.
    let servers = eventually("the servers start", async || {
        Servers::start(&config, nexus.clone(), &log).map_err(|error| format!("{error:#}"))
    })
    .await;
    (nexus, servers)
}

impl World {
    /// Starts a rack, and puts a Nexus in here in the place of its own.
    pub async fn start() -> Self {
        let rack = TestRack::start().await;
        rack.kill(Part::Nexus(0));
        let path = rack.rack().state_dir().join("nexus-0.toml");
        let mut config = Config::from_file(&path).expect("the rack's configuration");
        config.sagas.lease_ms = 1_000;
        config.database.max_connections = 8;
        let mut world = World { rack, config, nexus: None };
        world.come_back().await;
        world.rack.project("demo").await;
        world
    }

    async fn come_back(&mut self) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let config = self.config.clone();
        let started = tokio::task::spawn_blocking(move || {
            let (nexus, servers) = runtime.block_on(start(config));
            (runtime, nexus, servers)
        });
        let (runtime, nexus, servers) = started.await.expect("it started");
        self.nexus = Some(InProcess { runtime, nexus, servers });
    }

    /// Ends the Nexus at once, and starts it again, or another one with the same ports.
    pub async fn die_and_come_back(&mut self, next: Identity) {
        self.nexus.take().expect("it runs").die();
        if let Identity::Another = next {
            self.config.id = Uuid::new_v4();
        }
        self.come_back().await;
    }

    fn nexus(&self) -> &Nexus {
        &self.nexus.as_ref().expect("it runs").nexus
    }

    /// Plans faults for the next saga of this name.
    pub fn plan(&self, saga: &str, faults: Vec<Fault>) {
        self.nexus().sagas().faults.plan(saga, faults);
    }

    /// Waits until the saga stands where Nexus is to die.
    pub async fn crashed(&self) {
        self.nexus().sagas().faults.crashed().await;
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(nexus) = self.nexus.take() {
            nexus.die();
        }
    }
}
