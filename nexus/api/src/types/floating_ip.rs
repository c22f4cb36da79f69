//! Floating IPs.

use super::{
    AddressAllocator, IdentityMetadata, IdentityMetadataCreateParams, IdentityMetadataUpdateParams,
    NoOtherFields,
};
use nexus_common::NameOrId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use uuid::Uuid;

/// An external address that a project owns, whatever instance it is given to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FloatingIp {
    #[serde(flatten)]
    pub identity: IdentityMetadata,
    /// The address.
    pub ip: IpAddr,
    /// The IP pool that the address is from.
    pub ip_pool_id: Uuid,
    /// The project that owns the floating IP.
    pub project_id: Uuid,
    /// The instance that has the address, or is getting or losing it; none if it is detached.
    pub instance_id: Option<Uuid>,
}

/// A floating IP to create.
///
/// A field that this type does not have is refused: it may be a misspelt `address_allocator`,
/// which, if it were ignored, would take an address from the wrong pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FloatingIpCreate {
    #[serde(flatten)]
    pub identity: IdentityMetadataCreateParams,
    /// Which address to take; one from the default pool if absent.
    #[serde(default)]
    pub address_allocator: AddressAllocator,
    /// Refuses what is not a field of this type.
    #[serde(flatten, skip_serializing)]
    #[schemars(skip)]
    pub no_other_fields: NoOtherFields,
}

impl FloatingIpCreate {
    /// A floating IP with this name, description and address.
    pub fn new(
        identity: IdentityMetadataCreateParams,
        address_allocator: AddressAllocator,
    ) -> FloatingIpCreate {
        FloatingIpCreate { identity, address_allocator, no_other_fields: NoOtherFields {} }
    }
}

/// What to change of a floating IP. Its address and what it is attached to change otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FloatingIpUpdate {
    #[serde(flatten)]
    pub identity: IdentityMetadataUpdateParams,
}

/// What to attach a floating IP to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FloatingIpAttach {
    /// The kind of `parent`.
    pub kind: FloatingIpParentKind,
    /// The name or id of what gets the address. A name is looked up in the floating IP's project.
    pub parent: NameOrId,
}

/// The kinds of object that a floating IP can be attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FloatingIpParentKind {
    Instance,
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::types::PoolSelector;

    fn read(fields: &str) -> Result<FloatingIpCreate, String> {
        let body = format!(r#"{{"name":"f","description":""{fields}}}"#);
        serde_json::from_str(&body).map_err(|error| error.to_string())
    }

    #[test]
    fn without_an_allocator_the_address_is_automatic() {
        let floating_ip = read("").expect("a floating IP");
        let auto = PoolSelector::Auto { ip_version: None };
        assert_eq!(floating_ip.address_allocator, AddressAllocator::Auto { pool_selector: auto });
    }

    #[test]
    fn a_field_that_does_not_exist_is_refused_by_name() {
        for name in ["address_allocater", "pool_selecter", "pool_selector", "pool", "ip"] {
            let error = read(&format!(r#","{name}":{{"type":"auto"}}"#)).expect_err(name);
            assert!(error.starts_with(&format!("unknown field `{name}`")), "{error}");
        }
    }

    #[test]
    fn the_name_is_still_checked() {
        let error = serde_json::from_str::<FloatingIpCreate>(r#"{"name":"a_b","description":""}"#);
        let error = error.expect_err("a bad name").to_string();
        assert_eq!(
            error,
            "name contains invalid character: \"_\" (allowed characters are lowercase ASCII, \
             digits, and \"-\") at line 1 column 31"
        );
    }

    #[test]
    fn reads_what_it_writes() {
        let floating_ip = read(r#","address_allocator":{"type":"explicit","ip":"10.0.0.1"}"#);
        let floating_ip = floating_ip.expect("a floating IP");
        let json = serde_json::to_string(&floating_ip).expect("JSON");
        assert_eq!(serde_json::from_str::<FloatingIpCreate>(&json).expect("it"), floating_ip);
    }
}
