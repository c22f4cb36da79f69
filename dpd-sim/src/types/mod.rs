//! What requests and answers are made of.

mod nat;
mod params;
mod switch;

pub use nat::{Ipv4Nat, Ipv6Nat, MacAddr, NatTarget};
pub use params::{
    NatIpv4Path, NatIpv4PortPath, NatIpv4RangePath, NatIpv4Token, NatIpv6Path, NatIpv6PortPath,
    NatIpv6RangePath, NatIpv6Token, NatToken,
};
pub use switch::{
    BuildInfo, ChipRevision, DisabledFeatures, FrequencySettings, FuseData, ManufacturingData,
    PartInfo, SwitchIdentifiers,
};
