//! Sleds, as their agents register them.

use super::paging::page;
use super::{Datastore, now};
use crate::db::instance::InstanceAndVmm;
use db_model::schema::{instance, project, silo, sled, vmm};
use db_model::{Instance, ProvisionPolicy, Sled, Vmm};
use diesel::prelude::*;
use nexus_common::{Error, PageParams, ResourceType};
use uuid::Uuid;

/// The most sleds that are listed at once. A rack has at most 32.
const MAX_SLEDS: i64 = 1000;

/// An instance on a sled, as an operator sees it.
#[derive(Clone, Debug)]
pub struct SledInstance {
    pub found: InstanceAndVmm,
    pub sled_id: Uuid,
    pub project_name: String,
    pub silo_name: String,
}

impl Datastore {
    /// Takes in a registration that is newer than the one that is known.
    pub async fn sled_upsert(&self, row: Sled) -> Result<(), Error> {
        self.transaction("register sled", move |conn| {
            let known: Option<i64> = sled::table
                .filter(sled::id.eq(row.id))
                .select(sled::generation)
                .first(conn)
                .optional()?;
            match known {
                None => {
                    diesel::insert_into(sled::table).values(&row).execute(conn)?;
                }
                Some(generation) if row.generation > generation => {
                    let (time_created, provision_policy) = sled::table
                        .filter(sled::id.eq(row.id))
                        .select((sled::time_created, sled::provision_policy))
                        .first(conn)?;
                    let time_modified = now();
                    diesel::update(sled::table.filter(sled::id.eq(row.id)))
                        .set(&Sled { time_created, time_modified, provision_policy, ..row.clone() })
                        .execute(conn)?;
                }
                Some(generation) => {
                    return Err(Error::conflict(format!(
                        "the registration's generation {} is not newer than {generation}",
                        row.generation
                    ))
                    .into());
                }
            }
            Ok(())
        })
        .await
    }

    /// The sled with this id.
    pub async fn sled_fetch(&self, id: Uuid) -> Result<Sled, Error> {
        self.statement("sled", move |conn| {
            let found = sled::table
                .filter(sled::id.eq(id))
                .select(Sled::as_select())
                .first(conn)
                .optional()?;
            Ok(found.ok_or_else(|| Error::not_found(ResourceType::Sled, id))?)
        })
        .await
    }

    /// A page of the sleds.
    pub async fn sled_page(&self, page: PageParams<Uuid>) -> Result<Vec<Sled>, Error> {
        self.statement("page of sleds", move |conn| {
            let query = sled::table.select(Sled::as_select());
            Ok(page!(query, sled::id, &page, |id: &Uuid| *id).load(conn)?)
        })
        .await
    }

    /// Sets whether new VMMs are placed on a sled. Returns what was before.
    pub async fn sled_set_provision_policy(
        &self,
        id: Uuid,
        policy: ProvisionPolicy,
    ) -> Result<ProvisionPolicy, Error> {
        self.transaction("set provision policy", move |conn| {
            let before = sled::table
                .filter(sled::id.eq(id))
                .select(sled::provision_policy)
                .first(conn)
                .optional()?;
            let before = before.ok_or_else(|| Error::not_found(ResourceType::Sled, id))?;
            diesel::update(sled::table.filter(sled::id.eq(id)))
                .set((sled::provision_policy.eq(policy), sled::time_modified.eq(now())))
                .execute(conn)?;
            Ok(before)
        })
        .await
    }

    /// A page of the instances whose active VMM is on a sled, by instance.
    pub async fn sled_instances(
        &self,
        sled_id: Uuid,
        page: PageParams<Uuid>,
    ) -> Result<Vec<SledInstance>, Error> {
        self.statement("instances on sled", move |conn| {
            let query = vmm::table
                .inner_join(instance::table.on(instance::id.eq(vmm::instance_id)))
                .inner_join(project::table.on(project::id.eq(instance::project_id)))
                .inner_join(silo::table.on(silo::id.eq(instance::silo_id)))
                .filter(vmm::sled_id.eq(sled_id))
                .filter(vmm::time_deleted.is_null())
                .filter(instance::active_vmm_id.eq(vmm::id.nullable()))
                .filter(instance::time_deleted.is_null())
                .select((Instance::as_select(), Vmm::as_select(), project::name, silo::name));
            let rows: Vec<(Instance, Vmm, String, String)> =
                page!(query, instance::id, &page, |id: &Uuid| *id).load(conn)?;
            let each = rows.into_iter().map(|(instance, vmm, project_name, silo_name)| {
                let found = InstanceAndVmm { instance, vmm: Some(vmm) };
                SledInstance { found, sled_id, project_name, silo_name }
            });
            Ok(each.collect())
        })
        .await
    }

    /// All sleds.
    pub async fn sled_list(&self) -> Result<Vec<Sled>, Error> {
        self.statement("sleds", |conn| {
            Ok(sled::table.order(sled::id).limit(MAX_SLEDS).select(Sled::as_select()).load(conn)?)
        })
        .await
    }
}
