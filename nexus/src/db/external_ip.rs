//! External IPs: floating IPs as their owners see them, and releasing any of the three kinds.

use super::address::{
    AddressRequest, Taken, block_ports, default_pool, exhausted, release_address,
    release_snat_block, take_address, take_snat_block,
};
use super::error::{TxResult, taken};
use super::paging::page_by;
use super::project::{IdentityUpdate, live_project};
use super::{Datastore, now};
use db_model::schema::external_ip;
use db_model::{ExternalIp, Ip, IpKind, IpState, IpVersion};
use diesel::prelude::*;
use nexus_common::{Error, NameOrId, PageBy, ResourceType};
use std::net::IpAddr;
use uuid::Uuid;

/// The most floating and ephemeral IPs on an instance. Source NAT does not count.
pub const MAX_EXTERNAL_IPS: usize = 32;

/// Rows of one instance: the above, and source NAT.
const MAX_ROWS: i64 = MAX_EXTERNAL_IPS as i64 + 1;

/// A floating IP to be made.
#[derive(Clone, Debug)]
pub struct NewFloatingIp {
    pub id: Uuid,
    pub silo_id: Uuid,
    pub project_id: Uuid,
    pub name: String,
    pub description: String,
    pub address: AddressRequest,
}

/// A whole address, as its row stands before it belongs to anything.
pub(super) fn whole_address_row(
    id: Uuid,
    kind: IpKind,
    silo_id: Uuid,
    project_id: Uuid,
    address: Taken,
) -> ExternalIp {
    let created = now();
    ExternalIp {
        id,
        kind,
        silo_id,
        project_id,
        name: None,
        description: None,
        ip: Ip(address.ip),
        ip_version: version_of(address.ip),
        first_port: 0,
        last_port: i32::from(u16::MAX),
        ip_pool_id: address.pool_id,
        ip_pool_range_id: address.range_id,
        state: IpState::Detached,
        instance_id: None,
        saga_id: None,
        time_created: created,
        time_modified: created,
        time_deleted: None,
    }
}

fn version_of(ip: IpAddr) -> IpVersion {
    nexus_common::IpVersion::of(ip).into()
}

/// The live floating IP with this id, or with this name in the project.
pub(super) fn floating_ip_by(
    conn: &mut PgConnection,
    project_id: Option<Uuid>,
    selector: &NameOrId,
) -> TxResult<ExternalIp> {
    let query = external_ip::table
        .filter(external_ip::kind.eq(IpKind::Floating))
        .filter(external_ip::time_deleted.is_null())
        .select(ExternalIp::as_select())
        .into_boxed();
    let query = match (selector, project_id) {
        (NameOrId::Name(name), Some(project_id)) => query
            .filter(external_ip::project_id.eq(project_id))
            .filter(external_ip::name.eq(name.as_str())),
        (NameOrId::Id(id), _) => query.filter(external_ip::id.eq(*id)),
        (NameOrId::Name(_), None) => {
            return Err(Error::not_found(ResourceType::FloatingIp, selector).into());
        }
    };
    let found = query.first(conn).optional()?;
    Ok(found.ok_or_else(|| Error::not_found(ResourceType::FloatingIp, selector))?)
}

/// All live rows of an instance, whatever their kind and state.
pub(super) fn ips_of_instance(
    conn: &mut PgConnection,
    instance_id: Uuid,
) -> QueryResult<Vec<ExternalIp>> {
    external_ip::table
        .filter(external_ip::instance_id.eq(instance_id))
        .filter(external_ip::time_deleted.is_null())
        .order(external_ip::id)
        .limit(MAX_ROWS)
        .select(ExternalIp::as_select())
        .load(conn)
}

/// Deletes a live ephemeral or SNAT row, and frees what it held.
pub(super) fn release(conn: &mut PgConnection, row: &ExternalIp) -> QueryResult<()> {
    let deleted = diesel::update(
        external_ip::table
            .filter(external_ip::id.eq(row.id))
            .filter(external_ip::time_deleted.is_null()),
    )
    .set((
        external_ip::time_deleted.eq(Some(now())),
        external_ip::state.eq(IpState::Detached),
        external_ip::saga_id.eq(None::<Uuid>),
    ))
    .execute(conn)?;
    if deleted == 0 {
        return Ok(());
    }
    let address = Taken { ip: row.ip.0, pool_id: row.ip_pool_id, range_id: row.ip_pool_range_id };
    match row.kind {
        IpKind::Snat => release_snat_block(conn, address, row.first_port as u16),
        IpKind::Ephemeral | IpKind::Floating => release_address(conn, address),
    }
}

/// Gives an instance its block of ports for source NAT, from the silo's default IPv4 pool.
pub(super) fn allocate_snat(
    conn: &mut PgConnection,
    silo_id: Uuid,
    project_id: Uuid,
    instance_id: Uuid,
) -> TxResult<ExternalIp> {
    let pool = default_pool(conn, silo_id, Some(nexus_common::IpVersion::V4))?;
    let Some((address, block)) = take_snat_block(conn, pool.id)? else {
        return Err(Error::capacity(format!(
            "No external IP addresses available: source NAT needs an address from pool '{}'",
            pool.name
        ))
        .into());
    };
    let (first_port, last_port) = block_ports(block);
    let row = ExternalIp {
        first_port,
        last_port,
        state: IpState::Attached,
        instance_id: Some(instance_id),
        ..whole_address_row(Uuid::new_v4(), IpKind::Snat, silo_id, project_id, address)
    };
    diesel::insert_into(external_ip::table).values(&row).execute(conn)?;
    Ok(row)
}

impl Datastore {
    /// Makes a floating IP: takes its address and names it.
    pub async fn floating_ip_create(&self, new: NewFloatingIp) -> Result<ExternalIp, Error> {
        let _turn = match &new.address {
            AddressRequest::Lowest(pool) => Some(self.pool_turn(new.silo_id, pool).await),
            AddressRequest::Explicit { .. } => None,
        };
        self.transaction("create floating ip", move |conn| {
            live_project(conn, new.project_id)?;
            let address = take_address(conn, new.silo_id, &new.address)?;
            let row = ExternalIp {
                name: Some(new.name.clone()),
                description: Some(new.description.clone()),
                ..whole_address_row(new.id, IpKind::Floating, new.silo_id, new.project_id, address)
            };
            diesel::insert_into(external_ip::table).values(&row).execute(conn).map_err(taken(
                "external_ip_name",
                ResourceType::FloatingIp,
                &new.name,
            ))?;
            Ok(row)
        })
        .await
    }

    /// The floating IP with this id, or with this name in the project.
    pub async fn floating_ip_fetch(
        &self,
        project_id: Option<Uuid>,
        selector: NameOrId,
    ) -> Result<ExternalIp, Error> {
        self.statement("floating ip", move |conn| floating_ip_by(conn, project_id, &selector)).await
    }

    /// A page of a project's floating IPs.
    pub async fn floating_ip_list(
        &self,
        project_id: Uuid,
        page: PageBy,
    ) -> Result<Vec<ExternalIp>, Error> {
        self.statement("floating ips", move |conn| {
            let mine = external_ip::project_id
                .eq(project_id)
                .and(external_ip::kind.eq(IpKind::Floating))
                .and(external_ip::time_deleted.is_null());
            Ok(page_by!(conn, external_ip, ExternalIp, mine, &page)?)
        })
        .await
    }

    /// Renames a floating IP, or changes its description.
    pub async fn floating_ip_update(
        &self,
        id: Uuid,
        change: IdentityUpdate,
    ) -> Result<ExternalIp, Error> {
        self.transaction("update floating ip", move |conn| {
            let old = floating_ip_by(conn, None, &id.into())?;
            let name = change.name.clone().or(old.name).unwrap_or_default();
            let updated = diesel::update(external_ip::table.filter(external_ip::id.eq(id)))
                .set((
                    external_ip::name.eq(Some(&name)),
                    external_ip::description.eq(change.description.clone().or(old.description)),
                    external_ip::time_modified.eq(now()),
                ))
                .returning(ExternalIp::as_returning())
                .get_result(conn)
                .map_err(taken("external_ip_name", ResourceType::FloatingIp, &name))?;
            Ok(updated)
        })
        .await
    }

    /// Deletes a floating IP that is not attached, and frees its address. One that is gone
    /// already stays so.
    pub async fn floating_ip_delete(&self, id: Uuid) -> Result<(), Error> {
        self.transaction("delete floating ip", move |conn| {
            let row = external_ip::table
                .filter(external_ip::id.eq(id))
                .filter(external_ip::time_deleted.is_null())
                .select(ExternalIp::as_select())
                .first(conn)
                .optional()?;
            let Some(row) = row else { return Ok(()) };
            if row.state != IpState::Detached {
                let message = "Floating IP cannot be deleted while attached to an instance";
                return Err(Error::invalid(message).into());
            }
            Ok(release(conn, &row)?)
        })
        .await
    }

    /// All live addresses of an instance, in whatever state.
    pub async fn instance_external_ips(&self, instance_id: Uuid) -> Result<Vec<ExternalIp>, Error> {
        self.statement("external ips of instance", move |conn| {
            Ok(ips_of_instance(conn, instance_id)?)
        })
        .await
    }
}

/// Takes an address for an ephemeral IP of an instance and inserts its row as `row` shapes it.
pub(super) fn allocate_ephemeral(
    conn: &mut PgConnection,
    pool_id: Uuid,
    shape: impl FnOnce(Taken) -> ExternalIp,
) -> TxResult<ExternalIp> {
    let address = super::address::take_lowest(conn, pool_id)?.ok_or_else(exhausted)?;
    let row = shape(address);
    diesel::insert_into(external_ip::table).values(&row).execute(conn)?;
    Ok(row)
}
