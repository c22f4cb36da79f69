//! Sled agents: running VMMs, their ports' external addresses, and v2p mappings.

use crate::config::DataplaneConfig;
use crate::db::Datastore;
use crate::db::vmm::{MigrationReport, VmmReport};
use crate::metrics::Metrics;
use db_model::{IpKind, MigrationState, Sled, VmmState};
use nexus_common::{Error, MacAddr, Vni};
use nexus_internal_api::types as api;
use sled_agent_client::{Timeouts, types};
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// How a sled did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SledError {
    /// The sled has no such VMM: it is no more.
    #[error("the sled has no such VMM")]
    Gone,
    /// No answer.
    #[error("no answer from the sled: {cause}")]
    NoAnswer { timeout: bool, cause: String },
    /// 503: not now.
    #[error("the sled is busy: {0}")]
    Busy(String),
    /// Another 4xx: not like this.
    #[error("the sled refused: {0}")]
    Refused(String),
    /// Anything else.
    #[error("the sled failed: {0}")]
    Failed(String),
}

/// The code with which a sled agent says that it does not have a VMM.
const NO_SUCH_INSTANCE: &str = "NO_SUCH_INSTANCE";

impl From<sled_agent_client::Error<types::Error>> for SledError {
    fn from(error: sled_agent_client::Error<types::Error>) -> Self {
        use sled_agent_client::Error as E;
        match error {
            E::ErrorResponse(response) => {
                let status = response.status().as_u16();
                let body = response.into_inner();
                match (status, body.error_code.as_deref()) {
                    (404, Some(NO_SUCH_INSTANCE)) => SledError::Gone,
                    (503, _) => SledError::Busy(body.message),
                    (400..=499, _) => SledError::Refused(body.message),
                    _ => SledError::Failed(format!("{status}: {}", body.message)),
                }
            }
            E::CommunicationError(error) => {
                SledError::NoAnswer { timeout: error.is_timeout(), cause: format!("{error}") }
            }
            E::UnexpectedResponse(response) if response.status().as_u16() == 503 => {
                SledError::Busy("no reason given".to_string())
            }
            other => SledError::Failed(other.to_string()),
        }
    }
}

impl SledError {
    /// Its kind, as the metrics have it.
    fn label(&self) -> &'static str {
        match self {
            SledError::Gone => "gone",
            SledError::NoAnswer { .. } => "no_answer",
            SledError::Busy(_) => "busy",
            SledError::Refused(_) => "refused",
            SledError::Failed(_) => "failed",
        }
    }
}

/// For operations where the sled's own words are for the caller or the sled's absence a 503.
impl From<SledError> for Error {
    fn from(error: SledError) -> Error {
        match error {
            SledError::Gone => Error::busy("the instance's VMM is gone"),
            SledError::NoAnswer { .. } => Error::unavailable(error),
            SledError::Busy(_) => Error::unavailable(error),
            SledError::Refused(message) => Error::invalid(message),
            SledError::Failed(_) => Error::unavailable(error),
        }
    }
}

/// A v2p mapping: where packets to a private address go.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct V2p {
    pub virtual_ip: IpAddr,
    pub virtual_mac: MacAddr,
    pub sled_address: Ipv6Addr,
    pub vni: Vni,
}

/// What a VMM is asked to become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VmmRequest {
    Running,
    Stopped,
    Reboot,
    MigrationTarget { source_propolis: std::net::SocketAddr },
}

/// Clients of sled agents, made as they are needed and kept.
#[derive(Debug)]
pub struct SledAgents {
    underlay: BTreeMap<Ipv6Addr, String>,
    timeouts: Timeouts,
    datastore: Arc<Datastore>,
    metrics: Arc<Metrics>,
    clients: Mutex<HashMap<String, SledAgent>>,
}

impl SledAgents {
    pub fn new(config: &DataplaneConfig, datastore: Arc<Datastore>, metrics: Arc<Metrics>) -> Self {
        SledAgents {
            underlay: config.underlay.clone(),
            timeouts: Timeouts {
                connect: Duration::from_millis(config.connect_timeout_ms),
                request: Duration::from_millis(config.sled_timeout_ms),
            },
            datastore,
            metrics,
            clients: Mutex::default(),
        }
    }

    /// The agent of the sled with this id.
    pub async fn agent(&self, sled_id: Uuid) -> Result<SledAgent, Error> {
        let sled = self.datastore.sled_fetch(sled_id).await?;
        self.agent_of(&sled)
    }

    /// The agent of a sled.
    pub fn agent_of(&self, sled: &Sled) -> Result<SledAgent, Error> {
        let url = match sled.underlay_address.0 {
            IpAddr::V6(ip) => match self.underlay.get(&ip) {
                Some(url) => url.clone(),
                None => format!("http://[{ip}]:{}", sled.port),
            },
            IpAddr::V4(ip) => format!("http://{ip}:{}", sled.port),
        };
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(agent) = clients.get(&url) {
            return Ok(agent.clone());
        }
        let client = sled_agent_client::client(&url, self.timeouts).map_err(Error::internal)?;
        let agent = SledAgent { client, metrics: self.metrics.clone() };
        clients.insert(url, agent.clone());
        Ok(agent)
    }
}

/// One sled's agent.
#[derive(Clone, Debug)]
pub struct SledAgent {
    client: sled_agent_client::Client,
    metrics: Arc<Metrics>,
}

fn external_ip_body(kind: IpKind, ip: IpAddr) -> Option<types::InstanceExternalIpBody> {
    match kind {
        IpKind::Ephemeral => Some(types::InstanceExternalIpBody::Ephemeral(ip)),
        IpKind::Floating => Some(types::InstanceExternalIpBody::Floating(ip)),
        IpKind::Snat => None,
    }
}

type ClientResult<T> =
    Result<sled_agent_client::ResponseValue<T>, sled_agent_client::Error<types::Error>>;

impl SledAgent {
    /// Makes a call and counts it.
    async fn counted<T>(
        &self,
        operation: &'static str,
        call: impl Future<Output = ClientResult<T>>,
    ) -> Result<T, SledError> {
        let begun = Instant::now();
        let result = call.await.map_err(SledError::from);
        let outcome = result.as_ref().err().map_or("ok", SledError::label);
        self.metrics.sleds.calls.at([operation, outcome]).inc();
        self.metrics.sleds.duration.at([operation]).observe(begun.elapsed().as_secs_f64());
        Ok(result?.into_inner())
    }

    /// Makes the sled ready to run a VMM; `body` is an `InstanceEnsureBody`.
    pub async fn vmm_register(
        &self,
        vmm_id: Uuid,
        body: serde_json::Value,
    ) -> Result<VmmReport, SledError> {
        let body: types::InstanceEnsureBody =
            serde_json::from_value(body).map_err(|error| SledError::Failed(error.to_string()))?;
        let state = self.counted("vmm_register", self.client.vmm_register(&vmm_id, &body)).await?;
        Ok(report(state))
    }

    /// Ends a VMM without further ado. Returns its last state, or none if the sled has no such
    /// VMM.
    pub async fn vmm_unregister(&self, vmm_id: Uuid) -> Result<Option<VmmReport>, SledError> {
        let answer = self.counted("vmm_unregister", self.client.vmm_unregister(&vmm_id)).await?;
        Ok(answer.updated_runtime.map(report))
    }

    /// Asks a VMM to change its state. Returns the state that it is in then, if the sled says.
    pub async fn vmm_put_state(
        &self,
        vmm_id: Uuid,
        request: VmmRequest,
    ) -> Result<Option<VmmReport>, SledError> {
        let state = match request {
            VmmRequest::Running => types::VmmStateRequested::Running,
            VmmRequest::Stopped => types::VmmStateRequested::Stopped,
            VmmRequest::Reboot => types::VmmStateRequested::Reboot,
            VmmRequest::MigrationTarget { source_propolis } => {
                types::VmmStateRequested::MigrationTarget(types::InstanceMigrationTargetParams {
                    src_propolis_addr: source_propolis.to_string(),
                })
            }
        };
        let body = types::VmmPutStateBody { state };
        let answer =
            self.counted("vmm_put_state", self.client.vmm_put_state(&vmm_id, &body)).await?;
        Ok(answer.updated_runtime.map(report))
    }

    /// A VMM's state.
    pub async fn vmm_state(&self, vmm_id: Uuid) -> Result<VmmReport, SledError> {
        Ok(report(self.counted("vmm_get_state", self.client.vmm_get_state(&vmm_id)).await?))
    }

    /// Lets a VMM's port take and send packets for an external address.
    pub async fn add_external_ip(
        &self,
        vmm_id: Uuid,
        kind: IpKind,
        ip: IpAddr,
    ) -> Result<(), SledError> {
        if let Some(body) = external_ip_body(kind, ip) {
            let call = self.client.vmm_put_external_ip(&vmm_id, &body);
            self.counted("vmm_put_external_ip", call).await?;
        }
        Ok(())
    }

    /// Takes an external address off a VMM's port.
    pub async fn remove_external_ip(
        &self,
        vmm_id: Uuid,
        kind: IpKind,
        ip: IpAddr,
    ) -> Result<(), SledError> {
        if let Some(body) = external_ip_body(kind, ip) {
            let call = self.client.vmm_delete_external_ip(&vmm_id, &body);
            self.counted("vmm_delete_external_ip", call).await?;
        }
        Ok(())
    }

    /// Sets the firewall rules of a VPC; `body` is a `VpcFirewallRulesEnsureBody`.
    pub async fn put_firewall(
        &self,
        vpc_id: Uuid,
        body: serde_json::Value,
    ) -> Result<(), SledError> {
        let body: types::VpcFirewallRulesEnsureBody =
            serde_json::from_value(body).map_err(|error| SledError::Failed(error.to_string()))?;
        let call = self.client.vpc_firewall_rules_put(&vpc_id, &body);
        self.counted("vpc_firewall_rules_put", call).await
    }

    /// The sled's v2p mappings.
    pub async fn v2p_list(&self) -> Result<Vec<V2p>, SledError> {
        let listed = self.counted("list_v2p", self.client.list_v2p()).await?;
        Ok(listed.into_iter().map(read_v2p).collect())
    }

    /// Adds a v2p mapping, in place of any other of the same address.
    pub async fn v2p_set(&self, mapping: &V2p) -> Result<(), SledError> {
        self.counted("set_v2p", self.client.set_v2p(&write_v2p(mapping))).await?;
        Ok(())
    }

    /// Removes a v2p mapping.
    pub async fn v2p_delete(&self, mapping: &V2p) -> Result<(), SledError> {
        self.counted("del_v2p", self.client.del_v2p(&write_v2p(mapping))).await?;
        Ok(())
    }
}

fn read_v2p(host: types::VirtualNetworkInterfaceHost) -> V2p {
    V2p {
        virtual_ip: host.virtual_ip,
        virtual_mac: host.virtual_mac,
        sled_address: host.physical_host_ip,
        vni: host.vni,
    }
}

fn write_v2p(mapping: &V2p) -> types::VirtualNetworkInterfaceHost {
    types::VirtualNetworkInterfaceHost {
        virtual_ip: mapping.virtual_ip,
        virtual_mac: mapping.virtual_mac,
        physical_host_ip: mapping.sled_address,
        vni: mapping.vni,
    }
}

fn migration_report(side: api::MigrationRuntimeState) -> MigrationReport {
    MigrationReport {
        migration_id: side.migration_id,
        state: match side.state {
            api::MigrationState::Pending => MigrationState::Pending,
            api::MigrationState::InProgress => MigrationState::InProgress,
            api::MigrationState::Failed => MigrationState::Failed,
            api::MigrationState::Completed => MigrationState::Completed,
        },
        generation: side.generation.to_stored(),
    }
}

/// What a sled reports, in the words of the database.
pub fn report(state: api::SledVmmState) -> VmmReport {
    VmmReport {
        state: match state.vmm_state.state {
            api::VmmState::Starting => VmmState::Starting,
            api::VmmState::Running => VmmState::Running,
            api::VmmState::Stopping => VmmState::Stopping,
            api::VmmState::Stopped => VmmState::Stopped,
            api::VmmState::Rebooting => VmmState::Rebooting,
            api::VmmState::Migrating => VmmState::Migrating,
            api::VmmState::Failed => VmmState::Failed,
            api::VmmState::Destroyed => VmmState::Destroyed,
        },
        generation: state.vmm_state.generation.to_stored(),
        time_updated: state.vmm_state.time_updated,
        migration_in: state.migration_in.map(migration_report),
        migration_out: state.migration_out.map(migration_report),
    }
}
