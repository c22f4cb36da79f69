//! Version 2026010500: pools that are selected in one of several ways.

use super::OlderBodyOf;
use crate::types::{
    self, ExternalIpCreate, IdentityMetadataCreateParams, InstanceDiskAttachment,
    InstanceNetworkInterfaceAttachment, NoOtherFields, PoolSelector,
};
use nexus_common::NameOrId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// A floating IP to create.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FloatingIpCreate {
    #[serde(flatten)]
    pub identity: IdentityMetadataCreateParams,
    /// How the address is chosen.
    #[serde(default)]
    pub address_selector: AddressSelector,
    /// Refuses what is not a field of this type.
    #[serde(flatten, skip_serializing)]
    #[schemars(skip)]
    pub no_other_fields: NoOtherFields,
}

impl OlderBodyOf<types::FloatingIpCreate> for FloatingIpCreate {
    const CHOOSES_IP_VERSION: bool = true;
}

/// How the address of a floating IP is chosen.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum AddressSelector {
    /// This address.
    Explicit {
        /// The address.
        ip: IpAddr,
        /// The pool that has the address, if it is to be checked.
        #[serde(default)]
        pool: Option<NameOrId>,
    },
    /// The lowest free address of a pool.
    Auto {
        /// The pool; the default pool if absent.
        #[serde(default)]
        pool_selector: PoolSelector,
    },
}

impl Default for AddressSelector {
    fn default() -> Self {
        AddressSelector::Auto { pool_selector: PoolSelector::default() }
    }
}

/// An instance to create.
pub type InstanceCreate = super::InstanceCreate<
    ExternalIpCreate,
    InstanceNetworkInterfaceAttachment,
    InstanceDiskAttachment,
>;
