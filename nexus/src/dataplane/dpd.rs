//! The switch daemon (dpd), with both address families behind one set of calls.

use dpd_client::{Timeouts, types};
use nexus_common::{Error, MacAddr, Vni};
use std::net::{IpAddr, Ipv6Addr};

/// What a switch does with packets to an external address and port: send them to this sled,
/// under this VNI, for this interface.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    pub sled_address: Ipv6Addr,
    pub vni: Vni,
    pub mac: MacAddr,
}

/// One mapping of an external address: a range of ports, both ends included, and its target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mapping {
    pub low: u16,
    pub high: u16,
    pub target: Target,
}

/// Why a call to dpd did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum DpdError {
    /// Another mapping of the address overlaps.
    #[error("a different mapping overlaps")]
    Conflict,
    #[error("{0}")]
    Failed(String),
}

impl From<dpd_client::Error<types::Error>> for DpdError {
    fn from(error: dpd_client::Error<types::Error>) -> Self {
        match error.status() {
            Some(status) if status.as_u16() == 409 => DpdError::Conflict,
            _ => DpdError::Failed(error.to_string()),
        }
    }
}

/// A client of one dpd, over kept connections.
#[derive(Clone, Debug)]
pub struct Dpd {
    client: dpd_client::Client,
}

/// The most that dpd returns on one page.
const PAGE: std::num::NonZeroU32 = std::num::NonZeroU32::new(64).unwrap();

impl Dpd {
    /// A client of the dpd at this base URL.
    pub fn new(url: &str, timeouts: Timeouts) -> Result<Self, Error> {
        let client = dpd_client::client(url, timeouts).map_err(Error::internal)?;
        Ok(Dpd { client })
    }

    /// The mappings of an address, by lowest port.
    pub async fn mappings(&self, ip: IpAddr) -> Result<Vec<Mapping>, DpdError> {
        let mut found = Vec::new();
        let mut token: Option<String> = None;
        loop {
            let page = token.as_deref();
            let (items, next) = match ip {
                IpAddr::V4(ip) => {
                    let page = self.client.nat_ipv4_list(&ip, Some(PAGE), page).await?.into_inner();
                    let items = page.items.into_iter().map(|m| (m.low, m.high, m.target));
                    (items.collect::<Vec<_>>(), page.next_page)
                }
                IpAddr::V6(ip) => {
                    let page = self.client.nat_ipv6_list(&ip, Some(PAGE), page).await?.into_inner();
                    let items = page.items.into_iter().map(|m| (m.low, m.high, m.target));
                    (items.collect::<Vec<_>>(), page.next_page)
                }
            };
            for (low, high, target) in items {
                found.push(Mapping { low, high, target: read_target(target)? });
            }
            match next {
                Some(next) => token = Some(next),
                None => return Ok(found),
            }
        }
    }

    /// A page of the addresses of one family that have mappings, ascending, and the token of the
    /// next page.
    pub async fn addresses(
        &self,
        v4: bool,
        token: Option<&str>,
    ) -> Result<(Vec<IpAddr>, Option<String>), DpdError> {
        if v4 {
            let page = self.client.nat_ipv4_addresses_list(Some(PAGE), token).await?.into_inner();
            Ok((page.items.into_iter().map(IpAddr::V4).collect(), page.next_page))
        } else {
            let page = self.client.nat_ipv6_addresses_list(Some(PAGE), token).await?.into_inner();
            Ok((page.items.into_iter().map(IpAddr::V6).collect(), page.next_page))
        }
    }

    /// Adds a mapping; an identical one that is there is fine.
    pub async fn create(&self, ip: IpAddr, mapping: &Mapping) -> Result<(), DpdError> {
        let target = types::NatTarget {
            internal_ip: mapping.target.sled_address,
            inner_mac: types::MacAddr { a: mapping.target.mac.bytes() },
            vni: mapping.target.vni,
        };
        let (low, high) = (mapping.low, mapping.high);
        match ip {
            IpAddr::V4(ip) => self.client.nat_ipv4_create(&ip, low, high, &target).await?,
            IpAddr::V6(ip) => self.client.nat_ipv6_create(&ip, low, high, &target).await?,
        };
        Ok(())
    }

    /// Removes the mapping that contains this port, if there is one.
    pub async fn delete(&self, ip: IpAddr, low: u16) -> Result<(), DpdError> {
        match ip {
            IpAddr::V4(ip) => self.client.nat_ipv4_delete(&ip, low).await?,
            IpAddr::V6(ip) => self.client.nat_ipv6_delete(&ip, low).await?,
        };
        Ok(())
    }

    /// The generation up to which a pulling dpd has followed the changes.
    pub async fn generation(&self) -> Result<i64, DpdError> {
        Ok(self.client.nat_generation().await?.into_inner())
    }

    /// Tells a pulling dpd that there is something new.
    pub async fn trigger(&self) -> Result<(), DpdError> {
        self.client.nat_trigger_update().await?;
        Ok(())
    }
}

fn read_target(target: types::NatTarget) -> Result<Target, DpdError> {
    Ok(Target {
        sled_address: target.internal_ip,
        vni: target.vni,
        mac: MacAddr::new(target.inner_mac.a),
    })
}
