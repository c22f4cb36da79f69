//! Version 20240327: floating IPs that can be updated, and `ip` where there was `address`.

use super::v0_0_1::Baseboard;
use super::{OlderBodyOf, OlderView};
use crate::types::{self, IdentityMetadataCreateParams, NoOtherFields, SledPolicy, SledState};
use chrono::{DateTime, Utc};
use dropshot::HttpError;
use nexus_common::{ByteCount, NameOrId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use uuid::Uuid;

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
    /// Refuses what is not a field of this type.
    #[serde(flatten, skip_serializing)]
    #[schemars(skip)]
    pub no_other_fields: NoOtherFields,
}

impl OlderBodyOf<types::FloatingIpCreate> for FloatingIpCreate {}

/// How much of an IP pool is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IpPoolUtilization {
    /// Of its IPv4 addresses.
    pub ipv4: Ipv4Utilization,
    /// Of its IPv6 addresses.
    pub ipv6: Ipv6Utilization,
}

/// How much of a pool's IPv4 addresses is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ipv4Utilization {
    /// The addresses that are in use.
    pub allocated: u32,
    /// The addresses in the pool's ranges.
    pub capacity: u32,
}

/// How much of a pool's IPv6 addresses is in use. Numbers are strings, since they may be larger
/// than JSON's are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ipv6Utilization {
    /// The addresses that are in use.
    #[serde(with = "decimal")]
    #[schemars(schema_with = "decimal::schema")]
    pub allocated: u128,
    /// The addresses in the pool's ranges.
    #[serde(with = "decimal")]
    #[schemars(schema_with = "decimal::schema")]
    pub capacity: u128,
}

/// Large numbers as strings of decimal digits.
mod decimal {
    use schemars::r#gen::SchemaGenerator;
    use schemars::schema::{InstanceType, Schema, SchemaObject};
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub fn serialize<S: Serializer>(n: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(n)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }

    pub fn schema(_: &mut SchemaGenerator) -> Schema {
        SchemaObject {
            instance_type: Some(InstanceType::String.into()),
            format: Some("uint128".to_string()),
            ..Default::default()
        }
        .into()
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
    /// What the operator wants of the sled.
    pub policy: SledPolicy,
    /// What the system makes of the sled.
    pub state: SledState,
    /// The hardware threads that instances can use.
    pub usable_hardware_threads: u32,
    /// The memory.
    pub usable_physical_ram: ByteCount,
}

impl OlderView<types::Sled> for Sled {
    fn of(newest: types::Sled) -> Result<Self, HttpError> {
        Ok(Sled {
            id: newest.id,
            time_created: newest.time_created,
            time_modified: newest.time_modified,
            baseboard: newest.baseboard.into(),
            rack_id: newest.rack_id,
            policy: newest.policy,
            state: newest.state,
            usable_hardware_threads: newest.usable_hardware_threads,
            usable_physical_ram: newest.usable_physical_ram,
        })
    }
}
