//! Projects.

use super::Datastore;
use super::error::{TxResult, taken};
use super::now;
use super::paging::page_by;
use super::policy::{PolicyOf, delete_policy};
use super::silo::live_silo;
use super::vpc::{DEFAULT as DEFAULT_VPC, DefaultSubnet, NewVpc, delete_vpc, insert_vpc};
use db_model::schema::{disk, external_ip, image, instance, project, snapshot, vpc, vpc_subnet};
use db_model::{IpKind, Project, ResourceKind};
use diesel::prelude::*;
use nexus_common::{Error, NameOrId, PageBy, ResourceType};
use uuid::Uuid;

/// A change of a name and a description; what is none stays.
#[derive(Clone, Debug, Default)]
pub struct IdentityUpdate {
    pub name: Option<String>,
    pub description: Option<String>,
}

/// The live project with this id, for a transaction that adds something to it. Reading the row
/// here makes a concurrent deletion of the project conflict with the addition.
pub(super) fn live_project(conn: &mut PgConnection, id: Uuid) -> TxResult<Project> {
    let found = project::table
        .filter(project::id.eq(id))
        .filter(project::time_deleted.is_null())
        .select(Project::as_select())
        .first(conn)
        .optional()?;
    Ok(found.ok_or_else(|| Error::not_found(ResourceType::Project, id))?)
}

impl Datastore {
    /// The project with this name in the silo, or with this id in any silo.
    pub async fn project_fetch(&self, silo_id: Uuid, selector: NameOrId) -> Result<Project, Error> {
        self.statement("project", move |conn| {
            let query = project::table
                .filter(project::time_deleted.is_null())
                .select(Project::as_select())
                .into_boxed();
            let query = match &selector {
                NameOrId::Id(id) => query.filter(project::id.eq(*id)),
                NameOrId::Name(name) => query
                    .filter(project::silo_id.eq(silo_id))
                    .filter(project::name.eq(name.as_str())),
            };
            let found = query.first(conn).optional()?;
            Ok(found.ok_or_else(|| Error::not_found(ResourceType::Project, &selector))?)
        })
        .await
    }

    /// A page of a silo's projects.
    pub async fn project_list(&self, silo_id: Uuid, page: PageBy) -> Result<Vec<Project>, Error> {
        self.statement("projects", move |conn| {
            let mine = project::silo_id.eq(silo_id).and(project::time_deleted.is_null());
            Ok(page_by!(conn, project, Project, mine, &page)?)
        })
        .await
    }

    /// Makes a project, with its default VPC and that one's default subnet as wanted.
    pub async fn project_create(
        &self,
        row: Project,
        default_vpc: Option<DefaultSubnet>,
    ) -> Result<Project, Error> {
        self.transaction("create project", move |conn| {
            live_silo(conn, row.silo_id)?;
            diesel::insert_into(project::table).values(&row).execute(conn).map_err(taken(
                "project_name",
                ResourceType::Project,
                &row.name,
            ))?;
            if let Some(subnet) = default_vpc {
                insert_vpc(conn, NewVpc::default_of(row.id, subnet))?;
            }
            Ok(row.clone())
        })
        .await
    }

    /// Renames a project, or changes its description.
    pub async fn project_update(&self, id: Uuid, change: IdentityUpdate) -> Result<Project, Error> {
        self.transaction("update project", move |conn| {
            let old = live_project(conn, id)?;
            let name = change.name.clone().unwrap_or(old.name);
            let updated = diesel::update(project::table.filter(project::id.eq(id)))
                .set((
                    project::name.eq(&name),
                    project::description.eq(change.description.clone().unwrap_or(old.description)),
                    project::time_modified.eq(now()),
                ))
                .returning(Project::as_returning())
                .get_result(conn)
                .map_err(taken("project_name", ResourceType::Project, &name))?;
            Ok(updated)
        })
        .await
    }

    /// Deletes a project that holds nothing.
    pub async fn project_delete(&self, id: Uuid) -> Result<(), Error> {
        self.transaction("delete project", move |conn| {
            live_project(conn, id)?;
            if let Some(held) = first_child(conn, id)? {
                let message = format!("project to be deleted contains {held}");
                return Err(Error::invalid(message).into());
            }
            delete_default_vpc(conn, id)?;
            diesel::update(project::table.filter(project::id.eq(id)))
                .set(project::time_deleted.eq(Some(now())))
                .execute(conn)?;
            delete_policy(conn, PolicyOf { kind: ResourceKind::Project, id })?;
            Ok(())
        })
        .await
    }
}

/// The default VPC came with the project, and goes with it: no interface is left in it.
fn delete_default_vpc(conn: &mut PgConnection, project_id: Uuid) -> QueryResult<()> {
    let found: Option<Uuid> = vpc::table
        .filter(vpc::project_id.eq(project_id))
        .filter(vpc::name.eq(DEFAULT_VPC))
        .filter(vpc::time_deleted.is_null())
        .select(vpc::id)
        .first(conn)
        .optional()?;
    let Some(id) = found else { return Ok(()) };
    diesel::update(
        vpc_subnet::table
            .filter(vpc_subnet::vpc_id.eq(id))
            .filter(vpc_subnet::time_deleted.is_null()),
    )
    .set(vpc_subnet::time_deleted.eq(Some(now())))
    .execute(conn)?;
    delete_vpc(conn, id)
}

/// Something that the project holds, in the words of the refusal to delete it.
fn first_child(conn: &mut PgConnection, id: Uuid) -> QueryResult<Option<String>> {
    macro_rules! child {
        ($phrase:literal, $table:ident, $name:expr, $condition:expr) => {
            let name: Option<String> = $table::table
                .filter($table::project_id.eq(id))
                .filter($table::time_deleted.is_null())
                .filter($condition)
                .order($name)
                .select($name)
                .first(conn)
                .optional()?;
            if let Some(name) = name {
                return Ok(Some(format!("{}: {}", $phrase, name)));
            }
        };
    }
    child!("an instance", instance, instance::name, instance::project_id.eq(id));
    child!("a disk", disk, disk::name, disk::project_id.eq(id));
    child!(
        "a floating ip",
        external_ip,
        external_ip::name.assume_not_null(),
        external_ip::kind.eq(IpKind::Floating)
    );
    child!("a project image", image, image::name, image::project_id.eq(id));
    child!("a snapshot", snapshot, snapshot::name, snapshot::project_id.eq(id));
    child!("a vpc", vpc, vpc::name, vpc::name.ne(DEFAULT_VPC));
    Ok(None)
}
