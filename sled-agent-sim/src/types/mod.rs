//! What requests and answers are made of.
//!
//! The states of VMMs are those of the API in which a sled agent reports them to Nexus.

mod external_ip;
mod firewall;
mod identity;
mod instance;
mod nic;
mod route;
mod v2p;
mod vmm;
mod vmm_spec;

pub use external_ip::{
    ExternalIpConfig, ExternalIpv4Config, ExternalIpv6Config, InstanceExternalIpBody,
    SourceNatConfigV4, SourceNatConfigV6,
};
pub use firewall::{
    HostIdentifier, IcmpParamRange, L4PortRange, ResolvedVpcFirewallRule, VpcFirewallIcmpFilter,
    VpcFirewallRuleAction, VpcFirewallRuleDirection, VpcFirewallRuleProtocol,
    VpcFirewallRuleStatus, VpcFirewallRulesEnsureBody,
};
pub use identity::SledIdentifiers;
pub use instance::{
    AttachedSubnet, AttachedSubnetKind, DelegatedZvol, DhcpConfig, InstanceEnsureBody,
    InstanceMetadata, InstanceMulticastMembership, InstanceSledLocalConfig,
};
pub use nexus_internal_api::types::{
    Generation, MigrationRuntimeState, MigrationState, SledVmmState, VmmRuntimeState, VmmState,
};
pub use nic::{
    NetworkInterface, NetworkInterfaceKind, PrivateIpConfig, PrivateIpv4Config, PrivateIpv6Config,
};
pub use route::{
    ExternalIpGatewayMap, InternetGatewayRouterTarget, ResolvedVpcRoute, ResolvedVpcRouteSet,
    ResolvedVpcRouteState, RouterId, RouterKind, RouterTarget, RouterVersion,
};
pub use v2p::VirtualNetworkInterfaceHost;
pub use vmm::{
    InstanceMigrationTargetParams, VmmPath, VmmPutStateBody, VmmPutStateResponse,
    VmmStateRequested, VmmUnregisterResponse, VpcPath,
};
pub use vmm_spec::{Board, Chipset, I440Fx, VmmSpec};
