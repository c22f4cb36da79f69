//! What the checker reads: rows, each with all that the rules hold it against.
//!
//! Everything is read in pages, and what is on a page, with what belongs to it, is read in one
//! transaction: what does not fit together there did not fit together at one moment. The same
//! functions read rows by their ids, for the second look.

use super::Datastore;
use super::error::TxResult;
use super::nic::primary_nic;
use chrono::{DateTime, Utc};
use db_model::schema::{
    disk, external_ip, instance, ip_pool, ip_pool_free_address, ip_pool_range, ip_pool_silo,
    ip_pool_snat_address, migration, nat_entry, network_interface, project, saga, silo, silo_user,
    sled, vmm, vpc, vpc_subnet,
};
use db_model::{
    ExternalIp, FreeAddress, InstanceState, Ip, IpKind, IpPoolRange, Mac, Migration, NatEntry,
    SagaState, Sled, SnatAddress, Vmm, VmmState,
};
use diesel::dsl::{count, exists};
use diesel::prelude::*;
use nexus_common::Error;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use uuid::Uuid;

/// Rows of one page.
pub const PAGE: i64 = 500;

/// Which rows to read.
#[derive(Clone, Debug)]
pub enum Window<K> {
    /// The next page after this key, or the first.
    After(Option<K>),
    /// These.
    These(Vec<K>),
}

/// Restricts a query to a window of a column that its rows are unique in.
macro_rules! window {
    ($query:expr, $key:expr, $window:expr) => {{
        let mut query = $query.into_boxed();
        query = match $window.clone() {
            Window::After(None) => query,
            Window::After(Some(after)) => query.filter($key.gt(after)),
            Window::These(keys) => query.filter($key.eq_any(keys)),
        };
        query.order($key).limit(PAGE)
    }};
}

/// An instance, without what the checker does not need.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = instance)]
pub struct InstanceBrief {
    pub id: Uuid,
    pub project_id: Uuid,
    pub state: InstanceState,
    pub saga_id: Option<Uuid>,
    pub active_vmm_id: Option<Uuid>,
    pub target_vmm_id: Option<Uuid>,
    pub migration_id: Option<Uuid>,
    pub time_deleted: Option<DateTime<Utc>>,
}

/// A live external IP.
#[derive(Clone, Debug)]
pub struct IpFacts {
    pub ip: ExternalIp,
    /// Live or not.
    pub instance: Option<InstanceBrief>,
    /// The one that the row names; live ones only.
    pub range: Option<IpPoolRange>,
    /// All live rows of the same address, this one included.
    pub same_address: Vec<ExternalIp>,
    /// The record of the address as one that source NAT shares.
    pub shared: Option<SnatAddress>,
}

/// An address that source NAT shares, and the live blocks of it.
#[derive(Clone, Debug)]
pub struct SharedFacts {
    pub shared: SnatAddress,
    pub first_ports: Vec<i32>,
}

/// What is known of an address of a range.
#[derive(Clone, Debug)]
pub struct AddressFacts {
    pub range: IpPoolRange,
    pub in_use: bool,
    pub free: bool,
}

/// What a pool says of itself, and what is in use of it.
#[derive(Clone, Copy, Debug)]
pub struct PoolFacts {
    /// As the pool's utilization counts.
    pub allocated: i64,
    /// Whole addresses in use, and different ones that source NAT shares.
    pub in_use: i64,
}

/// A live instance.
#[derive(Clone, Debug)]
pub struct InstanceFacts {
    pub instance: InstanceBrief,
    /// Deleted or not.
    pub active: Option<Vmm>,
    /// Deleted or not.
    pub target: Option<Vmm>,
    pub migration: Option<Migration>,
    /// Whether an unfinished saga is named by the instance or by one of these VMMs.
    pub worked_on: bool,
}

/// Where packets for an instance's external addresses are to go.
#[derive(Clone, Copy, Debug)]
pub struct TargetFacts {
    pub vni: i32,
    pub mac: Mac,
    pub has_v4: bool,
    pub has_v6: bool,
}

/// A live VMM.
#[derive(Clone, Debug)]
pub struct VmmFacts {
    pub vmm: Vmm,
    /// Deleted or not.
    pub instance: Option<InstanceBrief>,
    pub sled: Option<Sled>,
    /// From the instance's primary interface.
    pub target: Option<TargetFacts>,
    /// All live ones of the instance.
    pub ips: Vec<ExternalIp>,
    /// All live ones of the instance.
    pub entries: Vec<NatEntry>,
}

/// A live NAT entry.
#[derive(Clone, Debug)]
pub struct EntryFacts {
    pub entry: NatEntry,
    /// The live address that it is for.
    pub ip: Option<ExternalIp>,
    /// Deleted or not.
    pub instance: Option<InstanceBrief>,
}

/// A row, and whether its parent is there.
#[derive(Clone, Copy, Debug)]
pub struct ChildFacts {
    pub id: Uuid,
    pub parent_id: Uuid,
    pub parent_lives: bool,
}

/// The pairs of tables of which one's rows live below the other's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    UserOfSilo,
    ProjectOfSilo,
    DiskOfProject,
    DiskOfInstance,
    VpcOfProject,
    SubnetOfVpc,
    InstanceOfProject,
    InterfaceOfInstance,
    InterfaceOfVpc,
    InterfaceOfSubnet,
    AddressOfProject,
    RangeOfPool,
    MigrationOfInstance,
}

impl Family {
    /// All of them.
    pub const ALL: [Family; 13] = [
        Family::UserOfSilo,
        Family::ProjectOfSilo,
        Family::DiskOfProject,
        Family::DiskOfInstance,
        Family::VpcOfProject,
        Family::SubnetOfVpc,
        Family::InstanceOfProject,
        Family::InterfaceOfInstance,
        Family::InterfaceOfVpc,
        Family::InterfaceOfSubnet,
        Family::AddressOfProject,
        Family::RangeOfPool,
        Family::MigrationOfInstance,
    ];

    /// What the child is, and what the parent is.
    pub const fn names(self) -> (&'static str, &'static str) {
        match self {
            Family::UserOfSilo => ("silo_user", "silo"),
            Family::ProjectOfSilo => ("project", "silo"),
            Family::DiskOfProject => ("disk", "project"),
            Family::DiskOfInstance => ("disk", "instance"),
            Family::VpcOfProject => ("vpc", "project"),
            Family::SubnetOfVpc => ("vpc_subnet", "vpc"),
            Family::InstanceOfProject => ("instance", "project"),
            Family::InterfaceOfInstance => ("network_interface", "instance"),
            Family::InterfaceOfVpc => ("network_interface", "vpc"),
            Family::InterfaceOfSubnet => ("network_interface", "vpc_subnet"),
            Family::AddressOfProject => ("external_ip", "project"),
            Family::RangeOfPool => ("ip_pool_range", "ip_pool"),
            Family::MigrationOfInstance => ("migration", "instance"),
        }
    }
}

/// The rows of a table with these ids, by id.
macro_rules! by_id {
    ($conn:expr, $table:ident, $row:ty, $ids:expr) => {{
        let ids: HashSet<Uuid> = $ids.into_iter().collect();
        let rows: Vec<$row> =
            $table::table.filter($table::id.eq_any(ids)).select(<$row>::as_select()).load($conn)?;
        rows.into_iter().map(|row| (row.id, row)).collect::<HashMap<Uuid, $row>>()
    }};
}

/// Live children on a page, each with its parent's id, and the parent's own if that lives.
macro_rules! children {
    ($conn:expr, $window:expr, $child:ident.$column:ident, $parent:ident) => {{
        let rows = $child::table
            .left_join(
                $parent::table
                    .on($parent::id.eq($child::$column).and($parent::time_deleted.is_null())),
            )
            .filter($child::time_deleted.is_null())
            .select(($child::id, $child::$column, $parent::id.nullable()));
        window!(rows, $child::id, $window).load::<(Uuid, Uuid, Option<Uuid>)>($conn)?
    }};
}

/// Disks that are attached. Those that are not have no instance.
fn attached_disks(
    conn: &mut PgConnection,
    window: &Window<Uuid>,
) -> QueryResult<Vec<(Uuid, Uuid, Option<Uuid>)>> {
    let rows = disk::table
        .left_join(instance::table.on(
            instance::id.nullable().eq(disk::instance_id).and(instance::time_deleted.is_null()),
        ))
        .filter(disk::time_deleted.is_null())
        .filter(disk::instance_id.is_not_null())
        .select((disk::id, disk::instance_id.assume_not_null(), instance::id.nullable()));
    window!(rows, disk::id, window).load(conn)
}

fn unfinished(conn: &mut PgConnection, ids: HashSet<Uuid>) -> QueryResult<HashSet<Uuid>> {
    let open: Vec<Uuid> = saga::table
        .filter(saga::id.eq_any(ids))
        .filter(saga::state.ne(SagaState::Done))
        .select(saga::id)
        .load(conn)?;
    Ok(open.into_iter().collect())
}

fn ip_facts(conn: &mut PgConnection, rows: Vec<ExternalIp>) -> TxResult<Vec<IpFacts>> {
    let instances =
        by_id!(conn, instance, InstanceBrief, rows.iter().filter_map(|ip| ip.instance_id));
    let ranges =
        by_id!(conn, ip_pool_range, IpPoolRange, rows.iter().map(|ip| ip.ip_pool_range_id));
    let addresses: HashSet<Ip> = rows.iter().map(|ip| ip.ip).collect();
    let same: Vec<ExternalIp> = external_ip::table
        .filter(external_ip::ip.eq_any(addresses.clone()))
        .filter(external_ip::time_deleted.is_null())
        .select(ExternalIp::as_select())
        .load(conn)?;
    let pools: HashSet<Uuid> = rows.iter().map(|ip| ip.ip_pool_id).collect();
    let shared: Vec<SnatAddress> = ip_pool_snat_address::table
        .filter(ip_pool_snat_address::ip_pool_id.eq_any(pools))
        .filter(ip_pool_snat_address::ip.eq_any(addresses))
        .select(SnatAddress::as_select())
        .load(conn)?;
    let facts = |ip: ExternalIp| IpFacts {
        instance: ip.instance_id.and_then(|id| instances.get(&id).cloned()),
        range: ranges.get(&ip.ip_pool_range_id).filter(|row| row.time_deleted.is_none()).cloned(),
        same_address: same.iter().filter(|other| other.ip == ip.ip).cloned().collect(),
        shared: shared
            .iter()
            .find(|row| row.ip == ip.ip && row.ip_pool_id == ip.ip_pool_id)
            .cloned(),
        ip,
    };
    Ok(rows.into_iter().map(facts).collect())
}

fn instance_facts(
    conn: &mut PgConnection,
    rows: Vec<InstanceBrief>,
) -> TxResult<Vec<InstanceFacts>> {
    let named = rows.iter().flat_map(|row| [row.active_vmm_id, row.target_vmm_id]).flatten();
    let vmms = by_id!(conn, vmm, Vmm, named);
    let migrations =
        by_id!(conn, migration, Migration, rows.iter().filter_map(|row| row.migration_id));
    let sagas = rows.iter().filter_map(|row| row.saga_id);
    let open = unfinished(conn, sagas.chain(vmms.values().map(|vmm| vmm.saga_id)).collect())?;
    let facts = |instance: InstanceBrief| {
        let of = |id: Option<Uuid>| id.and_then(|id| vmms.get(&id).cloned());
        let (active, target) = (of(instance.active_vmm_id), of(instance.target_vmm_id));
        let sagas = [&active, &target].map(|vmm| vmm.as_ref().map(|vmm| vmm.saga_id));
        let sagas = sagas.into_iter().flatten().chain(instance.saga_id);
        InstanceFacts {
            worked_on: sagas.into_iter().any(|id| open.contains(&id)),
            migration: instance.migration_id.and_then(|id| migrations.get(&id).cloned()),
            active,
            target,
            instance,
        }
    };
    Ok(rows.into_iter().map(facts).collect())
}

fn target_facts(conn: &mut PgConnection, instance_id: Uuid) -> TxResult<Option<TargetFacts>> {
    let Some(nic) = primary_nic(conn, instance_id)? else { return Ok(None) };
    let vni = vpc::table.filter(vpc::id.eq(nic.vpc_id)).select(vpc::vni).first(conn).optional()?;
    let (has_v4, has_v6) = (nic.ipv4.is_some(), nic.ipv6.is_some());
    Ok(vni.map(|vni| TargetFacts { vni, mac: nic.mac, has_v4, has_v6 }))
}

fn vmm_facts(conn: &mut PgConnection, rows: Vec<Vmm>) -> TxResult<Vec<VmmFacts>> {
    let instances = by_id!(conn, instance, InstanceBrief, rows.iter().map(|vmm| vmm.instance_id));
    let sleds = by_id!(conn, sled, Sled, rows.iter().map(|vmm| vmm.sled_id));
    let of_instances: HashSet<Uuid> = instances.keys().copied().collect();
    let ips: Vec<ExternalIp> = external_ip::table
        .filter(external_ip::instance_id.eq_any(of_instances.clone()))
        .filter(external_ip::time_deleted.is_null())
        .select(ExternalIp::as_select())
        .load(conn)?;
    let entries: Vec<NatEntry> = nat_entry::table
        .filter(nat_entry::instance_id.eq_any(of_instances))
        .filter(nat_entry::time_deleted.is_null())
        .select(NatEntry::as_select())
        .load(conn)?;
    let mut facts = Vec::with_capacity(rows.len());
    for vmm in rows {
        let id = vmm.instance_id;
        facts.push(VmmFacts {
            instance: instances.get(&id).cloned(),
            sled: sleds.get(&vmm.sled_id).cloned(),
            target: target_facts(conn, id)?,
            ips: ips.iter().filter(|ip| ip.instance_id == Some(id)).cloned().collect(),
            entries: entries.iter().filter(|entry| entry.instance_id == id).cloned().collect(),
            vmm,
        });
    }
    Ok(facts)
}

impl Datastore {
    /// Live external IPs.
    pub async fn check_ips(&self, window: Window<Uuid>) -> Result<Vec<IpFacts>, Error> {
        self.transaction("check external ips", move |conn| {
            let live = external_ip::table
                .filter(external_ip::time_deleted.is_null())
                .select(ExternalIp::as_select());
            let rows = window!(live, external_ip::id, window).load(conn)?;
            ip_facts(conn, rows)
        })
        .await
    }

    /// Addresses of a pool that source NAT shares.
    pub async fn check_shared(
        &self,
        pool_id: Uuid,
        window: Window<Ip>,
    ) -> Result<Vec<SharedFacts>, Error> {
        self.transaction("check shared addresses", move |conn| {
            let rows = ip_pool_snat_address::table
                .filter(ip_pool_snat_address::ip_pool_id.eq(pool_id))
                .select(SnatAddress::as_select());
            let rows: Vec<SnatAddress> =
                window!(rows, ip_pool_snat_address::ip, window).load(conn)?;
            let blocks: Vec<(Ip, i32)> = external_ip::table
                .filter(external_ip::ip.eq_any(rows.iter().map(|row| row.ip).collect::<Vec<_>>()))
                .filter(external_ip::kind.eq(IpKind::Snat))
                .filter(external_ip::time_deleted.is_null())
                .select((external_ip::ip, external_ip::first_port))
                .load(conn)?;
            let facts = |shared: SnatAddress| {
                let mine = blocks.iter().filter(|(ip, _)| *ip == shared.ip);
                SharedFacts { first_ports: mine.map(|(_, port)| *port).collect(), shared }
            };
            Ok(rows.into_iter().map(facts).collect())
        })
        .await
    }

    /// A page of the addresses of a range that are in use, in order, each once.
    pub async fn check_used_addresses(
        &self,
        range_id: Uuid,
        after: Option<IpAddr>,
    ) -> Result<Vec<IpAddr>, Error> {
        self.statement("used addresses of range", move |conn| {
            let mut query = external_ip::table
                .filter(external_ip::ip_pool_range_id.eq(range_id))
                .filter(external_ip::time_deleted.is_null())
                .into_boxed();
            if let Some(after) = after {
                query = query.filter(external_ip::ip.gt(Ip(after)));
            }
            let query = query.select(external_ip::ip).distinct().order(external_ip::ip);
            let page: Vec<Ip> = query.limit(PAGE).load(conn)?;
            Ok(page.into_iter().map(|ip| ip.0).collect())
        })
        .await
    }

    /// A page of the free list of a range, in order.
    pub async fn check_free_addresses(
        &self,
        range_id: Uuid,
        after: Option<IpAddr>,
    ) -> Result<Vec<FreeAddress>, Error> {
        self.statement("free addresses of range", move |conn| {
            let mut query = ip_pool_free_address::table
                .filter(ip_pool_free_address::ip_pool_range_id.eq(range_id))
                .select(FreeAddress::as_select())
                .into_boxed();
            if let Some(after) = after {
                query = query.filter(ip_pool_free_address::ip.gt(Ip(after)));
            }
            Ok(query.order(ip_pool_free_address::ip).limit(PAGE).load(conn)?)
        })
        .await
    }

    /// What is known of an address of a range; none if there is no such range any more.
    pub async fn check_address(
        &self,
        range_id: Uuid,
        ip: IpAddr,
    ) -> Result<Option<AddressFacts>, Error> {
        self.transaction("check address", move |conn| {
            let range = ip_pool_range::table
                .filter(ip_pool_range::id.eq(range_id))
                .filter(ip_pool_range::time_deleted.is_null())
                .select(IpPoolRange::as_select())
                .first(conn)
                .optional()?;
            let Some(range) = range else { return Ok(None) };
            let in_use = diesel::select(exists(
                external_ip::table
                    .filter(external_ip::ip_pool_range_id.eq(range_id))
                    .filter(external_ip::ip.eq(Ip(ip)))
                    .filter(external_ip::time_deleted.is_null()),
            ))
            .get_result(conn)?;
            let free = diesel::select(exists(
                ip_pool_free_address::table
                    .filter(ip_pool_free_address::ip_pool_range_id.eq(range_id))
                    .filter(ip_pool_free_address::ip.eq(Ip(ip))),
            ))
            .get_result(conn)?;
            Ok(Some(AddressFacts { range, in_use, free }))
        })
        .await
    }

    /// The next range, by id, that the free list names, with whether it is live. Each step skips
    /// what the list has of one range.
    pub async fn check_free_list_range(
        &self,
        after: Option<Uuid>,
    ) -> Result<Option<(FreeAddress, bool)>, Error> {
        self.transaction("ranges of free list", move |conn| {
            let mut query =
                ip_pool_free_address::table.select(FreeAddress::as_select()).into_boxed();
            if let Some(after) = after {
                query = query.filter(ip_pool_free_address::ip_pool_range_id.gt(after));
            }
            let order = (ip_pool_free_address::ip_pool_range_id, ip_pool_free_address::ip);
            let next: Option<FreeAddress> = query.order(order).first(conn).optional()?;
            let Some(next) = next else { return Ok(None) };
            let live = diesel::select(exists(
                ip_pool_range::table
                    .filter(ip_pool_range::id.eq(next.ip_pool_range_id))
                    .filter(ip_pool_range::time_deleted.is_null()),
            ))
            .get_result(conn)?;
            Ok(Some((next, live)))
        })
        .await
    }

    /// What a pool's utilization counts, and what is in use of it, at one moment.
    pub async fn check_pool(&self, pool_id: Uuid) -> Result<PoolFacts, Error> {
        self.transaction("check pool", move |conn| {
            let live = external_ip::table
                .filter(external_ip::ip_pool_id.eq(pool_id))
                .filter(external_ip::time_deleted.is_null());
            let whole: i64 =
                live.filter(external_ip::kind.ne(IpKind::Snat)).count().get_result(conn)?;
            let shared: i64 = live
                .filter(external_ip::kind.eq(IpKind::Snat))
                .select(count(external_ip::ip).aggregate_distinct())
                .first(conn)?;
            let (allocated, in_use) = (super::ip_pool::allocated(conn, pool_id)?, whole + shared);
            Ok(PoolFacts { allocated, in_use })
        })
        .await
    }

    /// Live instances.
    pub async fn check_instances(&self, window: Window<Uuid>) -> Result<Vec<InstanceFacts>, Error> {
        self.transaction("check instances", move |conn| {
            let live = instance::table
                .filter(instance::time_deleted.is_null())
                .select(InstanceBrief::as_select());
            let rows = window!(live, instance::id, window).load(conn)?;
            instance_facts(conn, rows)
        })
        .await
    }

    /// Live VMMs.
    pub async fn check_vmms(&self, window: Window<Uuid>) -> Result<Vec<VmmFacts>, Error> {
        self.transaction("check vmms", move |conn| {
            let live = vmm::table.filter(vmm::time_deleted.is_null()).select(Vmm::as_select());
            let rows = window!(live, vmm::id, window).load(conn)?;
            vmm_facts(conn, rows)
        })
        .await
    }

    /// A page of the live VMMs whose sled is to have ports for them.
    pub async fn check_port_vmms(
        &self,
        window: Window<Uuid>,
        limit: i64,
    ) -> Result<Vec<VmmFacts>, Error> {
        self.transaction("vmms with ports", move |conn| {
            let portless = [VmmState::Creating, VmmState::Failed, VmmState::Destroyed];
            let rows = vmm::table
                .filter(vmm::time_deleted.is_null())
                .filter(vmm::state.ne_all(portless))
                .select(Vmm::as_select());
            let rows = window!(rows, vmm::id, window).limit(limit).load(conn)?;
            vmm_facts(conn, rows)
        })
        .await
    }

    /// Live NAT entries.
    pub async fn check_nat_entries(&self, window: Window<Uuid>) -> Result<Vec<EntryFacts>, Error> {
        self.transaction("check nat entries", move |conn| {
            let live = nat_entry::table
                .filter(nat_entry::time_deleted.is_null())
                .select(NatEntry::as_select());
            let rows: Vec<NatEntry> = window!(live, nat_entry::id, window).load(conn)?;
            let ips =
                by_id!(conn, external_ip, ExternalIp, rows.iter().map(|row| row.external_ip_id));
            let instances =
                by_id!(conn, instance, InstanceBrief, rows.iter().map(|row| row.instance_id));
            let facts = |entry: NatEntry| EntryFacts {
                ip: ips.get(&entry.external_ip_id).filter(|ip| ip.time_deleted.is_none()).cloned(),
                instance: instances.get(&entry.instance_id).cloned(),
                entry,
            };
            Ok(rows.into_iter().map(facts).collect())
        })
        .await
    }

    /// Unfinished sagas: their ids and names.
    pub async fn check_sagas(&self, window: Window<Uuid>) -> Result<Vec<(Uuid, String)>, Error> {
        self.statement("unfinished sagas", move |conn| {
            let open =
                saga::table.filter(saga::state.ne(SagaState::Done)).select((saga::id, saga::name));
            Ok(window!(open, saga::id, window).load(conn)?)
        })
        .await
    }

    /// Rows of a family, with whether their parents live.
    pub async fn check_children(
        &self,
        family: Family,
        window: Window<Uuid>,
    ) -> Result<Vec<ChildFacts>, Error> {
        self.statement("check parents", move |conn| {
            let window = &window;
            let rows = match family {
                Family::UserOfSilo => children!(conn, window, silo_user.silo_id, silo),
                Family::ProjectOfSilo => children!(conn, window, project.silo_id, silo),
                Family::DiskOfProject => children!(conn, window, disk.project_id, project),
                Family::DiskOfInstance => attached_disks(conn, window)?,
                Family::VpcOfProject => children!(conn, window, vpc.project_id, project),
                Family::SubnetOfVpc => children!(conn, window, vpc_subnet.vpc_id, vpc),
                Family::InstanceOfProject => {
                    children!(conn, window, instance.project_id, project)
                }
                Family::InterfaceOfInstance => {
                    children!(conn, window, network_interface.instance_id, instance)
                }
                Family::InterfaceOfVpc => children!(conn, window, network_interface.vpc_id, vpc),
                Family::InterfaceOfSubnet => {
                    children!(conn, window, network_interface.subnet_id, vpc_subnet)
                }
                Family::AddressOfProject => {
                    children!(conn, window, external_ip.project_id, project)
                }
                Family::RangeOfPool => {
                    children!(conn, window, ip_pool_range.ip_pool_id, ip_pool)
                }
                Family::MigrationOfInstance => {
                    children!(conn, window, migration.instance_id, instance)
                }
            };
            let facts = |(id, parent_id, parent): (_, _, Option<Uuid>)| ChildFacts {
                id,
                parent_id,
                parent_lives: parent.is_some(),
            };
            Ok(rows.into_iter().map(facts).collect())
        })
        .await
    }

    /// Links of pools to silos, by silo and pool, with whether the pool lives.
    pub async fn check_links(
        &self,
        window: Window<(Uuid, Uuid)>,
    ) -> Result<Vec<ChildFacts>, Error> {
        self.statement("check links of pools", move |conn| {
            let mut query = ip_pool_silo::table
                .left_join(ip_pool::table.on(
                    ip_pool::id.eq(ip_pool_silo::ip_pool_id).and(ip_pool::time_deleted.is_null()),
                ))
                .select((ip_pool_silo::silo_id, ip_pool_silo::ip_pool_id, ip_pool::id.nullable()))
                .into_boxed();
            match &window {
                Window::After(None) => {}
                Window::After(Some((silo, pool))) => {
                    let later = ip_pool_silo::silo_id.eq(*silo);
                    let later = later.and(ip_pool_silo::ip_pool_id.gt(*pool));
                    query = query.filter(ip_pool_silo::silo_id.gt(*silo).or(later));
                }
                Window::These(links) => {
                    let (silos, pools): (Vec<Uuid>, Vec<Uuid>) = links.iter().copied().unzip();
                    query = query
                        .filter(ip_pool_silo::silo_id.eq_any(silos))
                        .filter(ip_pool_silo::ip_pool_id.eq_any(pools));
                }
            }
            let order = (ip_pool_silo::silo_id, ip_pool_silo::ip_pool_id);
            let rows = query.order(order).limit(PAGE).load(conn)?;
            let facts = |(id, parent_id, parent): (_, _, Option<Uuid>)| ChildFacts {
                id,
                parent_id,
                parent_lives: parent.is_some(),
            };
            Ok(rows.into_iter().map(facts).collect())
        })
        .await
    }
}
