//! Version 2026011600: `address_allocator` where there was `address_selector`.

use super::OlderBodyOf;
use super::v2026010500::AddressSelector;
use crate::types::{self, IdentityMetadataCreateParams, NoOtherFields};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A floating IP to create.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FloatingIpCreate {
    #[serde(flatten)]
    pub identity: IdentityMetadataCreateParams,
    /// How the address is chosen.
    #[serde(default)]
    pub address_allocator: AddressSelector,
    /// Refuses what is not a field of this type.
    #[serde(flatten, skip_serializing)]
    #[schemars(skip)]
    pub no_other_fields: NoOtherFields,
}

impl OlderBodyOf<types::FloatingIpCreate> for FloatingIpCreate {
    const CHOOSES_IP_VERSION: bool = true;
}
