//! What a VMM is made of.

use super::{ExternalIpConfig, NetworkInterface, ResolvedVpcFirewallRule, VmmSpec};
use nexus_common::Hostname;
use nexus_internal_api::types::VmmRuntimeState;
use oxnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use uuid::Uuid;

/// A VMM that is to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InstanceEnsureBody {
    /// The virtual machine
    pub vmm_spec: VmmSpec,
    /// What is around the virtual machine
    pub local_config: InstanceSledLocalConfig,
    /// The state to begin with
    pub vmm_runtime: VmmRuntimeState,
    /// The instance that will run in it
    pub instance_id: Uuid,
    /// The migration that will bring the instance, if it runs elsewhere
    pub migration_id: Option<Uuid>,
    /// Where the VMM listens for its like
    #[schemars(with = "String")]
    pub propolis_addr: SocketAddr,
    /// Whose the instance is
    pub metadata: InstanceMetadata,
}

/// Whose an instance is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstanceMetadata {
    /// The silo
    pub silo_id: Uuid,
    /// The project
    pub project_id: Uuid,
}

/// What is around a virtual machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstanceSledLocalConfig {
    /// The instance's hostname
    pub hostname: Hostname,
    /// Its network interfaces
    pub nics: Vec<NetworkInterface>,
    /// Its external addresses
    pub external_ips: ExternalIpConfig,
    /// The subnets that are attached to it
    pub attached_subnets: Vec<AttachedSubnet>,
    /// The multicast groups that it is in
    pub multicast_groups: Vec<InstanceMulticastMembership>,
    /// The firewall rules of its VPC
    pub firewall_rules: Vec<ResolvedVpcFirewallRule>,
    /// What it is told by DHCP
    pub dhcp_config: DhcpConfig,
    /// The storage of the sled itself that it has
    pub delegated_zvols: Vec<DelegatedZvol>,
    /// The largest packet of its primary network interface, in bytes
    pub primary_nic_mtu: Option<u32>,
}

/// A subnet that is attached to an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttachedSubnet {
    /// The subnet
    pub subnet: IpNet,
    /// Where it is from
    pub kind: AttachedSubnetKind,
}

/// Where a subnet is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttachedSubnetKind {
    /// The instance's VPC
    Vpc,
    /// Outside
    External,
}

/// A multicast group that an instance is in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstanceMulticastMembership {
    /// The group's address
    pub group_ip: IpAddr,
    /// The senders that it listens to; all, if there is none
    pub sources: Vec<IpAddr>,
}

/// What an instance is told by DHCP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DhcpConfig {
    /// The DNS servers
    pub dns_servers: Vec<IpAddr>,
    /// The instance's own domain
    pub host_domain: Option<String>,
    /// The domains in which names are looked up
    pub search_domains: Vec<String>,
}

/// Storage of a sled that an instance has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum DelegatedZvol {
    /// A volume whose content is as the instance wrote it
    LocalStorageUnencrypted {
        /// The pool that it is in
        zpool_id: Uuid,
        /// The dataset that it is
        dataset_id: Uuid,
    },
    /// A volume whose content is encrypted
    LocalStorageEncrypted {
        /// The pool that it is in
        zpool_id: Uuid,
        /// The dataset that it is
        dataset_id: Uuid,
    },
}
