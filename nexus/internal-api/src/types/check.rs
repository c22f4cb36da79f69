//! What must hold when nothing is going on, and what does not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;
use uuid::Uuid;

/// What a check has found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckReport {
    /// What does not hold: the first of it, if there is very much.
    pub violations: Vec<Violation>,
    /// How many violations there are, those included that are not listed.
    pub violation_count: u64,
    /// What could not be checked, and why. Nothing is known of it.
    pub unchecked: Vec<String>,
    /// How much was looked at.
    pub compared: CheckCounts,
}

/// Something that does not hold although it must when nothing is going on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Violation {
    /// What kind of rule is violated.
    pub kind: ViolationKind,
    /// What is wrong, for people.
    pub message: String,
    /// The ids of the objects that it is about, by what they are: `external_ip`, `instance`, …
    pub ids: BTreeMap<String, Uuid>,
}

/// The kinds of rules.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ViolationKind {
    /// No address is attaching or detaching.
    AddressInTransition,
    /// An address is attached exactly when a live instance has it.
    Attachment,
    /// No two addresses in use overlap, ports considered.
    AddressOverlap,
    /// An address in use is inside of a range of its pool.
    AddressOutsidePool,
    /// Below the mark of its range, an address is either in use or free.
    FreeAddress,
    /// A pool's utilization is what is in use of it.
    PoolUtilization,
    /// The NAT entries that are recorded are those that follow from instances and addresses.
    NatIntent,
    /// A switch holds the NAT entries that are recorded.
    SwitchNat,
    /// VMMs are recorded as their sleds have them.
    Vmm,
    /// No instance is between two states with nobody working on it.
    InstanceStuck,
    /// A sled knows where the private addresses are.
    V2p,
    /// No saga is unfinished.
    SagaUnfinished,
    /// Nothing exists below what was deleted.
    DeletedParent,
}

/// How much a check has looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckCounts {
    /// External addresses in use, source NAT blocks included.
    pub external_ips: u64,
    /// Addresses of pools that were released.
    pub free_addresses: u64,
    /// IP pools.
    pub pools: u64,
    /// Instances.
    pub instances: u64,
    /// VMMs that are recorded.
    pub vmms: u64,
    /// NAT entries that are recorded.
    pub nat_entries: u64,
    /// Switches whose table was compared in whole.
    pub switches: u64,
    /// Addresses of switches' tables, those included that are ours but are missing there.
    pub switch_addresses: u64,
    /// Sleds whose v2p mappings were compared in whole.
    pub sleds: u64,
    /// v2p mappings that every sled is to have.
    pub v2p_mappings: u64,
    /// Rows whose parents were looked at.
    pub children: u64,
}

/// The external addresses that the ports of a VMM are to have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IntendedPort {
    /// The VMM.
    pub vmm_id: Uuid,
    /// The instance that runs in it.
    pub instance_id: Uuid,
    /// The sled on which it runs.
    pub sled_id: Uuid,
    /// Its floating addresses.
    pub floating: Vec<IpAddr>,
    /// Its ephemeral addresses.
    pub ephemeral: Vec<IpAddr>,
    /// Its blocks of ports for source NAT.
    pub snat: Vec<IntendedSnat>,
    /// Addresses that are coming or going: the port may have them or not.
    pub in_transition: Vec<IpAddr>,
}

/// A block of ports of an address that several instances share.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct IntendedSnat {
    /// The address.
    pub ip: IpAddr,
    /// The first port of the block.
    pub first_port: u16,
    /// The last port of the block.
    pub last_port: u16,
}
