//! Version 2026010300: network interfaces with an address of each IP version.

use super::v2025122300::ExternalIpCreate;
use crate::types::{InstanceDiskAttachment, InstanceNetworkInterfaceAttachment};

/// An instance to create.
pub type InstanceCreate = super::InstanceCreate<
    ExternalIpCreate,
    InstanceNetworkInterfaceAttachment,
    InstanceDiskAttachment,
>;
