//! Version 0.0.6: ephemeral addresses that come and go, and names or ids where there were names.

use super::v0_0_1::{InstanceDiskAttachment, InstanceNetworkInterfaceAttachment};
use super::{ChoosesIpVersion, OlderBodyOf, OlderView, not_in_this_version};
use crate::types::{self, FloatingIp};
use dropshot::HttpError;
use nexus_common::NameOrId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// An ephemeral address to give to an instance.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EphemeralIpCreate {
    /// The pool that the address is taken from; the silo's default if absent.
    #[serde(default)]
    pub pool: Option<NameOrId>,
}

impl OlderBodyOf<types::EphemeralIpCreate> for EphemeralIpCreate {}

/// An external address that a new instance gets.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum ExternalIpCreate {
    /// An ephemeral address.
    Ephemeral {
        /// The pool that the address is taken from; the silo's default if absent.
        #[serde(default)]
        pool: Option<NameOrId>,
    },
    /// A floating IP of the instance's project, which must be detached.
    Floating {
        /// The floating IP's name or id.
        floating_ip: NameOrId,
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

/// An external address that an instance has.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ExternalIp {
    /// An address of the instance's own.
    Ephemeral {
        /// The address.
        ip: IpAddr,
    },
    /// A floating IP that is attached to the instance.
    Floating(FloatingIp),
}

impl OlderView<types::ExternalIp> for ExternalIp {
    fn of(newest: types::ExternalIp) -> Result<Self, HttpError> {
        match newest {
            types::ExternalIp::Snat { .. } => Err(not_in_this_version("source NAT")),
            types::ExternalIp::Ephemeral { ip, .. } => Ok(ExternalIp::Ephemeral { ip }),
            types::ExternalIp::Floating(fip) => Ok(ExternalIp::Floating(fip)),
        }
    }
}
