//! The routes of the VPCs of a sled.
//!
//! A sled has the routers that its ports use, and no others. A router is there as soon as a port
//! uses it, without routes: that is how Nexus learns that the sled wants them.

use crate::types::{ResolvedVpcRouteSet, ResolvedVpcRouteState, RouterId};
use std::collections::{BTreeMap, BTreeSet};

/// The routes of the VPCs of a sled.
#[derive(Clone, Debug, Default)]
pub struct Routes(BTreeMap<RouterId, ResolvedVpcRouteSet>);

impl Routes {
    /// Has exactly these routers. Those that are new have no routes.
    pub fn retain(&mut self, routers: impl Iterator<Item = RouterId>) {
        let routers: BTreeSet<_> = routers.collect();
        self.0.retain(|id, _| routers.contains(id));
        for id in routers {
            let none = || ResolvedVpcRouteSet { id, version: None, routes: BTreeSet::new() };
            self.0.entry(id).or_insert_with(none);
        }
    }

    /// Sets the routes of routers that are there, where they are newer.
    pub fn set(&mut self, sets: Vec<ResolvedVpcRouteSet>) {
        for set in sets {
            let Some(old) = self.0.get_mut(&set.id) else { continue };
            let is_newer = match (&old.version, &set.version) {
                (Some(old), Some(new)) => new.replaces(old),
                _ => true,
            };
            if is_newer {
                *old = set;
            }
        }
    }

    /// Which routes each router has.
    pub fn list(&self) -> Vec<ResolvedVpcRouteState> {
        let state =
            |set: &ResolvedVpcRouteSet| ResolvedVpcRouteState { id: set.id, version: set.version };
        self.0.values().map(state).collect()
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::types::{RouterKind, RouterVersion};
    use nexus_common::Vni;
    use uuid::Uuid;

    fn router(vni: u32) -> RouterId {
        RouterId { vni: Vni::try_from(vni).expect("a VNI"), kind: RouterKind::System }
    }

    fn set(vni: u32, router_id: u128, version: u64) -> ResolvedVpcRouteSet {
        let version = RouterVersion { router_id: Uuid::from_u128(router_id), version };
        ResolvedVpcRouteSet { id: router(vni), version: Some(version), routes: BTreeSet::new() }
    }

    fn version(routes: &Routes) -> Option<u64> {
        routes.list()[0].version.map(|version| version.version)
    }

    #[test]
    fn routes_are_set_where_they_are_newer() {
        let mut routes = Routes::default();
        routes.retain([router(1024)].into_iter());
        assert_eq!(version(&routes), None, "the router is there before its routes");
        for (router_id, number, wanted) in [(1, 5, 5), (1, 4, 5), (1, 6, 6), (2, 1, 1)] {
            routes.set(vec![set(1024, router_id, number)]);
            assert_eq!(version(&routes), Some(wanted));
        }
    }

    #[test]
    fn routers_that_no_port_uses_have_no_routes() {
        let mut routes = Routes::default();
        routes.retain([router(1024), router(1025)].into_iter());
        routes.set(vec![set(1024, 1, 1), set(1025, 1, 1), set(1026, 1, 1)]);
        routes.retain([router(1024)].into_iter());
        assert_eq!(routes.list().len(), 1);
        assert_eq!(version(&routes), Some(1));
        routes.retain([router(1025)].into_iter());
        assert_eq!(version(&routes), None, "what was forgotten does not come back");
    }
}
