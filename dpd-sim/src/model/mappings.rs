//! The mappings of the addresses of one IP version.
//!
//! The mappings of an address never overlap, so that the one with a given port is, of those that
//! begin at or before it, the last, if it reaches that far. Everything here is one step in an
//! ordered map.

use crate::types::NatTarget;
use std::collections::BTreeMap;
use std::ops::Bound;

/// The mapping of some ports of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The first port.
    pub low: u16,
    /// The last port.
    pub high: u16,
    /// Where packets for these ports go.
    pub target: NatTarget,
}

/// Why ports cannot be mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NatError {
    /// The first is after the last.
    InvalidRange,
    /// Some of them are mapped in another way.
    Conflict,
}

/// The mappings of all addresses of one IP version.
#[derive(Clone, Debug)]
pub struct Mappings<A>(BTreeMap<(A, u16), Mapping>);

impl<A> Default for Mappings<A> {
    fn default() -> Self {
        Mappings(BTreeMap::new())
    }
}

impl<A: Ord + Copy> Mappings<A> {
    /// The first `limit` addresses that have mappings, in order; those after `after`, if given.
    pub fn addresses(&self, after: Option<A>, limit: usize) -> Vec<A> {
        let mut last = after;
        let next = || {
            let start = last.map_or(Bound::Unbounded, |last| Bound::Excluded((last, u16::MAX)));
            let ((address, _), _) = self.0.range((start, Bound::Unbounded)).next()?;
            last = Some(*address);
            last
        };
        std::iter::from_fn(next).take(limit).collect()
    }

    /// The first `limit` mappings of an address, in the order of their ports; those that begin
    /// after the port `after`, if given.
    pub fn list(&self, address: A, after: Option<u16>, limit: usize) -> Vec<Mapping> {
        let start = match after {
            None => Bound::Included((address, 0)),
            Some(port) => Bound::Excluded((address, port)),
        };
        let range = (start, Bound::Included((address, u16::MAX)));
        self.0.range(range).take(limit).map(|(_, mapping)| *mapping).collect()
    }

    /// All mappings with their addresses, in order.
    pub fn iter(&self) -> impl Iterator<Item = (A, Mapping)> {
        self.0.iter().map(|((address, _), mapping)| (*address, *mapping))
    }

    /// The mapping that a port of an address is in.
    pub fn get(&self, address: A, port: u16) -> Option<Mapping> {
        self.overlapping(address, port, port)
    }

    /// Maps ports. To map them in the way in which they are mapped already changes nothing.
    pub fn set(&mut self, address: A, mapping: Mapping) -> Result<(), NatError> {
        if mapping.low > mapping.high {
            return Err(NatError::InvalidRange);
        }
        match self.overlapping(address, mapping.low, mapping.high) {
            Some(other) if other == mapping => Ok(()),
            Some(_) => Err(NatError::Conflict),
            None => {
                self.0.insert((address, mapping.low), mapping);
                Ok(())
            }
        }
    }

    /// Removes the mapping that a port is in, if there is one.
    pub fn remove(&mut self, address: A, port: u16) {
        if let Some(mapping) = self.get(address, port) {
            self.0.remove(&(address, mapping.low));
        }
    }

    /// Removes all mappings that have any of these ports.
    pub fn remove_overlapping(&mut self, address: A, low: u16, high: u16) {
        while let Some(mapping) = self.overlapping(address, low, high) {
            self.0.remove(&(address, mapping.low));
        }
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The last mapping that has any of these ports.
    fn overlapping(&self, address: A, low: u16, high: u16) -> Option<Mapping> {
        let (_, mapping) = self.0.range((address, 0)..=(address, high)).next_back()?;
        (mapping.high >= low).then_some(*mapping)
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::types::MacAddr;
    use nexus_common::Vni;
    use std::net::{Ipv4Addr, Ipv6Addr};

    const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
    const C: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 10);

    fn mapping(low: u16, high: u16, guest: u8) -> Mapping {
        Mapping {
            low,
            high,
            target: NatTarget {
                internal_ip: Ipv6Addr::LOCALHOST,
                inner_mac: MacAddr { a: [0xA8, 0x40, 0x25, 0xF0, 0, guest] },
                vni: Vni::try_from(1024).expect("a VNI"),
            },
        }
    }

    #[test]
    fn the_same_mapping_again_changes_nothing() {
        let mut mappings = Mappings::default();
        assert_eq!(mappings.set(A, mapping(0, 65535, 1)), Ok(()));
        assert_eq!(mappings.set(A, mapping(0, 65535, 1)), Ok(()));
        assert_eq!(mappings.list(A, None, 10), [mapping(0, 65535, 1)]);
    }

    #[test]
    fn mappings_that_overlap_and_differ_conflict() {
        for (low, high, guest) in [
            (100, 199, 2),
            (100, 200, 1),
            (99, 199, 1),
            (150, 160, 1),
            (0, 65535, 1),
            (0, 100, 1),
            (199, 300, 1),
        ] {
            let mut mappings = Mappings::default();
            mappings.set(A, mapping(100, 199, 1)).expect("the first");
            let other = mapping(low, high, guest);
            assert_eq!(mappings.set(A, other), Err(NatError::Conflict), "{other:?}");
            assert_eq!(mappings.list(A, None, 10), [mapping(100, 199, 1)], "nothing changed");
            assert_eq!(mappings.set(B, other), Ok(()), "another address is no concern");
        }
    }

    #[test]
    fn mappings_side_by_side_do_not_conflict() {
        let mut mappings = Mappings::default();
        for (low, high, guest) in [(16384, 32767, 2), (0, 16383, 1), (32768, 32768, 3)] {
            assert_eq!(mappings.set(A, mapping(low, high, guest)), Ok(()));
        }
        assert_eq!(mappings.get(A, 16383), Some(mapping(0, 16383, 1)));
        assert_eq!(mappings.get(A, 16384), Some(mapping(16384, 32767, 2)));
        assert_eq!(mappings.get(A, 32768), Some(mapping(32768, 32768, 3)));
        assert_eq!(mappings.get(A, 32769), None);
        assert_eq!(mappings.get(B, 0), None);
    }

    #[test]
    fn the_first_port_is_not_after_the_last() {
        let mut mappings = Mappings::default();
        assert_eq!(mappings.set(A, mapping(2, 1, 1)), Err(NatError::InvalidRange));
    }

    #[test]
    fn a_mapping_is_removed_by_any_of_its_ports() {
        let mut mappings = Mappings::default();
        mappings.set(A, mapping(0, 99, 1)).expect("free ports");
        mappings.set(A, mapping(200, 299, 2)).expect("free ports");
        mappings.remove(A, 150);
        mappings.remove(B, 0);
        assert_eq!(mappings.list(A, None, 10).len(), 2, "there was nothing to remove");
        mappings.remove(A, 250);
        assert_eq!(mappings.list(A, None, 10), [mapping(0, 99, 1)]);
    }

    #[test]
    fn all_that_is_in_the_way_is_removed() {
        let mut mappings = Mappings::default();
        for (low, high) in [(0, 99), (100, 199), (200, 299), (300, 399)] {
            mappings.set(A, mapping(low, high, 1)).expect("free ports");
        }
        mappings.set(B, mapping(0, 65535, 1)).expect("free ports");
        mappings.remove_overlapping(A, 150, 300);
        assert_eq!(mappings.list(A, None, 10), [mapping(0, 99, 1)]);
        assert_eq!(mappings.list(B, None, 10).len(), 1);
    }

    #[test]
    fn pages_go_on_where_the_last_one_ended() {
        let mut mappings = Mappings::default();
        for address in [C, A, B] {
            for low in [500, 0, 1000] {
                mappings.set(address, mapping(low, low + 9, 1)).expect("free ports");
            }
        }
        assert_eq!(mappings.addresses(None, 2), [A, B], "in numerical order");
        assert_eq!(mappings.addresses(Some(B), 2), [C]);
        assert!(mappings.addresses(Some(C), 2).is_empty());
        let lows = |after, limit| -> Vec<u16> {
            mappings.list(B, after, limit).iter().map(|mapping| mapping.low).collect()
        };
        assert_eq!(lows(None, 2), [0, 500]);
        assert_eq!(lows(Some(500), 2), [1000]);
        assert_eq!(lows(Some(1000), 2), [] as [u16; 0]);
        // A token may name what was removed since.
        assert_eq!(lows(Some(600), 2), [1000]);
        assert_eq!(mappings.addresses(Some(Ipv4Addr::new(10, 0, 0, 5)), 2), [C]);
    }
}
