//! Version 2025122300: addresses of a chosen IP version.

use super::v0_0_1::InstanceNetworkInterfaceAttachment;
use super::{ChoosesIpVersion, OlderBodyOf};
use crate::types::{self, IdentityMetadataCreateParams, InstanceDiskAttachment, NoOtherFields};
use nexus_common::{IpVersion, NameOrId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// A floating IP to create.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FloatingIpCreate {
    #[serde(flatten)]
    pub identity: IdentityMetadataCreateParams,
    /// The address; the lowest free one if absent.
    #[serde(default)]
    pub ip: Option<IpAddr>,
    /// The pool; the silo's default if absent.
    #[serde(default)]
    pub pool: Option<NameOrId>,
    /// The IP version, where the silo has a default pool for each.
    #[serde(default)]
    pub ip_version: Option<IpVersion>,
    /// Refuses what is not a field of this type.
    #[serde(flatten, skip_serializing)]
    #[schemars(skip)]
    pub no_other_fields: NoOtherFields,
}

impl OlderBodyOf<types::FloatingIpCreate> for FloatingIpCreate {
    const CHOOSES_IP_VERSION: bool = true;
}

/// An ephemeral address to give to an instance.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EphemeralIpCreate {
    /// The pool that the address is taken from; the silo's default if absent.
    #[serde(default)]
    pub pool: Option<NameOrId>,
    /// The IP version, where the silo has a default pool for each.
    #[serde(default)]
    pub ip_version: Option<IpVersion>,
}

impl OlderBodyOf<types::EphemeralIpCreate> for EphemeralIpCreate {
    const CHOOSES_IP_VERSION: bool = true;
}

/// An external address that a new instance gets.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum ExternalIpCreate {
    /// An ephemeral address.
    Ephemeral {
        /// The pool that the address is taken from; the silo's default if absent.
        #[serde(default)]
        pool: Option<NameOrId>,
        /// The IP version, where the silo has a default pool for each.
        #[serde(default)]
        ip_version: Option<IpVersion>,
    },
    /// A floating IP of the instance's project, which must be detached.
    Floating {
        /// The floating IP's name or id.
        floating_ip: NameOrId,
    },
}

impl ChoosesIpVersion for ExternalIpCreate {
    const CHOOSES_IP_VERSION: bool = true;
}

/// An instance to create.
pub type InstanceCreate = super::InstanceCreate<
    ExternalIpCreate,
    InstanceNetworkInterfaceAttachment,
    InstanceDiskAttachment,
>;
