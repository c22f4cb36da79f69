//! The whole NAT table, and how changes from Nexus are brought into it.

use super::mappings::{Mapping, Mappings, NatError};
use crate::types::NatTarget;
use nexus_common::IpVersion;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The NAT table. It is empty when a switch starts.
#[derive(Clone, Debug, Default)]
pub struct NatTable {
    /// The mappings of IPv4 addresses.
    pub ipv4: Mappings<Ipv4Addr>,
    /// The mappings of IPv6 addresses.
    pub ipv6: Mappings<Ipv6Addr>,
    generation: i64,
}

/// A mapping and its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// The external address.
    pub external: IpAddr,
    /// The first port.
    pub low: u16,
    /// The last port.
    pub high: u16,
    /// Where the packets go.
    pub target: NatTarget,
}

/// A change that Nexus has for the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// What was added or removed.
    pub entry: Entry,
    /// Whether it was removed.
    pub deleted: bool,
    /// Its generation.
    pub generation: i64,
}

impl NatTable {
    /// The generation of the last change that was applied; 0 if there was none.
    pub fn generation(&self) -> i64 {
        self.generation
    }

    /// The mapping that a port of an address is in.
    pub fn get(&self, external: IpAddr, port: u16) -> Option<Mapping> {
        match external {
            IpAddr::V4(ip) => self.ipv4.get(ip, port),
            IpAddr::V6(ip) => self.ipv6.get(ip, port),
        }
    }

    /// Everything in the table, in order.
    pub fn entries(&self) -> Vec<Entry> {
        let entry = |external, Mapping { low, high, target }| Entry { external, low, high, target };
        let ipv4 = self.ipv4.iter().map(|(ip, mapping)| entry(ip.into(), mapping));
        let ipv6 = self.ipv6.iter().map(|(ip, mapping)| entry(ip.into(), mapping));
        ipv4.chain(ipv6).collect()
    }

    /// Removes all mappings of addresses of a version. The generation stays: changes that were
    /// applied do not come back by themselves.
    pub fn reset(&mut self, version: IpVersion) {
        match version {
            IpVersion::V4 => self.ipv4.clear(),
            IpVersion::V6 => self.ipv6.clear(),
        }
    }

    /// Brings a change into the table, over whatever stands in its way, and notes its generation.
    /// A change that cannot be made leaves the generation as it was, so that it comes again.
    pub fn apply(&mut self, change: &Change) -> Result<(), NatError> {
        let Entry { external, low, high, target } = change.entry;
        if low > high {
            return Err(NatError::InvalidRange);
        }
        let mapping = (!change.deleted).then_some(Mapping { low, high, target });
        match external {
            IpAddr::V4(ip) => put(&mut self.ipv4, ip, low, high, mapping)?,
            IpAddr::V6(ip) => put(&mut self.ipv6, ip, low, high, mapping)?,
        }
        self.generation = change.generation;
        Ok(())
    }
}

/// Maps these ports like that, or not at all.
fn put<A: Ord + Copy>(
    mappings: &mut Mappings<A>,
    address: A,
    low: u16,
    high: u16,
    mapping: Option<Mapping>,
) -> Result<(), NatError> {
    let Some(mapping) = mapping else {
        // Only a mapping of all these ports is the one that was removed. Changes come in order, so
        // what has some of them is newer than the removal.
        let is_removed = |old: Mapping| old.low <= low && old.high >= high;
        if mappings.get(address, low).is_some_and(is_removed) {
            mappings.remove(address, low);
        }
        return Ok(());
    };
    match mappings.set(address, mapping) {
        Err(NatError::Conflict) => {
            mappings.remove_overlapping(address, low, high);
            mappings.set(address, mapping)
        }
        result => result,
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::types::MacAddr;
    use nexus_common::Vni;

    fn change(generation: i64, ports: (u16, u16), guest: u8, deleted: bool) -> Change {
        let target = NatTarget {
            internal_ip: Ipv6Addr::LOCALHOST,
            inner_mac: MacAddr { a: [0xA8, 0x40, 0x25, 0xF0, 0, guest] },
            vni: Vni::try_from(1024).expect("a VNI"),
        };
        let external = Ipv4Addr::new(10, 0, 0, 1).into();
        let entry = Entry { external, low: ports.0, high: ports.1, target };
        Change { entry, deleted, generation }
    }

    const ALL: (u16, u16) = (0, 65535);

    #[test]
    fn an_address_that_moves_ends_up_where_it_went() {
        let mut table = NatTable::default();
        let changes = [change(3, ALL, 1, false), change(4, ALL, 1, true), change(5, ALL, 2, false)];
        for change in &changes {
            table.apply(change).expect("a good change");
        }
        assert_eq!(table.entries(), [changes[2].entry]);
        assert_eq!(table.generation(), 5);
    }

    #[test]
    fn what_stands_in_the_way_of_a_change_is_removed() {
        let mut table = NatTable::default();
        let (first, second) =
            (change(1, (0, 16383), 1, false), change(2, (16384, 32767), 2, false));
        table.apply(&first).expect("a good change");
        table.apply(&second).expect("a good change");
        let all = change(3, ALL, 3, false);
        table.apply(&all).expect("a good change");
        assert_eq!(table.entries(), [all.entry]);
    }

    #[test]
    fn the_removal_of_what_is_not_there_counts() {
        let mut table = NatTable::default();
        table.apply(&change(7, ALL, 1, true)).expect("a good change");
        assert_eq!(table.generation(), 7);
        assert!(table.entries().is_empty());
    }

    #[test]
    fn a_change_that_cannot_be_made_is_not_passed_over() {
        let mut table = NatTable::default();
        table.apply(&change(1, ALL, 1, false)).expect("a good change");
        for deleted in [false, true] {
            table.apply(&change(2, (5, 4), 1, deleted)).expect_err("a bad change");
        }
        assert_eq!(table.generation(), 1);
    }

    #[test]
    fn a_reset_keeps_the_other_version_and_the_generation() {
        let mut table = NatTable::default();
        let v4 = change(1, ALL, 1, false);
        let mut v6 = change(2, ALL, 1, false);
        v6.entry.external = Ipv6Addr::LOCALHOST.into();
        table.apply(&v4).expect("a good change");
        table.apply(&v6).expect("a good change");
        table.reset(IpVersion::V4);
        assert_eq!(table.entries(), [v6.entry]);
        assert_eq!(table.generation(), 2);
    }
}
