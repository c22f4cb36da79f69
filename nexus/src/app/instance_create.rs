//! Creating instances: what is asked for, checked in the documented order.

use super::authz::Action;
use super::disk::new_disk;
use super::floating_ip::pool_request;
use super::{Nexus, OpContext, check_description};
use crate::db::address::PoolRequest;
use crate::db::external_ip::MAX_EXTERNAL_IPS;
use crate::db::instance::{ExternalIpRequest, InstanceAndVmm, NewInstance};
use crate::db::instance_disk::{InstanceDisk, MAX_DISKS, too_many_disks};
use crate::db::nic::{MAX_NICS, NicRequest, PrivateIp};
use crate::db::now;
use crate::db::ssh_key::{MAX_SSH_KEYS, SshKeyRequest, too_many_ssh_keys};
use crate::sagas::{instance_create, instance_start};
use db_model::{Instance, InstanceState, Project};
use nexus_api::compat::Legacy;
use nexus_api::types::{
    ExternalIpCreate, IdentityMetadataCreateParams, InstanceAutoRestartPolicy, InstanceCpuCount,
    InstanceCpuPlatform, InstanceCreate, InstanceDiskAttachment,
    InstanceNetworkInterfaceAttachment as Attachment, InstanceNetworkInterfaceCreate,
    MulticastGroupJoinSpec, PrivateIpStackCreate,
};
use nexus_common::{ByteCount, Error, IpVersion, LookupBy, Name, NameOrId, ResourceType};
use slog::warn;
use std::net::IpAddr;
use uuid::Uuid;

/// The most vCPUs of an instance.
const MAX_CPUS: u16 = 254;
/// The unit, and the least, of an instance's memory.
const MEMORY_UNIT: ByteCount = ByteCount::from_gibibytes(1);
/// The most memory of an instance.
const MAX_MEMORY: ByteCount = ByteCount::from_gibibytes(1536);
/// The most multicast groups of an instance.
const MAX_MULTICAST_GROUPS: usize = 32;
/// The most ephemeral IPs: one of each IP version.
const MAX_EPHEMERAL: usize = 2;

impl Nexus {
    /// Makes an instance, and starts it if that is wanted. That it cannot be started is no error:
    /// it is there then, and stopped.
    pub async fn instance_create(
        &self,
        opctx: &OpContext,
        project: &NameOrId,
        body: InstanceCreate,
        legacy: Legacy,
    ) -> Result<InstanceAndVmm, Error> {
        let project = self.project(opctx, project, Action::CreateChild).await?;
        let start = body.start;
        let new = new_instance(&project, opctx.actor()?.user_id, body, &legacy)?;
        for disk in &new.disks {
            if let InstanceDisk::Create(disk) = disk {
                self.may_read_content(opctx, disk).await?;
            }
        }
        let id = new.row.id;
        let first = instance_start::Params::new(id, Vec::new());
        let params = instance_create::Params { new, start: first.clone() };
        let dag = instance_create::dag(start).map_err(Error::internal)?;
        match self.sagas.run(dag, &params).await {
            Ok(_) => {}
            Err(failure)
                if failure.node.as_deref().is_some_and(|n| n != instance_create::RECORDS) =>
            {
                if let Err(error) = self.start_elsewhere(opctx, first, failure).await {
                    warn!(opctx.log, "instance was created, but could not be started";
                        "instance" => %id, "error" => %error);
                }
            }
            Err(failure) => return Err(failure.error),
        }
        self.datastore.instance_fetch(None, id.into()).await
    }
}

fn new_instance(
    project: &Project,
    user_id: Uuid,
    body: InstanceCreate,
    legacy: &Legacy,
) -> Result<NewInstance, Error> {
    check_size(body.ncpus, body.memory)?;
    let disk_count = body.disks.len() + usize::from(body.boot_disk.is_some());
    if disk_count > MAX_DISKS {
        return Err(too_many_disks());
    }
    let has_boot_disk = body.boot_disk.is_some();
    let disks = body.boot_disk.iter().chain(&body.disks).cloned().map(instance_disk);
    let disks = disks.collect::<Result<Vec<_>, _>>()?;
    if body.external_ips.len() > MAX_EXTERNAL_IPS {
        return Err(Error::invalid(format!(
            "An instance may not have more than {MAX_EXTERNAL_IPS} external IP addresses"
        )));
    }
    refuse_multicast_groups(&body.multicast_groups)?;
    if body.enable_jumbo_frames {
        return Err(no_jumbo_frames("set on an instance"));
    }
    let (asked, nics) = (body.external_ips.clone(), body.network_interfaces.clone());
    let external_ips: Vec<_> = asked.into_iter().map(|ip| external_ip(ip, legacy)).collect();
    check_ephemeral(&external_ips)?;
    let nics = nic_requests(&body.identity, nics)?;
    if body.ssh_public_keys.as_ref().is_some_and(|keys| keys.len() > MAX_SSH_KEYS) {
        return Err(too_many_ssh_keys());
    }
    if let Some(group) = body.anti_affinity_groups.first() {
        return Err(Error::not_found(ResourceType::AntiAffinityGroup, group));
    }
    check_description(&body.identity.description)?;
    let ssh_keys = SshKeyRequest { user_id, keys: body.ssh_public_keys.clone() };
    let row = new_row(project, body);
    Ok(NewInstance { row, nics, external_ips, disks, has_boot_disk, ssh_keys })
}

/// The row of an instance that is stopped.
fn new_row(project: &Project, body: InstanceCreate) -> Instance {
    let created = now();
    Instance {
        id: Uuid::new_v4(),
        project_id: project.id,
        silo_id: project.silo_id,
        name: body.identity.name.into(),
        description: body.identity.description,
        hostname: body.hostname.into(),
        ncpus: i32::from(body.ncpus.0),
        memory: body.memory.to_stored(),
        user_data: body.user_data,
        boot_disk_id: None,
        auto_restart_policy: body.auto_restart_policy.map(stored_policy),
        cpu_platform: body.cpu_platform.map(stored_platform),
        state: InstanceState::NoVmm,
        time_state_updated: created,
        saga_id: None,
        active_vmm_id: None,
        target_vmm_id: None,
        migration_id: None,
        time_created: created,
        time_modified: created,
        time_deleted: None,
    }
}

/// A policy as its row has it.
pub(super) fn stored_policy(policy: InstanceAutoRestartPolicy) -> String {
    match policy {
        InstanceAutoRestartPolicy::Never => "never",
        InstanceAutoRestartPolicy::BestEffort => "best_effort",
    }
    .to_string()
}

/// A platform as its row has it.
pub(super) fn stored_platform(platform: InstanceCpuPlatform) -> String {
    match platform {
        InstanceCpuPlatform::AmdMilan => "amd_milan",
        InstanceCpuPlatform::AmdTurin => "amd_turin",
        InstanceCpuPlatform::AmdTurinV2 => "amd_turin_v2",
    }
    .to_string()
}

/// Checks the size of an instance.
pub(super) fn check_size(ncpus: InstanceCpuCount, memory: ByteCount) -> Result<(), Error> {
    if ncpus.0 > MAX_CPUS {
        let message = format!("cannot have more than {MAX_CPUS} vCPUs per instance");
        return Err(Error::invalid(message));
    }
    if ncpus.0 == 0 {
        return Err(Error::invalid("an instance must have at least 1 vCPU"));
    }
    // The label is the documented one.
    let invalid = |message: String| Err(Error::invalid_value("size", message));
    if memory < MEMORY_UNIT {
        return invalid(format!("memory must be at least {MEMORY_UNIT}"));
    }
    if !memory.is_multiple_of(MEMORY_UNIT) {
        return invalid(format!("memory must be divisible by {MEMORY_UNIT}"));
    }
    if memory > MAX_MEMORY {
        return invalid(format!("memory must be less than or equal to {MAX_MEMORY}"));
    }
    Ok(())
}

/// There are no multicast groups, so none of a name, an id or an address exists.
pub(super) fn refuse_multicast_groups(groups: &[MulticastGroupJoinSpec]) -> Result<(), Error> {
    if groups.len() > MAX_MULTICAST_GROUPS {
        return Err(Error::invalid(format!(
            "An instance may not join more than {MAX_MULTICAST_GROUPS} multicast groups"
        )));
    }
    match groups.first() {
        None => Ok(()),
        Some(MulticastGroupJoinSpec { group, .. }) => {
            let by = match group.0.parse::<NameOrId>() {
                Ok(named) => LookupBy::from(&named),
                Err(_) => LookupBy::Name(group.0.clone()),
            };
            Err(Error::not_found(ResourceType::MulticastGroup, by))
        }
    }
}

/// The refusal of jumbo frames, for which no fleet administrator can opt here.
pub(super) fn no_jumbo_frames(what: &str) -> Error {
    Error::invalid(format!(
        "enable_jumbo_frames may only be {what} when the fleet-wide jumbo-frames opt-in is \
         enabled by a fleet administrator"
    ))
}

fn instance_disk(disk: InstanceDiskAttachment) -> Result<InstanceDisk, Error> {
    Ok(match disk {
        InstanceDiskAttachment::Attach { name } => InstanceDisk::Attach(name),
        InstanceDiskAttachment::Create(body) => InstanceDisk::Create(new_disk(body)?),
    })
}

fn external_ip(ip: ExternalIpCreate, legacy: &Legacy) -> ExternalIpRequest {
    match ip {
        ExternalIpCreate::Floating { floating_ip } => ExternalIpRequest::Floating(floating_ip),
        ExternalIpCreate::Ephemeral { pool_selector } => ExternalIpRequest::Ephemeral {
            id: Uuid::new_v4(),
            pool: pool_request(pool_selector, legacy),
        },
    }
}

/// Refuses two ephemeral IPs that cannot be of different versions. Pools that turn out to be of
/// one version are refused when they are looked up.
fn check_ephemeral(ips: &[ExternalIpRequest]) -> Result<(), Error> {
    let pools: Vec<&PoolRequest> = ips
        .iter()
        .filter_map(|ip| match ip {
            ExternalIpRequest::Ephemeral { pool, .. } => Some(pool),
            ExternalIpRequest::Floating(_) => None,
        })
        .collect();
    if pools.len() > MAX_EPHEMERAL {
        return Err(Error::invalid(format!(
            "An instance may not have more than {MAX_EPHEMERAL} ephemeral IP addresses"
        )));
    }
    let [first, second] = pools[..] else { return Ok(()) };
    let open = |pool: &PoolRequest| {
        matches!(pool, PoolRequest::Default(None) | PoolRequest::DefaultPreferV4)
    };
    if open(first) || open(second) {
        return Err(Error::invalid(
            "when requesting two ephemeral IPs, IP version or explicit pool name must be \
             specified on each",
        ));
    }
    match (first, second) {
        (PoolRequest::Default(Some(a)), PoolRequest::Default(Some(b))) if a == b => {
            let message = format!("cannot request two ephemeral IPs of the same version ({a})");
            Err(Error::invalid(message))
        }
        (PoolRequest::Pool(a), PoolRequest::Pool(b)) if a == b => {
            Err(Error::invalid("cannot request two ephemeral IPs from the same pool"))
        }
        _ => Ok(()),
    }
}

fn nic_requests(
    instance: &IdentityMetadataCreateParams,
    attachment: Attachment,
) -> Result<Vec<NicRequest>, Error> {
    let default = |stack| Ok(vec![default_nic(instance, stack)?]);
    let list = match attachment {
        Attachment::None => return Ok(Vec::new()),
        Attachment::DefaultDualStack => return default(PrivateIpStackCreate::default()),
        Attachment::DefaultIpv4 => return default(PrivateIpStackCreate::auto(IpVersion::V4)),
        Attachment::DefaultIpv6 => return default(PrivateIpStackCreate::auto(IpVersion::V6)),
        Attachment::Create(list) => list,
    };
    if list.len() > MAX_NICS {
        return Err(Error::invalid(format!(
            "An instance may not have more than {MAX_NICS} network interfaces"
        )));
    }
    let one_vpc =
        list.first().is_some_and(|first| list.iter().all(|n| n.vpc_name == first.vpc_name));
    if !one_vpc {
        return Err(Error::invalid("All interfaces must be in the same VPC"));
    }
    list.into_iter().map(nic_request).collect()
}

/// The interface that an instance gets if it does not say which it wants.
fn default_nic(
    instance: &IdentityMetadataCreateParams,
    ip_config: PrivateIpStackCreate,
) -> Result<NicRequest, Error> {
    let name = |name: &str| name.parse::<Name>().map_err(Error::internal);
    nic_request(InstanceNetworkInterfaceCreate {
        identity: IdentityMetadataCreateParams {
            name: name("net0")?,
            description: format!("default primary interface for {}", instance.name),
        },
        vpc_name: name("default")?,
        subnet_name: name("default")?,
        ip_config,
    })
}

/// An interface to be made.
pub(super) fn nic_request(nic: InstanceNetworkInterfaceCreate) -> Result<NicRequest, Error> {
    check_description(&nic.identity.description)?;
    let private = |ip: Option<IpAddr>| ip.map_or(PrivateIp::Auto, PrivateIp::Explicit);
    let (v4, v6) = (nic.ip_config.v4(), nic.ip_config.v6());
    let transit_ips_v4: Vec<oxnet::IpNet> =
        v4.map(|v4| v4.transit_ips.iter().copied().map(Into::into).collect()).unwrap_or_default();
    let transit_ips_v6: Vec<oxnet::IpNet> =
        v6.map(|v6| v6.transit_ips.iter().copied().map(Into::into).collect()).unwrap_or_default();
    check_transit_ips(&transit_ips_v4)?;
    check_transit_ips(&transit_ips_v6)?;
    let strings = |nets: Vec<oxnet::IpNet>| nets.iter().map(ToString::to_string).collect();
    Ok(NicRequest {
        id: Uuid::new_v4(),
        name: nic.identity.name.clone().into(),
        description: nic.identity.description.clone(),
        vpc: nic.vpc_name.clone(),
        subnet: nic.subnet_name.clone(),
        ipv4: v4.map(|v4| private(v4.ip.explicit().map(IpAddr::V4))),
        ipv6: v6.map(|v6| private(v6.ip.explicit().map(IpAddr::V6))),
        transit_ips_v4: strings(transit_ips_v4),
        transit_ips_v6: strings(transit_ips_v6),
    })
}

/// Refuses transit networks that are not networks of hosts, or that overlap.
pub(super) fn check_transit_ips(nets: &[oxnet::IpNet]) -> Result<(), Error> {
    for (n, net) in nets.iter().enumerate() {
        if net.addr() != net.prefix() {
            let message = format!("transit IP block {net} has a non-zero host identifier");
            return Err(Error::invalid(message));
        }
        if net.addr().is_multicast() {
            return Err(Error::invalid(format!("transit IP block {net} is a multicast network")));
        }
        if net.addr().is_loopback() {
            return Err(Error::invalid(format!("transit IP block {net} is a loopback network")));
        }
        if let Some(other) = nets[..n].iter().find(|other| net.overlaps(other)) {
            return Err(Error::invalid(format!("transit IP block {net} overlaps with {other}")));
        }
    }
    Ok(())
}
