//! The database's tables, their rows, and the migrations that make them.
//!
//! Rows are plain data: what may be done with them is decided elsewhere. States are enums here
//! and text in the database; addresses are [`Ip`] here and `INET` there.

mod audit;
mod columns;
mod external_ip;
mod firewall;
mod identity;
mod instance;
mod ip_pool;
mod nat;
mod network;
mod port;
mod project;
mod quotas;
mod saga;
pub mod schema;
mod sled;
mod ssh_key;
mod storage;

pub use audit::AuditEntry;
pub use columns::{Ip, Mac};
pub use external_ip::{ExternalIp, IpKind, IpState};
pub use firewall::{FirewallRule, VpcFirewall};
pub use identity::{
    ConsoleSession, DeviceAccessToken, DeviceAuthRequest, FLEET_ID, IdentityType, ResourceKind,
    Role, RoleAssignment, Silo, SiloGroup, SiloUser, UserBuiltin,
};
pub use instance::{Instance, InstanceState, Migration, MigrationState, Vmm, VmmState};
pub use ip_pool::{
    FreeAddress, IpPool, IpPoolRange, IpPoolSilo, IpVersion, PoolAssignment, PoolType, SnatAddress,
};
pub use nat::{NatEntry, NatSwitch};
pub use network::{NetworkInterface, Vpc, VpcSubnet};
pub use port::PortAddress;
pub use project::{Disk, DiskState, DiskType, Project};
pub use quotas::SiloQuotas;
pub use saga::{Saga, SagaNodeEvent, SagaState};
pub use sled::{ProvisionPolicy, RACK_ID, Sled, SledRole};
pub use ssh_key::{InstanceSshKey, SshKey};
pub use storage::{Image, Snapshot};

/// The migrations, in order, for `nexus db migrate`.
pub const MIGRATIONS: diesel_migrations::EmbeddedMigrations =
    diesel_migrations::embed_migrations!();
