//! What the control plane does: a file for each kind of object.
//!
//! An operation looks its object up, asks once whether the actor may do this to it, applies the
//! rules, and leaves the rest to the datastore or to a saga. There is no SQL here, and no HTTP.

mod audit;
pub mod authz;
mod check;
pub mod context;
mod device_auth;
mod disk;
mod disk_import;
mod firewall;
mod floating_ip;
mod image;
mod instance;
mod instance_create;
mod instance_disk;
mod instance_state;
mod instance_update;
mod ip_pool;
mod login;
mod lookup;
mod metrics;
mod network;
mod nic;
mod operator;
mod password;
mod policy;
mod port;
mod project;
mod quotas;
mod silo;
mod sled;
mod snapshot;
mod ssh_key;
mod throttle;
mod user;
mod vmm;

pub use context::{Actor, Credential, OpContext};
pub use device_auth::{CODE_LIFETIME_SECONDS, DeviceCodes};
pub use login::{TOKEN_PREFIX, hash_token};
pub use lookup::{NicSelector, Selector, SubnetSelector};
pub use password::hash_password;

use crate::background::{Activator, Driver};
use crate::config::Config;
use crate::dataplane::Dataplane;
use crate::db::Datastore;
use crate::metrics::Metrics;
use crate::sagas::engine::SagaEngine;
use nexus_common::Error;
use nexus_common::name::DESCRIPTION_MAX;
use slog::{Logger, warn};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Pause before a start tries again to reach the database.
const DATABASE_RETRY: Duration = Duration::from_millis(500);

/// Does a step of the start, as soon as the database can be reached.
async fn once_reachable<T>(
    log: &Logger,
    step: impl AsyncFn() -> Result<T, Error>,
) -> Result<T, Error> {
    loop {
        match step().await {
            Err(error @ Error::Unavailable { .. }) => {
                warn!(log, "waiting for the database"; "error" => %error);
                tokio::time::sleep(DATABASE_RETRY).await;
            }
            done => return done,
        }
    }
}

/// The control plane.
#[derive(Debug)]
pub struct Nexus {
    pub(crate) config: Config,
    pub(crate) datastore: Arc<Datastore>,
    pub(crate) dataplane: Arc<Dataplane>,
    pub(crate) sagas: SagaEngine,
    pub(crate) metrics: Arc<Metrics>,
    pool_uses: metrics::PoolUses,
    background: OnceLock<Driver>,
    pub(crate) v2p: Arc<Activator>,
    pub(crate) audit: audit::AuditLog,
    passwords: password::Passwords,
    throttle: throttle::Throttle,
    pub(crate) log: Logger,
}

impl Nexus {
    /// Connects to the database, whose schema must be this program's, and starts the workers and
    /// the tasks. Unfinished sagas of an earlier life are resumed. While the database cannot be
    /// reached, this waits.
    pub async fn start(
        config: Config,
        metrics: Arc<Metrics>,
        log: Logger,
    ) -> Result<Arc<Self>, Error> {
        let datastore = Datastore::connect(&config.database, metrics.clone(), log.clone()).await?;
        let datastore = Arc::new(datastore);
        once_reachable(&log, async || datastore.check_schema().await).await?;
        let dataplane =
            Dataplane::new(&config.dataplane, datastore.clone(), metrics.clone(), &log)?;
        let dataplane = Arc::new(dataplane);
        let v2p = Arc::<Activator>::default();
        let engine = async || {
            SagaEngine::new(
                config.id,
                &config.sagas,
                datastore.clone(),
                dataplane.clone(),
                v2p.clone(),
                metrics.clone(),
                &log,
            )
            .await
        };
        let sagas = once_reachable(&log, engine).await?;
        let audit = audit::AuditLog::start(datastore.clone(), log.clone());
        let nexus = Arc::new(Nexus {
            config,
            datastore,
            dataplane,
            sagas,
            metrics,
            pool_uses: Default::default(),
            background: OnceLock::new(),
            v2p,
            audit,
            passwords: password::Passwords::new()?,
            throttle: Default::default(),
            log,
        });
        let driver = nexus.background.get_or_init(|| Driver::new(&nexus, nexus.v2p.clone()));
        driver.start(&nexus, &nexus.log);
        Ok(nexus)
    }

    /// Runs the sagas of this Nexus.
    pub fn sagas(&self) -> &SagaEngine {
        &self.sagas
    }

    /// The background tasks; none while Nexus is being made.
    pub fn background(&self) -> Option<&Driver> {
        self.background.get()
    }
}

/// Refuses a description that the database would not take.
pub(crate) fn check_description(description: &str) -> Result<(), Error> {
    if description.chars().count() > DESCRIPTION_MAX {
        return Err(Error::invalid_value(
            "description",
            format!("description may contain at most {DESCRIPTION_MAX} characters"),
        ));
    }
    if description.contains('\0') {
        return Err(Error::invalid_value("description", "description may not contain NUL"));
    }
    Ok(())
}

/// Refuses a text of one line that is too long, in characters, or has what is no text.
pub(crate) fn check_text(label: &str, text: &str, max: usize) -> Result<(), Error> {
    if text.chars().count() > max {
        let message = format!("{label} may contain at most {max} characters");
        return Err(Error::invalid_value(label, message));
    }
    // Keys are often pasted with the end of their line.
    if text.trim_end().chars().any(char::is_control) {
        let message = format!("{label} may not contain control characters");
        return Err(Error::invalid_value(label, message));
    }
    Ok(())
}

/// The change of a name and a description that a request asks for.
pub(crate) fn identity_update(
    identity: nexus_api::types::IdentityMetadataUpdateParams,
) -> Result<crate::db::project::IdentityUpdate, Error> {
    if let Some(description) = &identity.description {
        check_description(description)?;
    }
    Ok(crate::db::project::IdentityUpdate {
        name: identity.name.map(String::from),
        description: identity.description,
    })
}
