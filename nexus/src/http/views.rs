//! Rows as users see them.

use crate::app::Actor;
use crate::db::firewall::Firewall;
use crate::db::instance::InstanceAndVmm;
use crate::db::ip_pool::Utilization as PoolUse;
use crate::db::policy::Assignment;
use crate::db::quotas::{Amounts, SiloUse};
use crate::db::sled::SledInstance as InstanceOnSled;
use db_model as model;
use ipnetwork::IpNetwork;
use nexus_api::older::v2024032700;
use nexus_api::types::*;
use nexus_common::{ByteCount, Error, IpRange, Name};
use std::net::IpAddr;

macro_rules! identity {
    ($row:expr) => {
        IdentityMetadata {
            id: $row.id,
            name: Name::from_stored($row.name),
            description: $row.description,
            time_created: $row.time_created,
            time_modified: $row.time_modified,
        }
    };
}

pub(super) fn current_user(actor: &Actor) -> CurrentUser {
    CurrentUser {
        id: actor.user_id,
        display_name: actor.user.external_id.clone(),
        time_created: actor.user.time_created,
        time_modified: actor.user.time_modified,
        silo_id: actor.silo_id,
        silo_name: Name::from_stored(actor.silo_name.clone()),
        fleet_viewer: actor.roles.is_fleet_viewer(),
        silo_admin: actor.roles.is_silo_admin(),
    }
}

/// All silos have local users alone.
pub(super) fn silo(row: model::Silo) -> Result<Silo, Error> {
    Ok(Silo {
        discoverable: row.discoverable,
        identity_mode: SiloIdentityMode::LocalOnly,
        admin_group_name: row.admin_group_name,
        mapped_fleet_roles: serde_json::from_value(row.mapped_fleet_roles)
            .map_err(Error::internal)?,
        identity: identity!(row),
    })
}

pub(super) fn auth_settings(row: model::Silo) -> Result<SiloAuthSettings, Error> {
    let seconds = row.device_token_max_ttl_seconds.map(u32::try_from).transpose();
    Ok(SiloAuthSettings {
        silo_id: row.id,
        device_token_max_ttl_seconds: seconds.map_err(Error::internal)?,
    })
}

pub(super) fn user(row: model::SiloUser) -> User {
    User {
        id: row.id,
        display_name: row.external_id,
        time_created: row.time_created,
        time_modified: row.time_modified,
        silo_id: row.silo_id,
    }
}

pub(super) fn group(row: model::SiloGroup) -> Group {
    Group {
        id: row.id,
        display_name: row.external_id,
        time_created: row.time_created,
        time_modified: row.time_modified,
        silo_id: row.silo_id,
    }
}

pub(super) fn user_builtin(row: model::UserBuiltin) -> UserBuiltin {
    UserBuiltin { identity: identity!(row) }
}

pub(super) fn token(row: model::DeviceAccessToken) -> DeviceAccessToken {
    let model::DeviceAccessToken { id, time_created, time_expires, .. } = row;
    DeviceAccessToken { id, time_created, time_expires }
}

pub(super) fn session(row: model::ConsoleSession) -> ConsoleSession {
    let model::ConsoleSession { id, time_created, time_last_used, .. } = row;
    ConsoleSession { id, time_created, time_last_used }
}

/// A role as one API and the database have it; a role that the API does not have is none.
macro_rules! role {
    ($api:ident { $($variant:ident),+ }) => {
        impl PolicyRole for $api {
            fn stored(self) -> model::Role {
                match self {
                    $($api::$variant => model::Role::$variant,)+
                }
            }
            fn shown(role: model::Role) -> Option<Self> {
                match role {
                    $(model::Role::$variant => Some($api::$variant),)+
                    #[allow(unreachable_patterns, reason = "some have all of the roles")]
                    _ => None,
                }
            }
        }
    };
}

/// A role that can stand in a policy.
pub(super) trait PolicyRole: Sized {
    fn stored(self) -> model::Role;
    fn shown(role: model::Role) -> Option<Self>;
}

role!(FleetRole { Admin, Collaborator, Viewer });
role!(SiloRole { Admin, Collaborator, LimitedCollaborator, Viewer });
role!(ProjectRole { Admin, Collaborator, LimitedCollaborator, Viewer });

pub(super) fn policy<R: PolicyRole>(rows: Vec<model::RoleAssignment>) -> Result<Policy<R>, Error> {
    let assignment = |row: model::RoleAssignment| {
        let role_name = R::shown(row.role_name)
            .ok_or_else(|| Error::internal(format!("{} is no role here", row.role_name)))?;
        let identity_type = match row.identity_type {
            model::IdentityType::SiloUser => IdentityType::SiloUser,
            model::IdentityType::SiloGroup => IdentityType::SiloGroup,
        };
        Ok(RoleAssignment { identity_type, identity_id: row.identity_id, role_name })
    };
    let role_assignments = rows.into_iter().map(assignment).collect::<Result<_, Error>>()?;
    Ok(Policy { role_assignments })
}

/// A policy as a request has it.
pub(super) fn assignments<R: PolicyRole>(policy: Policy<R>) -> Vec<Assignment> {
    let assignment = |wanted: RoleAssignment<R>| Assignment {
        identity_type: match wanted.identity_type {
            IdentityType::SiloUser => model::IdentityType::SiloUser,
            IdentityType::SiloGroup => model::IdentityType::SiloGroup,
        },
        identity_id: wanted.identity_id,
        role: wanted.role_name.stored(),
    };
    policy.role_assignments.into_iter().map(assignment).collect()
}

pub(super) fn project(row: model::Project) -> Project {
    Project { identity: identity!(row) }
}

fn pool_type(t: model::PoolType) -> IpPoolType {
    match t {
        model::PoolType::Unicast => IpPoolType::Unicast,
        model::PoolType::Multicast => IpPoolType::Multicast,
    }
}

pub(super) fn ip_pool(row: model::IpPool) -> IpPool {
    IpPool {
        ip_version: row.ip_version.into(),
        pool_type: pool_type(row.pool_type),
        assignment: match row.assignment {
            model::PoolAssignment::Silos => IpPoolAssignment::Silos,
            model::PoolAssignment::SystemServices => IpPoolAssignment::SystemServices,
        },
        identity: identity!(row),
    }
}

pub(super) fn silo_ip_pool((row, is_default): (model::IpPool, bool)) -> SiloIpPool {
    SiloIpPool {
        is_default,
        ip_version: row.ip_version.into(),
        pool_type: pool_type(row.pool_type),
        identity: identity!(row),
    }
}

pub(super) fn pool_range(row: model::IpPoolRange) -> Result<IpPoolRange, Error> {
    let range = IpRange::new(row.first_address.0, row.last_address.0)
        .ok_or_else(|| Error::internal(format!("range {} is out of order", row.id)))?;
    Ok(IpPoolRange {
        id: row.id,
        ip_pool_id: row.ip_pool_id,
        time_created: row.time_created,
        range,
    })
}

pub(super) fn pool_link(row: model::IpPoolSilo) -> IpPoolSiloLink {
    IpPoolSiloLink { ip_pool_id: row.ip_pool_id, silo_id: row.silo_id, is_default: row.is_default }
}

pub(super) fn pool_utilization(of: PoolUse) -> IpPoolUtilization {
    IpPoolUtilization { remaining: of.capacity - of.allocated, capacity: of.capacity }
}

/// Counts are as exact as the newest version's.
pub(super) fn pool_utilization_by_version(
    pool: &model::IpPool,
    of: PoolUse,
) -> v2024032700::IpPoolUtilization {
    let mut utilization = v2024032700::IpPoolUtilization::default();
    match IpVersion::from(pool.ip_version) {
        IpVersion::V4 => {
            utilization.ipv4.allocated = of.allocated as u32;
            utilization.ipv4.capacity = of.capacity as u32;
        }
        IpVersion::V6 => {
            utilization.ipv6.allocated = of.allocated as u128;
            utilization.ipv6.capacity = of.capacity as u128;
        }
    }
    utilization
}

pub(super) fn floating_ip(row: model::ExternalIp) -> FloatingIp {
    FloatingIp {
        ip: row.ip.0,
        ip_pool_id: row.ip_pool_id,
        project_id: row.project_id,
        instance_id: row.instance_id,
        identity: IdentityMetadata {
            id: row.id,
            name: Name::from_stored(row.name.unwrap_or_default()),
            description: row.description.unwrap_or_default(),
            time_created: row.time_created,
            time_modified: row.time_modified,
        },
    }
}

pub(super) fn external_ip(row: model::ExternalIp) -> ExternalIp {
    let (ip, ip_pool_id) = (row.ip.0, row.ip_pool_id);
    match row.kind {
        model::IpKind::Snat => ExternalIp::Snat {
            ip,
            first_port: row.first_port as u16,
            last_port: row.last_port as u16,
            ip_pool_id,
        },
        model::IpKind::Ephemeral => ExternalIp::Ephemeral { ip, ip_pool_id },
        model::IpKind::Floating => ExternalIp::Floating(floating_ip(row)),
    }
}

pub(super) fn instance(found: InstanceAndVmm) -> Instance {
    let (run_state, time_run_state_updated) = (found.run_state(), found.time_run_state_updated());
    let row = found.instance;
    let policy = match row.auto_restart_policy.as_deref() {
        Some("never") => Some(InstanceAutoRestartPolicy::Never),
        Some("best_effort") => Some(InstanceAutoRestartPolicy::BestEffort),
        _ => None,
    };
    Instance {
        project_id: row.project_id,
        ncpus: InstanceCpuCount(row.ncpus as u16),
        memory: ByteCount::from_stored(row.memory),
        hostname: row.hostname,
        boot_disk_id: row.boot_disk_id,
        enable_jumbo_frames: false,
        cpu_platform: match row.cpu_platform.as_deref() {
            Some("amd_milan") => Some(InstanceCpuPlatform::AmdMilan),
            Some("amd_turin") => Some(InstanceCpuPlatform::AmdTurin),
            Some("amd_turin_v2") => Some(InstanceCpuPlatform::AmdTurinV2),
            _ => None,
        },
        run_state,
        time_run_state_updated,
        auto_restart_enabled: policy != Some(InstanceAutoRestartPolicy::Never),
        auto_restart_policy: policy,
        time_last_auto_restarted: None,
        auto_restart_cooldown_expiration: None,
        identity: identity!(row),
    }
}

pub(super) fn disk(row: model::Disk) -> Result<Disk, Error> {
    Ok(Disk {
        project_id: row.project_id,
        snapshot_id: row.snapshot_id,
        image_id: row.image_id,
        size: ByteCount::from_stored(row.size),
        block_size: block_size(row.block_size)?,
        state: match (row.state, row.instance_id) {
            (model::DiskState::Attached, Some(id)) => DiskState::Attached(id),
            (model::DiskState::ImportReady, _) => DiskState::ImportReady,
            (model::DiskState::ImportingFromBulkWrites, _) => DiskState::ImportingFromBulkWrites,
            _ => DiskState::Detached,
        },
        device_path: format!("/mnt/{}", row.name),
        disk_type: match row.disk_type {
            model::DiskType::Distributed => DiskType::Distributed,
            model::DiskType::Local => DiskType::Local,
        },
        read_only: row.read_only,
        identity: identity!(row),
    })
}

fn block_size(bytes: i32) -> Result<BlockSize, Error> {
    BlockSize::try_from(bytes as u32).map_err(Error::internal)
}

/// That a snapshot is there means that it is ready: there is nothing behind it to be copied.
pub(super) fn snapshot(row: model::Snapshot) -> Snapshot {
    Snapshot {
        project_id: row.project_id,
        disk_id: row.disk_id,
        state: SnapshotState::Ready,
        size: ByteCount::from_stored(row.size),
        identity: identity!(row),
    }
}

/// No content, no hash of it.
pub(super) fn image(row: model::Image) -> Result<Image, Error> {
    Ok(Image {
        project_id: row.project_id,
        os: row.os,
        version: row.version,
        digest: None,
        block_size: block_size(row.block_size)?,
        size: ByteCount::from_stored(row.size),
        identity: identity!(row),
    })
}

pub(super) fn ssh_key(row: model::SshKey) -> SshKey {
    SshKey { silo_user_id: row.silo_user_id, public_key: row.public_key, identity: identity!(row) }
}

pub(super) fn quotas((silo_id, quotas): (uuid::Uuid, Amounts)) -> SiloQuotas {
    let VirtualResourceCounts { cpus, memory, storage } = counts(quotas);
    SiloQuotas { silo_id, cpus, memory, storage }
}

fn counts(amounts: Amounts) -> VirtualResourceCounts {
    VirtualResourceCounts {
        cpus: amounts.cpus,
        memory: ByteCount::from_stored(amounts.memory),
        storage: ByteCount::from_stored(amounts.storage),
    }
}

pub(super) fn utilization(of: SiloUse) -> Utilization {
    Utilization { provisioned: counts(of.in_use), capacity: counts(of.quotas) }
}

pub(super) fn silo_utilization(of: SiloUse) -> SiloUtilization {
    SiloUtilization {
        silo_id: of.silo.id,
        silo_name: Name::from_stored(of.silo.name),
        provisioned: counts(of.in_use),
        allocated: counts(of.quotas),
    }
}

/// Sleds that register are in service until an operator says otherwise.
pub(super) fn sled(row: model::Sled) -> Sled {
    Sled {
        id: row.id,
        time_created: row.time_created,
        time_modified: row.time_modified,
        baseboard: Baseboard {
            serial: row.serial_number,
            part: row.part_number,
            revision: row.revision as u32,
        },
        rack_id: model::RACK_ID,
        policy: SledPolicy::InService { provision_policy: provision_policy(row.provision_policy) },
        state: SledState::Active,
        usable_hardware_threads: row.usable_hardware_threads as u32,
        usable_physical_ram: ByteCount::from_stored(row.usable_physical_ram),
    }
}

pub(super) fn provision_policy(policy: model::ProvisionPolicy) -> SledProvisionPolicy {
    match policy {
        model::ProvisionPolicy::Provisionable => SledProvisionPolicy::Provisionable,
        model::ProvisionPolicy::NonProvisionable => SledProvisionPolicy::NonProvisionable,
    }
}

pub(super) fn stored_provision_policy(policy: SledProvisionPolicy) -> model::ProvisionPolicy {
    match policy {
        SledProvisionPolicy::Provisionable => model::ProvisionPolicy::Provisionable,
        SledProvisionPolicy::NonProvisionable => model::ProvisionPolicy::NonProvisionable,
    }
}

pub(super) fn sled_instance(on: InstanceOnSled) -> SledInstance {
    let state = on.found.run_state();
    let row = on.found.instance;
    SledInstance {
        id: row.id,
        name: Name::from_stored(row.name),
        silo_name: Name::from_stored(on.silo_name),
        project_name: Name::from_stored(on.project_name),
        active_sled_id: on.sled_id,
        migration_id: row.migration_id,
        state,
        ncpus: i64::from(row.ncpus),
        memory: row.memory,
        time_created: row.time_created,
        time_modified: row.time_modified,
    }
}

fn v4(net: IpNetwork) -> Result<oxnet::Ipv4Net, Error> {
    match net {
        IpNetwork::V4(net) => oxnet::Ipv4Net::new(net.ip(), net.prefix()).map_err(Error::internal),
        IpNetwork::V6(net) => Err(Error::internal(format!("{net} is not IPv4"))),
    }
}

fn v6(net: IpNetwork) -> Result<oxnet::Ipv6Net, Error> {
    match net {
        IpNetwork::V6(net) => oxnet::Ipv6Net::new(net.ip(), net.prefix()).map_err(Error::internal),
        IpNetwork::V4(net) => Err(Error::internal(format!("{net} is not IPv6"))),
    }
}

pub(super) fn vpc(row: model::Vpc) -> Result<Vpc, Error> {
    Ok(Vpc {
        project_id: row.project_id,
        system_router_id: row.system_router_id,
        ipv6_prefix: v6(row.ipv6_prefix)?,
        dns_name: Name::from_stored(row.dns_name),
        identity: identity!(row),
    })
}

pub(super) fn subnet(row: model::VpcSubnet) -> Result<VpcSubnet, Error> {
    Ok(VpcSubnet {
        vpc_id: row.vpc_id,
        ipv4_block: v4(row.ipv4_block)?,
        ipv6_block: v6(row.ipv6_block)?,
        custom_router_id: row.custom_router_id,
        identity: identity!(row),
    })
}

pub(super) fn nic(row: model::NetworkInterface) -> Result<InstanceNetworkInterface, Error> {
    let v4 = match row.ipv4 {
        Some(model::Ip(IpAddr::V4(ip))) => Some(PrivateIpv4Stack {
            ip,
            transit_ips: serde_json::from_value(row.transit_ips_v4).map_err(Error::internal)?,
        }),
        _ => None,
    };
    let v6 = match row.ipv6 {
        Some(model::Ip(IpAddr::V6(ip))) => Some(PrivateIpv6Stack {
            ip,
            transit_ips: serde_json::from_value(row.transit_ips_v6).map_err(Error::internal)?,
        }),
        _ => None,
    };
    let ip_stack = match (v4, v6) {
        (Some(v4), Some(v6)) => PrivateIpStack::DualStack { v4, v6 },
        (Some(v4), None) => PrivateIpStack::V4(v4),
        (None, Some(v6)) => PrivateIpStack::V6(v6),
        (None, None) => {
            return Err(Error::internal(format!("interface {} has no address", row.id)));
        }
    };
    Ok(InstanceNetworkInterface {
        instance_id: row.instance_id,
        vpc_id: row.vpc_id,
        subnet_id: row.subnet_id,
        mac: row.mac.0,
        ip_stack,
        primary: row.is_primary,
        identity: identity!(row),
    })
}

pub(super) fn firewall(firewall: Firewall) -> VpcFirewallRules {
    let vpc_id = firewall.vpc.id;
    let rule = |row: model::FirewallRule| VpcFirewallRule {
        status: row.status,
        direction: row.direction,
        targets: row.targets,
        filters: row.filters,
        action: row.action,
        priority: row.priority,
        vpc_id,
        identity: identity!(row),
    };
    VpcFirewallRules { rules: firewall.rules.into_iter().map(rule).collect() }
}

pub(super) fn audit_log_entry(row: model::AuditEntry) -> Result<AuditLogEntry, Error> {
    let auth_method = match row.auth_method.as_deref() {
        None => None,
        Some("session_cookie") => Some(AuthMethod::SessionCookie),
        Some("access_token") => Some(AuthMethod::AccessToken),
        Some(other) => return Err(Error::internal(format!("what is {other}?"))),
    };
    let actor = match (row.silo_user_id, row.silo_id) {
        (Some(silo_user_id), Some(silo_id)) => {
            AuditLogEntryActor::SiloUser { silo_user_id, silo_id }
        }
        _ => AuditLogEntryActor::Unauthenticated,
    };
    let status = row.http_status_code.map(u16::try_from).transpose().map_err(Error::internal)?;
    let result = match (status, row.error_message) {
        (None, _) => AuditLogEntryResult::Unknown,
        (Some(http_status_code), None) => AuditLogEntryResult::Success { http_status_code },
        (Some(http_status_code), Some(error_message)) => {
            let error_code = row.error_code;
            AuditLogEntryResult::Error { http_status_code, error_code, error_message }
        }
    };
    let incomplete = || Error::internal("an entry of the audit log is not complete");
    Ok(AuditLogEntry {
        id: row.id,
        request_id: row.request_id,
        request_uri: row.request_uri,
        operation_id: row.operation_id,
        source_ip: row.source_ip.0,
        user_agent: row.user_agent,
        actor,
        auth_method,
        credential_id: row.credential_id,
        time_started: row.time_started,
        time_completed: row.time_completed.ok_or_else(incomplete)?,
        result,
    })
}
