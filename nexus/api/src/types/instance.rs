//! Instances.

use super::{
    DiskCreate, ExternalIpCreate, IdentityMetadata, IdentityMetadataCreateParams,
    InstanceNetworkInterfaceAttachment,
};
use chrono::{DateTime, Utc};
use nexus_common::{ByteCount, Hostname, IpVersion, Name, NameOrId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use uuid::Uuid;

/// An instance: a virtual machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Instance {
    #[serde(flatten)]
    pub identity: IdentityMetadata,
    /// The project that owns the instance.
    pub project_id: Uuid,
    /// The number of virtual CPUs.
    pub ncpus: InstanceCpuCount,
    /// The memory.
    pub memory: ByteCount,
    /// The host name that the guest is told. A plain string: one that was accepted once stays
    /// readable, whatever the rules have become.
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
    /// Whether the instance is started again when it fails: what its policy says or, where it has
    /// none, the default.
    pub auto_restart_enabled: bool,
    /// The instance's own choice in that, if it made one.
    pub auto_restart_policy: Option<InstanceAutoRestartPolicy>,
    /// When the instance was last started again because it had failed.
    pub time_last_auto_restarted: Option<DateTime<Utc>>,
    /// Until when it is not started again after that.
    pub auto_restart_cooldown_expiration: Option<DateTime<Utc>>,
}

/// A number of virtual CPUs.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct InstanceCpuCount(pub u16);

/// What an instance is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InstanceState {
    /// It is being made.
    Creating,
    /// It is being started.
    Starting,
    /// It runs.
    Running,
    /// It is being stopped.
    Stopping,
    /// It does not run.
    Stopped,
    /// It is being rebooted, on the sled where it runs.
    Rebooting,
    /// It is being moved to another sled, while it runs.
    Migrating,
    /// It is being brought back after a failure.
    Repairing,
    /// It has failed.
    Failed,
    /// It was deleted.
    Destroyed,
}

impl fmt::Display for InstanceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InstanceState::Creating => "creating",
            InstanceState::Starting => "starting",
            InstanceState::Running => "running",
            InstanceState::Stopping => "stopping",
            InstanceState::Stopped => "stopped",
            InstanceState::Rebooting => "rebooting",
            InstanceState::Migrating => "migrating",
            InstanceState::Repairing => "repairing",
            InstanceState::Failed => "failed",
            InstanceState::Destroyed => "destroyed",
        })
    }
}

/// What to do when an instance fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InstanceAutoRestartPolicy {
    /// Nothing.
    Never,
    /// Start it again, unless it keeps failing.
    BestEffort,
}

/// A kind of CPU that an instance can depend on. It then runs only on sleds that have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InstanceCpuPlatform {
    /// AMD Milan.
    AmdMilan,
    /// AMD Turin.
    AmdTurin,
    /// AMD Turin, with what was added to its definition later.
    AmdTurinV2,
}

/// The most bytes of user data.
pub const USER_DATA_MAX: usize = 32 * 1024;

/// An instance to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstanceCreate {
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
    /// The network interfaces; one with an IPv4 and an IPv6 address if absent.
    #[serde(default)]
    pub network_interfaces: InstanceNetworkInterfaceAttachment,
    /// The external addresses, at most 32 of them, at most two of those ephemeral. They belong to
    /// the primary network interface.
    #[serde(default)]
    pub external_ips: Vec<ExternalIpCreate>,
    /// The multicast groups that the instance joins.
    #[serde(default)]
    pub multicast_groups: Vec<MulticastGroupJoinSpec>,
    /// The disks, beside the one to boot from.
    #[serde(default)]
    pub disks: Vec<InstanceDiskAttachment>,
    /// The disk to boot from. Absent: whatever the firmware finds bootable.
    #[serde(default)]
    pub boot_disk: Option<InstanceDiskAttachment>,
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
    /// Whether to use jumbo frames on the primary network interface.
    #[serde(default)]
    pub enable_jumbo_frames: bool,
}

fn yes() -> bool {
    true
}

/// What an instance is to be changed to. Every field but `multicast_groups` is what it will be
/// afterwards, not a difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstanceUpdate {
    /// The number of virtual CPUs. Another number than it has needs a stopped instance.
    pub ncpus: InstanceCpuCount,
    /// The memory. Another size than it has needs a stopped instance.
    pub memory: ByteCount,
    /// The name or id of the disk to boot from, one that is attached; `null` for whatever the
    /// firmware finds bootable. Another disk than it has needs a stopped instance.
    #[serde(deserialize_with = "nullable::read")]
    #[schemars(schema_with = "nullable::schema::<NameOrId>")]
    pub boot_disk: Option<NameOrId>,
    /// What to do when the instance fails; `null` for what is the default at that time.
    #[serde(deserialize_with = "nullable::read")]
    #[schemars(schema_with = "nullable::schema::<InstanceAutoRestartPolicy>")]
    pub auto_restart_policy: Option<InstanceAutoRestartPolicy>,
    /// The kind of CPU that the instance needs; `null` for any. Another kind than it has needs a
    /// stopped instance.
    #[serde(deserialize_with = "nullable::read")]
    #[schemars(schema_with = "nullable::schema::<InstanceCpuPlatform>")]
    pub cpu_platform: Option<InstanceCpuPlatform>,
    /// Whether to use jumbo frames on the primary network interface.
    pub enable_jumbo_frames: bool,
    /// The multicast groups that the instance is to be in. Absent or `null`: those that it is in.
    #[serde(default)]
    pub multicast_groups: Option<Vec<MulticastGroupJoinSpec>>,
}

/// Fields that may be `null` but must not be absent.
pub(crate) mod nullable {
    use schemars::JsonSchema;
    use schemars::r#gen::SchemaGenerator;
    use schemars::schema::Schema;
    use serde::{Deserialize, Deserializer};

    /// That a field is read by a function of its own is what keeps it from being optional.
    pub fn read<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        Option::deserialize(deserializer)
    }

    pub fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<Option<T>>()
    }
}

/// A disk that a new instance gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// A multicast group: an address, a name or an id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MulticastGroupIdentifier(pub String);

/// A multicast group to join.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MulticastGroupJoinSpec {
    /// The group.
    pub group: MulticastGroupIdentifier,
    /// The senders to hear; all of them if absent or `null`.
    #[serde(default)]
    pub source_ips: Option<Vec<IpAddr>>,
    /// The IP version of the group's address, where the group is new.
    #[serde(default)]
    pub ip_version: Option<IpVersion>,
}

/// User data: Base64, and not too much of it.
pub(crate) mod user_data {
    use super::super::base64_bytes;
    use super::USER_DATA_MAX;
    use serde::{Deserializer, de};

    pub use base64_bytes::{schema, serialize};

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let data = base64_bytes::deserialize(deserializer)?;
        if data.len() > USER_DATA_MAX {
            return Err(de::Error::custom(format!(
                "user data may have at most {USER_DATA_MAX} bytes, but has {}",
                data.len()
            )));
        }
        Ok(data)
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use serde_json::{Value, json};

    fn body(more: Value) -> Value {
        let mut body = json!({
            "name": "i", "description": "", "ncpus": 2, "memory": 1 << 30, "hostname": "i",
        });
        let fields = body.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        body
    }

    fn read(more: Value) -> Result<InstanceCreate, String> {
        serde_json::from_value(body(more)).map_err(|error| error.to_string())
    }

    #[test]
    fn everything_but_the_size_and_the_names_has_a_default() {
        let instance = read(json!({})).expect("an instance");
        assert!(instance.start);
        assert_eq!(
            instance.network_interfaces,
            InstanceNetworkInterfaceAttachment::DefaultDualStack
        );
        assert_eq!(instance.ssh_public_keys, None);
        assert!(instance.external_ips.is_empty());
    }

    #[test]
    fn user_data_is_bounded_base64() {
        let of = |n: usize| json!({"user_data": "AAAA".repeat(n.div_ceil(3))});
        assert_eq!(read(json!({"user_data": "aGk="})).expect("data").user_data, b"hi");
        read(of(USER_DATA_MAX - 2)).expect("user data of the largest size");
        assert!(read(of(USER_DATA_MAX + 1)).expect_err("too much").contains("at most 32768 bytes"));
        read(json!({"user_data": "?"})).expect_err("not Base64");
    }

    #[test]
    fn a_disk_to_create_is_flat() {
        let instance = read(json!({"disks": [
            {"type": "attach", "name": "d"},
            {
                "type": "create", "name": "e", "description": "", "size": 1 << 30,
                "disk_backend": {"type": "distributed", "disk_source": {"type": "blank", "block_size": 512}},
            },
        ]}));
        let [_, InstanceDiskAttachment::Create(disk)] = &instance.expect("an instance").disks[..]
        else {
            panic!("the second disk is to be created");
        };
        assert_eq!(disk.identity.name.as_str(), "e");
    }

    #[test]
    fn times_are_in_utc_and_say_so() {
        let time: DateTime<Utc> = "2026-09-15T10:00:00.123456+02:00".parse().expect("a time");
        assert_eq!(json!(time), json!("2026-09-15T08:00:00.123456Z"));
    }
}
