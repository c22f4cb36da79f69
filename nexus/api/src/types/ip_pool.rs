//! IP pools, as an operator and as a silo sees them.

use super::{IdentityMetadata, IdentityMetadataCreateParams, IdentityMetadataUpdateParams};
use chrono::{DateTime, Utc};
use nexus_common::{IpRange, IpVersion, NameOrId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use uuid::Uuid;

/// A set of ranges of external addresses, as an operator sees it. Silos take addresses from the
/// pools that are linked to them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IpPool {
    #[serde(flatten)]
    pub identity: IdentityMetadata,
    /// The IP version of the pool's addresses. It never changes.
    pub ip_version: IpVersion,
    /// What the addresses can be used for. It never changes.
    pub pool_type: IpPoolType,
    /// Who takes addresses from the pool.
    pub assignment: IpPoolAssignment,
}

/// An IP pool as a silo sees to which it is linked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SiloIpPool {
    #[serde(flatten)]
    pub identity: IdentityMetadata,
    /// Whether the silo's addresses come from this pool when a request names none. A silo has at
    /// most one default for each IP version and type of pool.
    pub is_default: bool,
    /// The IP version of the pool's addresses.
    pub ip_version: IpVersion,
    /// What the addresses can be used for.
    pub pool_type: IpPoolType,
}

/// What the addresses of an IP pool can be used for.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum IpPoolType {
    /// Addresses of instances: floating, ephemeral, source NAT.
    #[default]
    Unicast,
    /// Addresses of multicast groups.
    Multicast,
}

impl fmt::Display for IpPoolType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            IpPoolType::Unicast => "unicast",
            IpPoolType::Multicast => "multicast",
        })
    }
}

/// Who takes addresses from an IP pool.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum IpPoolAssignment {
    /// The silos to which the pool is linked.
    #[default]
    Silos,
    /// The rack's own services.
    SystemServices,
}

impl fmt::Display for IpPoolAssignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            IpPoolAssignment::Silos => "silos",
            IpPoolAssignment::SystemServices => "system_services",
        })
    }
}

fn v4() -> IpVersion {
    IpVersion::V4
}

/// An IP pool to create. It has no addresses until ranges are added to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IpPoolCreate {
    #[serde(flatten)]
    pub identity: IdentityMetadataCreateParams,
    /// The IP version of the pool's addresses; IPv4 if absent.
    #[serde(default = "v4")]
    pub ip_version: IpVersion,
    /// What the addresses can be used for.
    #[serde(default)]
    pub pool_type: IpPoolType,
    /// Who takes addresses from the pool.
    #[serde(default)]
    pub assignment: IpPoolAssignment,
}

impl IpPoolCreate {
    /// A pool of IPv4 addresses for silos.
    pub fn of_silos(identity: IdentityMetadataCreateParams) -> Self {
        let (pool_type, assignment) = Default::default();
        IpPoolCreate { identity, ip_version: IpVersion::V4, pool_type, assignment }
    }
}

/// What to change of an IP pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IpPoolUpdate {
    #[serde(flatten)]
    pub identity: IdentityMetadataUpdateParams,
}

/// A range of an IP pool. Ranges of different pools never overlap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IpPoolRange {
    /// The range's id.
    pub id: Uuid,
    /// The pool that the range belongs to.
    pub ip_pool_id: Uuid,
    /// When the range was added.
    pub time_created: DateTime<Utc>,
    /// The addresses.
    pub range: IpRange,
}

/// How much of an IP pool is in use. Counted in floating-point numbers, since an IPv6 pool can
/// have more addresses than an integer can count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IpPoolUtilization {
    /// The addresses that are free.
    pub remaining: f64,
    /// The addresses in the pool's ranges.
    pub capacity: f64,
}

/// The link of an IP pool to a silo, by which the silo may take addresses from the pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IpPoolSiloLink {
    /// The pool.
    pub ip_pool_id: Uuid,
    /// The silo.
    pub silo_id: Uuid,
    /// Whether the silo's addresses come from this pool when a request names none. A silo has at
    /// most one default for each IP version and type of pool.
    pub is_default: bool,
}

/// A link of an IP pool to a silo to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IpPoolLinkSilo {
    /// The silo's name or id.
    pub silo: NameOrId,
    /// Whether the silo's addresses are to come from this pool when a request names none. Refused
    /// where the silo has such a default for this IP version and type of pool already.
    pub is_default: bool,
}

/// What to change of the link of an IP pool to a silo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IpPoolSiloUpdate {
    /// Whether the silo's addresses are to come from this pool when a request names none. `true`
    /// takes that from the pool that was the default before.
    pub is_default: bool,
}
