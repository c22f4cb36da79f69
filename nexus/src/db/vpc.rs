//! VPCs.

use super::Datastore;
use super::error::{TxResult, taken};
use super::now;
use super::paging::page_by;
use super::project::{IdentityUpdate, live_project};
use super::subnet::default_subnet;
use db_model::Vpc;
use db_model::schema::{vpc, vpc_firewall, vpc_subnet};
use diesel::prelude::*;
use ipnetwork::{IpNetwork, Ipv6Network};
use nexus_common::{Error, Name, NameOrId, PageBy, ResourceType, Vni};
use rand::Rng;
use std::net::Ipv6Addr;
use uuid::Uuid;

/// Whether a new VPC gets its default subnet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum DefaultSubnet {
    Create,
    Omit,
}

/// A VPC to be made.
#[derive(Clone, Debug)]
pub struct NewVpc {
    pub project_id: Uuid,
    pub name: String,
    pub description: String,
    pub dns_name: String,
    /// A random one if there is none.
    pub ipv6_prefix: Option<Ipv6Network>,
    pub subnet: DefaultSubnet,
}

impl NewVpc {
    /// The VPC that comes with a new project.
    pub(super) fn default_of(project_id: Uuid, subnet: DefaultSubnet) -> Self {
        NewVpc {
            project_id,
            name: DEFAULT.to_string(),
            description: "Default VPC".to_string(),
            dns_name: DEFAULT.to_string(),
            ipv6_prefix: None,
            subnet,
        }
    }
}

/// A change of a VPC; what is none stays.
#[derive(Clone, Debug)]
pub struct VpcUpdate {
    pub identity: IdentityUpdate,
    pub dns_name: Option<String>,
}

/// The name of the VPC that comes with a new project.
pub(super) const DEFAULT: &str = "default";

/// A /48 of the unique local addresses with a random global id (RFC 4193, 3.2.2).
fn random_prefix() -> Result<Ipv6Network, Error> {
    let id: u64 = rand::rng().random_range(0..1 << 40);
    let ip = Ipv6Addr::from(u128::from(0xfd_u64 << 40 | id) << 80);
    Ipv6Network::new(ip, 48).map_err(Error::internal)
}

/// Inserts a VPC. The VNI is random: taking one that is in use makes the transaction run again.
pub(super) fn insert_vpc(conn: &mut PgConnection, new: NewVpc) -> TxResult<Vpc> {
    let prefix = new.ipv6_prefix.map_or_else(random_prefix, Ok)?;
    let created = now();
    let row = Vpc {
        id: Uuid::new_v4(),
        project_id: new.project_id,
        name: new.name,
        description: new.description,
        dns_name: new.dns_name,
        ipv6_prefix: IpNetwork::V6(prefix),
        vni: rand::rng().random_range(Vni::GUEST_FIRST..=Vni::MAX) as i32,
        system_router_id: Uuid::new_v4(),
        time_created: created,
        time_modified: created,
        time_deleted: None,
    };
    diesel::insert_into(vpc::table).values(&row).execute(conn).map_err(taken(
        "vpc_name",
        ResourceType::Vpc,
        &row.name,
    ))?;
    if new.subnet == DefaultSubnet::Create {
        let subnet = default_subnet(&row, prefix)?;
        diesel::insert_into(vpc_subnet::table).values(&subnet).execute(conn)?;
    }
    Ok(row)
}

/// Deletes a VPC's row, and the rules that belong to it.
pub(super) fn delete_vpc(conn: &mut PgConnection, id: Uuid) -> QueryResult<()> {
    diesel::delete(vpc_firewall::table.filter(vpc_firewall::vpc_id.eq(id))).execute(conn)?;
    diesel::update(vpc::table.filter(vpc::id.eq(id)))
        .set(vpc::time_deleted.eq(Some(now())))
        .execute(conn)?;
    Ok(())
}

/// The live VPC with this id.
pub(super) fn live_vpc(conn: &mut PgConnection, id: Uuid) -> TxResult<Vpc> {
    let found = vpc::table
        .filter(vpc::id.eq(id))
        .filter(vpc::time_deleted.is_null())
        .select(Vpc::as_select())
        .first(conn)
        .optional()?;
    Ok(found.ok_or_else(|| Error::not_found(ResourceType::Vpc, id))?)
}

pub(super) fn vpc_by_name(conn: &mut PgConnection, project_id: Uuid, name: &Name) -> TxResult<Vpc> {
    let found = vpc::table
        .filter(vpc::project_id.eq(project_id))
        .filter(vpc::name.eq(name.as_str()))
        .filter(vpc::time_deleted.is_null())
        .select(Vpc::as_select())
        .first(conn)
        .optional()?;
    Ok(found.ok_or_else(|| Error::not_found(ResourceType::Vpc, name))?)
}

impl Datastore {
    /// Makes a VPC.
    pub async fn vpc_create(&self, new: NewVpc) -> Result<Vpc, Error> {
        self.transaction("create vpc", move |conn| {
            live_project(conn, new.project_id)?;
            insert_vpc(conn, new.clone())
        })
        .await
    }

    /// Changes a VPC.
    pub async fn vpc_update(&self, id: Uuid, change: VpcUpdate) -> Result<Vpc, Error> {
        self.transaction("update vpc", move |conn| {
            let old = live_vpc(conn, id)?;
            let VpcUpdate { identity, dns_name } = change.clone();
            let name = identity.name.unwrap_or(old.name);
            let updated = diesel::update(vpc::table.filter(vpc::id.eq(id)))
                .set((
                    vpc::name.eq(&name),
                    vpc::description.eq(identity.description.unwrap_or(old.description)),
                    vpc::dns_name.eq(dns_name.unwrap_or(old.dns_name)),
                    vpc::time_modified.eq(now()),
                ))
                .returning(Vpc::as_returning())
                .get_result(conn)
                .map_err(taken("vpc_name", ResourceType::Vpc, &name))?;
            Ok(updated)
        })
        .await
    }

    /// Deletes a VPC that has no subnets.
    pub async fn vpc_delete(&self, id: Uuid) -> Result<(), Error> {
        self.transaction("delete vpc", move |conn| {
            live_vpc(conn, id)?;
            let subnet: Option<Uuid> = vpc_subnet::table
                .filter(vpc_subnet::vpc_id.eq(id))
                .filter(vpc_subnet::time_deleted.is_null())
                .select(vpc_subnet::id)
                .first(conn)
                .optional()?;
            if subnet.is_some() {
                let message = "VPC cannot be deleted while VPC Subnets exist";
                return Err(Error::invalid(message).into());
            }
            Ok(delete_vpc(conn, id)?)
        })
        .await
    }

    /// The VPC with this id, or with this name in the project.
    pub async fn vpc_fetch(
        &self,
        project_id: Option<Uuid>,
        selector: NameOrId,
    ) -> Result<Vpc, Error> {
        self.statement("vpc", move |conn| {
            let query = vpc::table
                .filter(vpc::time_deleted.is_null())
                .select(Vpc::as_select())
                .into_boxed();
            let query = match (&selector, project_id) {
                (NameOrId::Name(name), Some(project_id)) => {
                    query.filter(vpc::project_id.eq(project_id)).filter(vpc::name.eq(name.as_str()))
                }
                (NameOrId::Id(id), _) => query.filter(vpc::id.eq(*id)),
                (NameOrId::Name(_), None) => {
                    return Err(Error::not_found(ResourceType::Vpc, &selector).into());
                }
            };
            let found = query.first(conn).optional()?;
            Ok(found.ok_or_else(|| Error::not_found(ResourceType::Vpc, &selector))?)
        })
        .await
    }

    /// A page of a project's VPCs.
    pub async fn vpc_list(&self, project_id: Uuid, page: PageBy) -> Result<Vec<Vpc>, Error> {
        self.statement("vpcs", move |conn| {
            let mine = vpc::project_id.eq(project_id).and(vpc::time_deleted.is_null());
            Ok(page_by!(conn, vpc, Vpc, mine, &page)?)
        })
        .await
    }
}
