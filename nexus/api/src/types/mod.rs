//! What requests and answers are made of, one file per resource, in their newest shape.
//!
//! The names of the types are the names of the schemas in the OpenAPI document, and their doc
//! comments are its descriptions. A `…Create` or `…Update` is what a client sends; a type named
//! after the resource alone is the resource as a client sees it.

mod affinity;
mod audit;
mod base64_bytes;
mod credential;
mod disk;
mod external_ip;
mod firewall;
mod floating_ip;
mod identity;
mod image;
mod instance;
mod ip_pool;
mod network_interface;
pub(crate) mod path;
mod ping;
mod policy;
mod project;
mod quotas;
mod silo;
mod sled;
mod snapshot;
mod ssh_key;
mod unknown;
mod user;
mod vpc;

pub use affinity::{
    AffinityGroup, AffinityPolicy, AntiAffinityGroup, ExternalSubnet, FailureDomain,
};
pub use audit::{
    AuditLogEntry, AuditLogEntryActor, AuditLogEntryResult, AuditLogRange, AuthMethod,
};
pub use credential::{
    ConsoleSession, DeviceAccessToken, DeviceAccessTokenRequest, DeviceAuthRequest,
    DeviceAuthVerify, SiloAuthSettings, SiloAuthSettingsUpdate,
};
pub use disk::{
    BlockSize, Disk, DiskBackend, DiskCreate, DiskSource, DiskState, DiskType, FinalizeDisk,
    ImportBlocksBulkWrite,
};
pub use external_ip::{
    AddressAllocator, EphemeralIpCreate, ExternalIp, ExternalIpCreate, PoolSelector,
};
pub use firewall::{
    VpcFirewallRule, VpcFirewallRuleUpdate, VpcFirewallRuleUpdateParams, VpcFirewallRules,
};
pub use floating_ip::{
    FloatingIp, FloatingIpAttach, FloatingIpCreate, FloatingIpParentKind, FloatingIpUpdate,
};
pub use identity::{
    HasIdentity, IdentityMetadata, IdentityMetadataCreateParams, IdentityMetadataUpdateParams,
};
pub use image::{Digest, Image, ImageCreate, ImageSource};
pub use instance::{
    Instance, InstanceAutoRestartPolicy, InstanceCpuCount, InstanceCpuPlatform, InstanceCreate,
    InstanceDiskAttachment, InstanceState, InstanceUpdate, MulticastGroupIdentifier,
    MulticastGroupJoinSpec, USER_DATA_MAX,
};
pub(crate) use instance::{nullable, user_data};
pub use ip_pool::{
    IpPool, IpPoolAssignment, IpPoolCreate, IpPoolLinkSilo, IpPoolRange, IpPoolSiloLink,
    IpPoolSiloUpdate, IpPoolType, IpPoolUpdate, IpPoolUtilization, SiloIpPool,
};
pub use network_interface::{
    InstanceNetworkInterface, InstanceNetworkInterfaceAttachment, InstanceNetworkInterfaceCreate,
    InstanceNetworkInterfaceUpdate, Ipv4Assignment, Ipv6Assignment, PrivateIpStack,
    PrivateIpStackCreate, PrivateIpv4Stack, PrivateIpv4StackCreate, PrivateIpv6Stack,
    PrivateIpv6StackCreate,
};
pub use path::{BuiltinUserPath, GroupFilter, GroupPath, SiloSelector, TokenPath, UserPath};
pub use path::{
    DiskPath, EphemeralIpDetachSelector, FloatingIpPath, ImagePath, ImageSelector, InstancePath,
    InstanceSelector, InterfacePath, IpPoolFilter, IpPoolPath, IpPoolSiloPath,
    OptionalInstanceSelector, OptionalProjectSelector, OptionalVpcSelector, ProjectPath,
    ProjectSelector, SiloIpPoolFilter, SiloPath, SledPath, SnapshotPath, SshKeyPath, SubnetPath,
    VpcPath, VpcSelector,
};
pub use path::{LoginPagePath, LoginPageQuery, LoginSamlPagePath, PagePath};
pub use ping::{Ping, PingStatus};
pub use policy::{
    FleetRolePolicy, IdentityType, Policy, ProjectRole, ProjectRolePolicy, ROLE_ASSIGNMENTS_MAX,
    RoleAssignment, SiloRolePolicy,
};
pub use project::{
    Project, ProjectCreate, ProjectCreateDefaults, ProjectUpdate, SubnetCreateDefaults,
    VpcCreateDefaults, VpcCreateDefaultsSelection,
};
pub use quotas::{
    SiloQuotas, SiloQuotasUpdate, SiloUtilization, Utilization, VirtualResourceCounts,
};
pub use silo::{
    CertificateCreate, FleetRole, LoginPath, ServiceUsingCertificate, Silo, SiloCreate,
    SiloIdentityMode, SiloQuotasCreate, SiloRole,
};
pub use sled::{
    Baseboard, Sled, SledInstance, SledPolicy, SledProvisionPolicy, SledProvisionPolicyParams,
    SledProvisionPolicyResponse, SledState,
};
pub use snapshot::{Snapshot, SnapshotCreate, SnapshotState};
pub use ssh_key::{SshKey, SshKeyCreate};
pub use unknown::NoOtherFields;
pub use user::{
    CurrentUser, Group, PASSWORD_MAX, Password, User, UserBuiltin, UserCreate, UserPassword,
    UsernamePasswordCredentials,
};
pub use vpc::{Vpc, VpcCreate, VpcSubnet, VpcSubnetCreate, VpcSubnetUpdate, VpcUpdate};

/// The types of the crate of common types that appear in the API, so that a user of the API needs
/// one import.
pub use nexus_common::{ByteCount, Hostname, IpRange, IpVersion, MacAddr, Name, NameOrId, UserId};
