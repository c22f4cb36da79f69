//! Version 0.0.1, the first: what it had and a later version changed.

use super::firewall::OlderProtocol;
use super::{ChoosesIpVersion, OlderBodyOf, OlderView, not_in_this_version};
use crate::types::{
    self, BlockSize, Digest, DiskState, DiskType, FleetRole, IdentityMetadata,
    IdentityMetadataCreateParams, InstanceAutoRestartPolicy, InstanceCpuCount, InstanceState,
    NoOtherFields, Policy, RoleAssignment, SledPolicy, SledProvisionPolicy,
};
use chrono::{DateTime, Utc};
use dropshot::HttpError;
use nexus_common::firewall::VpcFirewallRuleProtocol as NewestProtocol;
use nexus_common::{ByteCount, Error, MacAddr, Name, NameOrId};
use oxnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use uuid::Uuid;

/// A floating IP to create.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FloatingIpCreate {
    #[serde(flatten)]
    pub identity: IdentityMetadataCreateParams,
    /// The address; the lowest free one if absent.
    #[serde(default)]
    pub address: Option<IpAddr>,
    /// The pool; the silo's default if absent.
    #[serde(default)]
    pub pool: Option<NameOrId>,
    /// Refuses what is not a field of this type.
    #[serde(flatten, skip_serializing)]
    #[schemars(skip)]
    pub no_other_fields: NoOtherFields,
}

impl OlderBodyOf<types::FloatingIpCreate> for FloatingIpCreate {}

/// An external address that an instance has.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ExternalIp {
    /// The address.
    pub ip: IpAddr,
    /// What it is.
    pub kind: IpKind,
}

/// What an external address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IpKind {
    /// The instance's own.
    Ephemeral,
    /// A floating IP's.
    Floating,
}

impl OlderView<types::ExternalIp> for ExternalIp {
    fn of(newest: types::ExternalIp) -> Result<Self, HttpError> {
        match newest {
            types::ExternalIp::Snat { .. } => Err(not_in_this_version("source NAT")),
            types::ExternalIp::Ephemeral { ip, .. } => {
                Ok(ExternalIp { ip, kind: IpKind::Ephemeral })
            }
            types::ExternalIp::Floating(fip) => {
                Ok(ExternalIp { ip: fip.ip, kind: IpKind::Floating })
            }
        }
    }
}

/// An external address that a new instance gets.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum ExternalIpCreate {
    /// An ephemeral address.
    Ephemeral {
        /// The pool that the address is taken from; the silo's default if absent.
        #[serde(default)]
        pool_name: Option<Name>,
    },
    /// A floating IP of the instance's project, which must be detached.
    Floating {
        /// The floating IP's name.
        floating_ip_name: Name,
    },
}

impl ChoosesIpVersion for ExternalIpCreate {
    const CHOOSES_IP_VERSION: bool = false;
}

/// An instance to create.
pub type InstanceCreate = super::InstanceCreate<
    ExternalIpCreate,
    InstanceNetworkInterfaceAttachment,
    InstanceDiskAttachment,
>;

/// The network interfaces that a new instance gets.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "params", rename_all = "snake_case")]
pub enum InstanceNetworkInterfaceAttachment {
    /// These, of which the first is the primary one.
    Create(Vec<InstanceNetworkInterfaceCreate>),
    /// One with an IPv4 address, in the subnet `default` of the VPC `default`.
    #[default]
    Default,
    /// None.
    None,
}

/// A network interface to create.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct InstanceNetworkInterfaceCreate {
    #[serde(flatten)]
    pub identity: IdentityMetadataCreateParams,
    /// The name of the VPC, in the instance's project.
    pub vpc_name: Name,
    /// The name of the subnet, in that VPC.
    pub subnet_name: Name,
    /// The private address; chosen by the system if absent.
    #[serde(default)]
    pub ip: Option<IpAddr>,
    /// Networks for which the instance may forward packets.
    #[serde(default)]
    pub transit_ips: Vec<IpNet>,
}

/// A network interface of an instance.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct InstanceNetworkInterface {
    #[serde(flatten)]
    pub identity: IdentityMetadata,
    /// The instance that has the interface.
    pub instance_id: Uuid,
    /// The VPC that the interface is in.
    pub vpc_id: Uuid,
    /// The subnet that the interface is in.
    pub subnet_id: Uuid,
    /// The interface's MAC address.
    pub mac: MacAddr,
    /// The interface's private address.
    pub ip: IpAddr,
    /// Whether this is the interface that has the instance's external addresses.
    pub primary: bool,
    /// Networks for which the instance may forward packets.
    pub transit_ips: Vec<IpNet>,
}

impl OlderView<types::InstanceNetworkInterface> for InstanceNetworkInterface {
    fn of(newest: types::InstanceNetworkInterface) -> Result<Self, HttpError> {
        let (ip, transit_ips) = match newest.ip_stack {
            types::PrivateIpStack::V4(v4) => {
                (v4.ip.into(), v4.transit_ips.into_iter().map(IpNet::V4).collect())
            }
            types::PrivateIpStack::V6(v6) => {
                (v6.ip.into(), v6.transit_ips.into_iter().map(IpNet::V6).collect())
            }
            types::PrivateIpStack::DualStack { v4, v6 } => {
                return Err(Error::invalid(format!(
                    "The network interface with ID '{}' is a dual-stack NIC, with IPv4 address \
                     '{}' and IPv6 address '{}'. However, the version of the client being used \
                     is unable to fully represent both IPv4 and IPv6 addresses. Update your \
                     client and retry the request.",
                    newest.identity.id, v4.ip, v6.ip
                ))
                .into());
            }
        };
        Ok(InstanceNetworkInterface {
            identity: newest.identity,
            instance_id: newest.instance_id,
            vpc_id: newest.vpc_id,
            subnet_id: newest.subnet_id,
            mac: newest.mac,
            ip,
            primary: newest.primary,
            transit_ips,
        })
    }
}

impl OlderBodyOf<types::InstanceNetworkInterfaceCreate> for InstanceNetworkInterfaceCreate {}

/// A protocol that a firewall rule is about.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum VpcFirewallRuleProtocol {
    Tcp,
    Udp,
    Icmp,
}

impl OlderProtocol for VpcFirewallRuleProtocol {
    fn of(newest: NewestProtocol) -> Option<Self> {
        match newest {
            NewestProtocol::Tcp => Some(VpcFirewallRuleProtocol::Tcp),
            NewestProtocol::Udp => Some(VpcFirewallRuleProtocol::Udp),
            NewestProtocol::Icmp(None) => Some(VpcFirewallRuleProtocol::Icmp),
            NewestProtocol::Icmp(Some(_)) | NewestProtocol::Icmp6(_) => None,
        }
    }
}

/// A disk to create.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DiskCreate {
    #[serde(flatten)]
    pub identity: IdentityMetadataCreateParams,
    /// What is on the disk at first.
    pub disk_source: types::DiskSource,
    /// The size.
    pub size: ByteCount,
}

impl OlderBodyOf<types::DiskCreate> for DiskCreate {}

/// A disk that a new instance gets.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum InstanceDiskAttachment {
    /// A new one.
    Create(DiskCreate),
    /// One that exists and is detached.
    Attach {
        /// The disk's name.
        name: Name,
    },
}

/// A virtual disk.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Disk {
    #[serde(flatten)]
    pub identity: IdentityMetadata,
    /// The project that owns the disk.
    pub project_id: Uuid,
    /// The snapshot that the disk was made from, if it was.
    pub snapshot_id: Option<Uuid>,
    /// The image that the disk was made from, if it was.
    pub image_id: Option<Uuid>,
    /// The size.
    pub size: ByteCount,
    /// The size of a block.
    pub block_size: ByteCount,
    /// Whether the disk is attached, and what else can be done with it.
    pub state: DiskState,
    /// Where a guest finds the disk.
    pub device_path: String,
}

impl OlderView<types::Disk> for Disk {
    fn of(newest: types::Disk) -> Result<Self, HttpError> {
        if newest.disk_type == DiskType::Local {
            return Err(not_in_this_version("disk type variant"));
        }
        Ok(Disk {
            identity: newest.identity,
            project_id: newest.project_id,
            snapshot_id: newest.snapshot_id,
            image_id: newest.image_id,
            size: newest.size,
            block_size: in_bytes(newest.block_size),
            state: newest.state,
            device_path: newest.device_path,
        })
    }
}

/// A size of a block, as a size like any other.
pub(super) fn in_bytes(size: BlockSize) -> ByteCount {
    ByteCount::from(u32::from(size))
}

/// Content that disks can be made from.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Image {
    #[serde(flatten)]
    pub identity: IdentityMetadata,
    /// The project that the image belongs to; none if it is open to the whole silo.
    pub project_id: Option<Uuid>,
    /// The family of operating systems, such as `debian`.
    pub os: String,
    /// The version of the operating system.
    pub version: String,
    /// The hash of the content, if it is known.
    pub digest: Option<Digest>,
    /// The size of a block.
    pub block_size: ByteCount,
    /// The size.
    pub size: ByteCount,
}

impl OlderView<types::Image> for Image {
    fn of(newest: types::Image) -> Result<Self, HttpError> {
        Ok(Image {
            identity: newest.identity,
            project_id: newest.project_id,
            os: newest.os,
            version: newest.version,
            digest: newest.digest,
            block_size: in_bytes(newest.block_size),
            size: newest.size,
        })
    }
}

/// An instance: a virtual machine.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Instance {
    #[serde(flatten)]
    pub identity: IdentityMetadata,
    /// The project that owns the instance.
    pub project_id: Uuid,
    /// The number of virtual CPUs.
    pub ncpus: InstanceCpuCount,
    /// The memory.
    pub memory: ByteCount,
    /// The host name that the guest is told.
    pub hostname: String,
    /// The disk that the guest boots from, if one was chosen.
    pub boot_disk_id: Option<Uuid>,
    /// Whether jumbo frames are used on the primary network interface.
    pub enable_jumbo_frames: bool,
    /// The kind of CPU that the instance needs, if it needs one.
    pub cpu_platform: Option<InstanceCpuPlatform>,
    /// What the instance is doing.
    pub run_state: InstanceState,
    /// When that last changed.
    pub time_run_state_updated: DateTime<Utc>,
    /// Whether the instance is started again when it fails.
    pub auto_restart_enabled: bool,
    /// The instance's own choice in that, if it made one.
    pub auto_restart_policy: Option<InstanceAutoRestartPolicy>,
    /// When the instance was last started again because it had failed.
    pub time_last_auto_restarted: Option<DateTime<Utc>>,
    /// Until when it is not started again after that.
    pub auto_restart_cooldown_expiration: Option<DateTime<Utc>>,
}

/// A kind of CPU that an instance can depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InstanceCpuPlatform {
    /// AMD Milan.
    AmdMilan,
    /// AMD Turin.
    AmdTurin,
}

impl InstanceCpuPlatform {
    fn of(newest: types::InstanceCpuPlatform) -> Result<Self, HttpError> {
        match newest {
            types::InstanceCpuPlatform::AmdMilan => Ok(InstanceCpuPlatform::AmdMilan),
            types::InstanceCpuPlatform::AmdTurin => Ok(InstanceCpuPlatform::AmdTurin),
            types::InstanceCpuPlatform::AmdTurinV2 => {
                Err(not_in_this_version("CPU platform amd_turin_v2"))
            }
        }
    }
}

impl OlderView<types::Instance> for Instance {
    fn of(newest: types::Instance) -> Result<Self, HttpError> {
        Ok(Instance {
            identity: newest.identity,
            project_id: newest.project_id,
            ncpus: newest.ncpus,
            memory: newest.memory,
            hostname: newest.hostname,
            boot_disk_id: newest.boot_disk_id,
            enable_jumbo_frames: newest.enable_jumbo_frames,
            cpu_platform: newest.cpu_platform.map(InstanceCpuPlatform::of).transpose()?,
            run_state: newest.run_state,
            time_run_state_updated: newest.time_run_state_updated,
            auto_restart_enabled: newest.auto_restart_enabled,
            auto_restart_policy: newest.auto_restart_policy,
            time_last_auto_restarted: newest.time_last_auto_restarted,
            auto_restart_cooldown_expiration: newest.auto_restart_cooldown_expiration,
        })
    }
}

/// A project, whose silo's IP pools are meant.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OfProject {
    /// Name or ID of the project. All projects of a silo have the same pools
    #[serde(default)]
    pub project: Option<NameOrId>,
}

/// An IP pool, as an operator sees it. It belongs to one silo or to all.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct IpPool {
    #[serde(flatten)]
    pub identity: IdentityMetadata,
    /// Whether addresses come from this pool when a request names none.
    pub is_default: bool,
    /// The silo that may use the pool; none if it is linked to no silo or to several.
    pub silo_id: Option<Uuid>,
}

/// An IP pool to create.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct IpPoolCreate {
    #[serde(flatten)]
    pub identity: IdentityMetadataCreateParams,
    /// The silo that may use the pool. Absent or `null`: none, until the pool is linked to one.
    #[serde(default)]
    pub silo: Option<NameOrId>,
    /// Whether the silo's addresses come from this pool when a request names none.
    #[serde(default)]
    pub is_default: bool,
}

/// A role in a silo.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SiloRole {
    Admin,
    Collaborator,
    Viewer,
}

/// A role in a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProjectRole {
    Admin,
    Collaborator,
    Viewer,
}

/// The roles on a silo.
pub type SiloRolePolicy = Policy<SiloRole>;
/// The roles on a project.
pub type ProjectRolePolicy = Policy<ProjectRole>;

/// A role of these versions and of the newest.
macro_rules! role {
    ($role:ident) => {
        impl OlderView<types::$role> for $role {
            fn of(newest: types::$role) -> Result<Self, HttpError> {
                match newest {
                    types::$role::Admin => Ok($role::Admin),
                    types::$role::Collaborator => Ok($role::Collaborator),
                    types::$role::LimitedCollaborator => {
                        Err(not_in_this_version("role limited_collaborator"))
                    }
                    types::$role::Viewer => Ok($role::Viewer),
                }
            }
        }

        impl From<$role> for types::$role {
            fn from(older: $role) -> Self {
                match older {
                    $role::Admin => types::$role::Admin,
                    $role::Collaborator => types::$role::Collaborator,
                    $role::Viewer => types::$role::Viewer,
                }
            }
        }

        impl From<Policy<$role>> for Policy<types::$role> {
            fn from(older: Policy<$role>) -> Self {
                let newest = |a: RoleAssignment<$role>| RoleAssignment {
                    identity_type: a.identity_type,
                    identity_id: a.identity_id,
                    role_name: a.role_name.into(),
                };
                Policy {
                    role_assignments: older.role_assignments.into_iter().map(newest).collect(),
                }
            }
        }
    };
}

role!(SiloRole);
role!(ProjectRole);

impl<N, O: OlderView<N>> OlderView<Policy<N>> for Policy<O> {
    fn of(newest: Policy<N>) -> Result<Self, HttpError> {
        let older = |assignment: RoleAssignment<N>| {
            Ok::<_, HttpError>(RoleAssignment {
                identity_type: assignment.identity_type,
                identity_id: assignment.identity_id,
                role_name: O::of(assignment.role_name)?,
            })
        };
        let role_assignments = newest.role_assignments.into_iter().map(older);
        Ok(Policy { role_assignments: role_assignments.collect::<Result<_, _>>()? })
    }
}

/// A tenant of the rack.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Silo {
    #[serde(flatten)]
    pub identity: IdentityMetadata,
    /// Whether the silo is shown in lists.
    pub discoverable: bool,
    /// Where the silo's users come from and how they log in.
    pub identity_mode: SiloIdentityMode,
    /// For each role in the silo, the roles in the fleet that come with it.
    pub mapped_fleet_roles: BTreeMap<SiloRole, BTreeSet<FleetRole>>,
}

/// Where a silo's users come from and how they log in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SiloIdentityMode {
    /// Users log in through SAML and are created when they first do.
    SamlJit,
    /// The system itself keeps users and passwords.
    LocalOnly,
}

impl OlderView<types::Silo> for Silo {
    fn of(newest: types::Silo) -> Result<Self, HttpError> {
        let role = |(role, fleet)| Ok::<_, HttpError>((SiloRole::of(role)?, fleet));
        Ok(Silo {
            identity: newest.identity,
            discoverable: newest.discoverable,
            identity_mode: match newest.identity_mode {
                types::SiloIdentityMode::SamlJit => SiloIdentityMode::SamlJit,
                types::SiloIdentityMode::LocalOnly => SiloIdentityMode::LocalOnly,
                types::SiloIdentityMode::SamlScim => {
                    return Err(not_in_this_version("identity mode saml_scim"));
                }
            },
            mapped_fleet_roles: newest
                .mapped_fleet_roles
                .into_iter()
                .map(role)
                .collect::<Result<_, _>>()?,
        })
    }
}

/// A sled: a host of instances.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Sled {
    /// The sled's id.
    pub id: Uuid,
    /// When the sled was first seen.
    pub time_created: DateTime<Utc>,
    /// When the sled last registered itself, or its policy was last changed.
    pub time_modified: DateTime<Utc>,
    /// The hardware.
    pub baseboard: Baseboard,
    /// The rack that the sled is in.
    pub rack_id: Uuid,
    /// Whether new instances are placed on the sled.
    pub provision_state: SledProvisionPolicy,
    /// The hardware threads that instances can use.
    pub usable_hardware_threads: u32,
    /// The memory.
    pub usable_physical_ram: ByteCount,
}

/// What a sled is as a piece of hardware.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Baseboard {
    /// The serial number.
    pub serial: String,
    /// The part number.
    pub part: String,
    /// The revision.
    pub revision: i64,
}

impl From<types::Baseboard> for Baseboard {
    fn from(newest: types::Baseboard) -> Self {
        let types::Baseboard { serial, part, revision } = newest;
        Baseboard { serial, part, revision: revision.into() }
    }
}

impl OlderView<types::Sled> for Sled {
    fn of(newest: types::Sled) -> Result<Self, HttpError> {
        Ok(Sled {
            id: newest.id,
            time_created: newest.time_created,
            time_modified: newest.time_modified,
            baseboard: newest.baseboard.into(),
            rack_id: newest.rack_id,
            provision_state: match newest.policy {
                SledPolicy::InService { provision_policy } => provision_policy,
                SledPolicy::Expunged => SledProvisionPolicy::NonProvisionable,
            },
            usable_hardware_threads: newest.usable_hardware_threads,
            usable_physical_ram: newest.usable_physical_ram,
        })
    }
}

/// A request that may have changed something.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AuditLogEntry {
    /// The entry's id.
    pub id: Uuid,
    /// The request's id, which its answer and the log have, too.
    pub request_id: String,
    /// The path and the query of the request; long ones are cut off.
    pub request_uri: String,
    /// The operation.
    pub operation_id: String,
    /// Where the request came from.
    pub source_ip: IpAddr,
    /// What the program that made the request says of itself.
    pub user_agent: Option<String>,
    /// Who asked.
    pub actor: types::AuditLogEntryActor,
    /// How they showed who they are.
    pub auth_method: Option<String>,
    /// When the request came.
    pub time_started: DateTime<Utc>,
    /// When it was answered.
    pub time_completed: DateTime<Utc>,
    /// What came of it.
    pub result: types::AuditLogEntryResult,
}

impl OlderView<types::AuditLogEntry> for AuditLogEntry {
    fn of(newest: types::AuditLogEntry) -> Result<Self, HttpError> {
        let auth_method = newest.auth_method.map(|method| match method {
            types::AuthMethod::SessionCookie => "session_cookie",
            types::AuthMethod::AccessToken => "access_token",
            types::AuthMethod::ScimToken => "scim_token",
        });
        Ok(AuditLogEntry {
            id: newest.id,
            request_id: newest.request_id,
            request_uri: newest.request_uri,
            operation_id: newest.operation_id,
            source_ip: newest.source_ip,
            user_agent: newest.user_agent,
            actor: newest.actor,
            auth_method: auth_method.map(str::to_string),
            time_started: newest.time_started,
            time_completed: newest.time_completed,
            result: newest.result,
        })
    }
}
