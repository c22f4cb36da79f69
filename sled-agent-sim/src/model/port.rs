//! OPTE ports: what connects a guest's network interface to the underlay.

use super::external_ips::ExternalIps;
use crate::types::{InstanceSledLocalConfig, NetworkInterface, RouterId, RouterKind};
use nexus_common::IpVersion;

/// The port of a network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// The interface.
    pub nic: NetworkInterface,
    /// Its external addresses. Only a primary interface has any.
    pub external_ips: ExternalIps,
}

/// Why a port cannot have an external address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortError {
    /// There is no primary interface.
    NoPrimary,
    /// The interface has no private address of that version to translate to.
    NoPrivateIp(IpVersion),
}

impl Port {
    /// The ports of a configuration, one for each interface.
    pub fn all(config: &InstanceSledLocalConfig) -> Result<Vec<Port>, PortError> {
        let port = |nic: &NetworkInterface| Port {
            nic: nic.clone(),
            external_ips: ExternalIps::default(),
        };
        let mut ports: Vec<_> = config.nics.iter().map(port).collect();
        let external_ips = ExternalIps::new(&config.external_ips);
        if external_ips != ExternalIps::default() {
            let primary = Port::primary(&mut ports)?;
            for version in external_ips.versions() {
                primary.check(version)?;
            }
            primary.external_ips = external_ips;
        }
        Ok(ports)
    }

    /// The port that has the external addresses.
    pub fn primary(ports: &mut [Port]) -> Result<&mut Port, PortError> {
        ports.iter_mut().find(|port| port.nic.primary).ok_or(PortError::NoPrimary)
    }

    /// Whether the port can have external addresses of a version.
    pub fn check(&self, version: IpVersion) -> Result<(), PortError> {
        match self.nic.ip_config.address(version) {
            Some(_) => Ok(()),
            None => Err(PortError::NoPrivateIp(version)),
        }
    }

    /// The routers whose routes the port uses.
    pub fn routers(&self) -> Vec<RouterId> {
        let router = |kind| RouterId { vni: self.nic.vni, kind };
        let custom = |subnet| router(RouterKind::Custom { subnet });
        let subnets = self.nic.ip_config.subnets().into_iter().map(custom);
        std::iter::once(router(RouterKind::System)).chain(subnets).collect()
    }
}
