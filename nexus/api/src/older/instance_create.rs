//! Instances to create, in the versions that name multicast groups by name or id alone.

use super::OlderBodyOf;
use crate::types::{
    self, IdentityMetadataCreateParams, InstanceAutoRestartPolicy, InstanceCpuCount,
    InstanceCpuPlatform, user_data,
};
use nexus_common::{ByteCount, Hostname, NameOrId};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// An instance to create, with external addresses `E`, network interfaces `N` and disks `D` as a
/// version has them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "InstanceCreate")]
#[schemars(bound = "E: JsonSchema, N: JsonSchema + Serialize + Default, D: JsonSchema")]
#[serde(bound(deserialize = "E: Deserialize<'de>, N: Deserialize<'de> + Default, \
                             D: Deserialize<'de>"))]
pub struct InstanceCreate<E, N, D> {
    #[serde(flatten)]
    pub identity: IdentityMetadataCreateParams,
    /// The number of virtual CPUs.
    pub ncpus: InstanceCpuCount,
    /// The memory.
    pub memory: ByteCount,
    /// The host name that the guest is told.
    pub hostname: Hostname,
    /// Data for cloud-init or its like in the guest, encoded in Base64. At most 32 KiB before
    /// encoding.
    #[serde(default, with = "user_data")]
    #[schemars(schema_with = "user_data::schema")]
    pub user_data: Vec<u8>,
    /// The network interfaces.
    #[serde(default)]
    pub network_interfaces: N,
    /// The external addresses.
    #[serde(default)]
    pub external_ips: Vec<E>,
    /// The multicast groups that the instance joins.
    #[serde(default)]
    pub multicast_groups: Vec<NameOrId>,
    /// The disks, beside the one to boot from.
    #[serde(default)]
    pub disks: Vec<D>,
    /// The disk to boot from. Absent: whatever the firmware finds bootable.
    #[serde(default)]
    pub boot_disk: Option<D>,
    /// The SSH keys that the guest is told. Absent or `null`: all keys of the user; empty: none.
    #[serde(default)]
    pub ssh_public_keys: Option<Vec<NameOrId>>,
    /// Whether to start the instance at once.
    #[serde(default = "yes")]
    pub start: bool,
    /// What to do when the instance fails. Absent or `null`: what is the default at that time.
    #[serde(default)]
    pub auto_restart_policy: Option<InstanceAutoRestartPolicy>,
    /// The anti-affinity groups that the instance joins.
    #[serde(default)]
    pub anti_affinity_groups: Vec<NameOrId>,
    /// The kind of CPU that the instance needs. Absent or `null`: any.
    #[serde(default)]
    pub cpu_platform: Option<InstanceCpuPlatform>,
}

fn yes() -> bool {
    true
}

/// Whether an external address to create can say of which IP version it is to be.
pub trait ChoosesIpVersion {
    /// Whether.
    const CHOOSES_IP_VERSION: bool;
}

impl ChoosesIpVersion for types::ExternalIpCreate {
    const CHOOSES_IP_VERSION: bool = true;
}

impl<E, N, D> OlderBodyOf<types::InstanceCreate> for InstanceCreate<E, N, D>
where
    E: ChoosesIpVersion + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static,
    N: Serialize + DeserializeOwned + JsonSchema + Default + Send + Sync + 'static,
    D: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static,
{
    const CHOOSES_IP_VERSION: bool = E::CHOOSES_IP_VERSION;
}
