//! IP pools: for operators, all of them; for a silo's users, those that are linked to it.

use super::authz::{Action, Object};
use super::{Nexus, OpContext, check_description, identity_update};
use crate::db::ip_pool::{PoolFilter, Utilization};
use crate::db::now;
use db_model::{IpPool, IpPoolRange, IpPoolSilo, IpVersion, PoolAssignment, PoolType};
use nexus_api::types::{
    IpPoolAssignment, IpPoolCreate, IpPoolFilter, IpPoolLinkSilo, IpPoolType, IpPoolUpdate,
    SiloIpPoolFilter,
};
use nexus_common::{Error, IpRange, NameOrId, PageBy, PageParams, ResourceType};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use uuid::Uuid;

fn pool_type(t: IpPoolType) -> PoolType {
    match t {
        IpPoolType::Unicast => PoolType::Unicast,
        IpPoolType::Multicast => PoolType::Multicast,
    }
}

fn assignment(a: IpPoolAssignment) -> PoolAssignment {
    match a {
        IpPoolAssignment::Silos => PoolAssignment::Silos,
        IpPoolAssignment::SystemServices => PoolAssignment::SystemServices,
    }
}

/// Refuses a range that is not of the pool's kind.
fn check_range(pool: &IpPool, range: &IpRange) -> Result<(), Error> {
    let version = IpVersion::from(range.version());
    if version != pool.ip_version {
        return Err(Error::invalid(format!(
            "Cannot add IP{version} address range to IP{} pool with ID \"{}\"",
            pool.ip_version, pool.id
        )));
    }
    let (first, last) = (range.first().is_multicast(), range.last().is_multicast());
    if first != last {
        let message = "IP range cannot span multicast and unicast address spaces";
        return Err(Error::invalid(message));
    }
    match (pool.pool_type, first) {
        (PoolType::Unicast, true) => {
            Err(Error::invalid("Cannot add multicast address range to unicast IP pool"))
        }
        (PoolType::Multicast, false) => {
            Err(Error::invalid("Cannot add unicast address range to multicast IP pool"))
        }
        (PoolType::Unicast, false) => check_unicast(range),
        (PoolType::Multicast, true) => Ok(()),
    }
}

/// Blocks of which no address can be an instance's on a network: what they are, first, last.
const NOT_FOR_INSTANCES: [(&str, IpAddr, IpAddr); 9] = {
    const fn v4(a: u8, b: u8, c: u8, d: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    }
    const fn v6(bits: u128) -> IpAddr {
        IpAddr::V6(Ipv6Addr::from_bits(bits))
    }
    [
        ("unspecified", v4(0, 0, 0, 0), v4(0, 0, 0, 0)),
        ("loopback", v4(127, 0, 0, 0), v4(127, 255, 255, 255)),
        ("link-local", v4(169, 254, 0, 0), v4(169, 254, 255, 255)),
        ("multicast", v4(224, 0, 0, 0), v4(239, 255, 255, 255)),
        ("unspecified", v6(0), v6(0)),
        ("loopback", v6(1), v6(1)),
        ("IPv4-mapped IPv6", v6(0xffff << 32), v6(0xffff_ffff_ffff)),
        ("link-local", v6(0xfe80 << 112), v6((0xfec0 << 112) - 1)),
        ("multicast", v6(0xff00 << 112), v6(u128::MAX)),
    ]
};

/// Refuses a range that has addresses which no instance can have.
fn check_unicast(range: &IpRange) -> Result<(), Error> {
    let (first, last) = (range.first(), range.last());
    // IPv4 addresses order before IPv6 ones, and a range is of one version, so blocks of the
    // other version never meet it.
    let met = NOT_FOR_INSTANCES.iter().find(|(_, from, to)| first <= *to && last >= *from);
    match met {
        None => Ok(()),
        Some((kind, from, to)) => {
            let block = if from == to { from.to_string() } else { format!("{from}-{to}") };
            Err(Error::invalid(format!(
                "Cannot add the range {first}-{last} to an IP pool: it has {kind} addresses \
                 ({block})"
            )))
        }
    }
}

impl Nexus {
    /// A pool, for an operator who may do this to it. It does not exist for anybody else.
    async fn pool_for(
        &self,
        opctx: &OpContext,
        pool: NameOrId,
        action: Action,
    ) -> Result<IpPool, Error> {
        opctx.actor()?;
        let missing = Error::not_found(ResourceType::IpPool, &pool);
        let pool = self.datastore.pool_fetch(pool).await?;
        opctx.authorize(action, Object::IpPool, || missing)?;
        Ok(pool)
    }

    /// A page of all pools.
    pub async fn system_pool_list(
        &self,
        opctx: &OpContext,
        filter: &IpPoolFilter,
        page: PageBy,
    ) -> Result<Vec<IpPool>, Error> {
        opctx.authorize_open(Action::ListChildren, Object::IpPool)?;
        let filter = PoolFilter {
            ip_version: filter.ip_version.map(IpVersion::from),
            pool_type: filter.pool_type.map(pool_type),
            assignment: filter.assignment.map(assignment),
        };
        self.datastore.pool_list(filter, page).await
    }

    /// Makes a pool.
    pub async fn system_pool_create(
        &self,
        opctx: &OpContext,
        body: IpPoolCreate,
    ) -> Result<IpPool, Error> {
        opctx.authorize_open(Action::CreateChild, Object::IpPool)?;
        check_description(&body.identity.description)?;
        let created = now();
        let row = IpPool {
            id: Uuid::new_v4(),
            name: body.identity.name.into(),
            description: body.identity.description,
            ip_version: body.ip_version.into(),
            pool_type: pool_type(body.pool_type),
            assignment: assignment(body.assignment),
            time_created: created,
            time_modified: created,
            time_deleted: None,
        };
        self.datastore.pool_create(row).await
    }

    /// A pool.
    pub async fn system_pool(&self, opctx: &OpContext, pool: NameOrId) -> Result<IpPool, Error> {
        self.pool_for(opctx, pool, Action::Read).await
    }

    /// Renames a pool, or changes its description.
    pub async fn system_pool_update(
        &self,
        opctx: &OpContext,
        pool: NameOrId,
        body: IpPoolUpdate,
    ) -> Result<IpPool, Error> {
        let pool = self.pool_for(opctx, pool, Action::Modify).await?;
        let change = identity_update(body.identity)?;
        self.datastore.pool_update(pool.id, change).await
    }

    /// Deletes a pool that has no ranges.
    pub async fn system_pool_delete(&self, opctx: &OpContext, pool: NameOrId) -> Result<(), Error> {
        let pool = self.pool_for(opctx, pool, Action::Delete).await?;
        self.datastore.pool_delete(pool.id).await
    }

    /// A page of a pool's ranges.
    pub async fn pool_range_list(
        &self,
        opctx: &OpContext,
        pool: NameOrId,
        page: PageParams<IpAddr>,
    ) -> Result<Vec<IpPoolRange>, Error> {
        let pool = self.system_pool(opctx, pool).await?;
        self.datastore.range_list(pool.id, page).await
    }

    /// Adds a range to a pool.
    pub async fn pool_range_add(
        &self,
        opctx: &OpContext,
        pool: NameOrId,
        range: IpRange,
    ) -> Result<IpPoolRange, Error> {
        let pool = self.pool_for(opctx, pool, Action::Modify).await?;
        check_range(&pool, &range)?;
        self.datastore.range_add(pool.id, range).await
    }

    /// Removes a range from a pool.
    pub async fn pool_range_remove(
        &self,
        opctx: &OpContext,
        pool: NameOrId,
        range: IpRange,
    ) -> Result<(), Error> {
        let pool = self.pool_for(opctx, pool, Action::Modify).await?;
        self.datastore.range_remove(pool.id, range).await
    }

    /// How much of a pool is in use.
    pub async fn pool_utilization(
        &self,
        opctx: &OpContext,
        pool: NameOrId,
    ) -> Result<Utilization, Error> {
        let pool = self.system_pool(opctx, pool).await?;
        self.datastore.pool_utilization(pool.id).await
    }

    /// A page of a pool's links to silos.
    pub async fn pool_silo_list(
        &self,
        opctx: &OpContext,
        pool: NameOrId,
        page: PageParams<Uuid>,
    ) -> Result<Vec<IpPoolSilo>, Error> {
        let pool = self.system_pool(opctx, pool).await?;
        self.datastore.pool_silo_list(pool.id, page).await
    }

    /// Links a pool to a silo.
    pub async fn pool_silo_link(
        &self,
        opctx: &OpContext,
        pool: NameOrId,
        body: IpPoolLinkSilo,
    ) -> Result<IpPoolSilo, Error> {
        let pool = self.pool_for(opctx, pool, Action::Modify).await?;
        let silo = self.silo(opctx, body.silo).await?;
        self.datastore.pool_silo_link(pool.id, silo.id, body.is_default).await
    }

    /// Makes a pool a silo's default, or no longer.
    pub async fn pool_silo_update(
        &self,
        opctx: &OpContext,
        pool: NameOrId,
        silo: NameOrId,
        is_default: bool,
    ) -> Result<IpPoolSilo, Error> {
        let pool = self.pool_for(opctx, pool, Action::Modify).await?;
        let silo = self.silo(opctx, silo).await?;
        self.datastore.pool_silo_update(pool.id, silo.id, is_default).await
    }

    /// Takes a pool from a silo.
    pub async fn pool_silo_unlink(
        &self,
        opctx: &OpContext,
        pool: NameOrId,
        silo: NameOrId,
    ) -> Result<(), Error> {
        let pool = self.pool_for(opctx, pool, Action::Modify).await?;
        let silo = self.silo(opctx, silo).await?;
        self.datastore.pool_silo_unlink(pool.id, silo.id).await
    }

    /// A page of the pools that the actor's silo may use, each with whether it is a default.
    pub async fn silo_pool_list(
        &self,
        opctx: &OpContext,
        filter: &SiloIpPoolFilter,
        page: PageBy,
    ) -> Result<Vec<(IpPool, bool)>, Error> {
        let id = opctx.actor()?.silo_id;
        opctx.authorize_open(Action::ListChildren, Object::Silo { id })?;
        let filter = PoolFilter {
            ip_version: filter.ip_version.map(IpVersion::from),
            pool_type: filter.pool_type.map(pool_type),
            assignment: None,
        };
        self.datastore.silo_pool_list(id, filter, page).await
    }

    /// A pool that the actor's silo may use. Any user may look at one that he may allocate from.
    pub async fn silo_pool(
        &self,
        opctx: &OpContext,
        pool: NameOrId,
    ) -> Result<(IpPool, bool), Error> {
        let silo_id = opctx.actor()?.silo_id;
        self.datastore.silo_pool_fetch(silo_id, pool).await
    }
}
