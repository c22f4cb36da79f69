//! Policies: who holds which role on what.

use super::Datastore;
use super::error::TxResult;
use super::project::live_project;
use super::silo::live_silo;
use db_model::schema::role_assignment;
use db_model::{IdentityType, ResourceKind, Role, RoleAssignment};
use diesel::prelude::*;
use nexus_common::Error;
use uuid::Uuid;

/// What roles are held on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyOf {
    pub kind: ResourceKind,
    pub id: Uuid,
}

/// Who is to hold which role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assignment {
    pub identity_type: IdentityType,
    pub identity_id: Uuid,
    pub role: Role,
}

fn load(conn: &mut PgConnection, of: PolicyOf) -> TxResult<Vec<RoleAssignment>> {
    Ok(role_assignment::table
        .filter(role_assignment::resource_type.eq(of.kind))
        .filter(role_assignment::resource_id.eq(of.id))
        .order((role_assignment::role_name.asc(), role_assignment::identity_id.asc()))
        .select(RoleAssignment::as_select())
        .load(conn)?)
}

impl Datastore {
    /// The roles on an object, by role and holder.
    pub async fn policy_fetch(&self, of: PolicyOf) -> Result<Vec<RoleAssignment>, Error> {
        self.statement("policy", move |conn| load(conn, of)).await
    }

    /// Replaces the roles on an object. Returns them as they are then.
    pub async fn policy_replace(
        &self,
        of: PolicyOf,
        assignments: Vec<Assignment>,
    ) -> Result<Vec<RoleAssignment>, Error> {
        self.transaction("replace policy", move |conn| {
            match of.kind {
                ResourceKind::Fleet => {}
                ResourceKind::Silo => {
                    live_silo(conn, of.id)?;
                }
                ResourceKind::Project => {
                    live_project(conn, of.id)?;
                }
            }
            delete_policy(conn, of)?;
            let rows: Vec<RoleAssignment> = assignments
                .iter()
                .map(|assignment| RoleAssignment {
                    resource_type: of.kind,
                    resource_id: of.id,
                    role_name: assignment.role,
                    identity_type: assignment.identity_type,
                    identity_id: assignment.identity_id,
                })
                .collect();
            diesel::insert_into(role_assignment::table)
                .values(&rows)
                .on_conflict_do_nothing()
                .execute(conn)?;
            load(conn, of)
        })
        .await
    }
}

/// Takes all roles on an object from their holders.
pub(super) fn delete_policy(conn: &mut PgConnection, of: PolicyOf) -> TxResult<()> {
    let held =
        role_assignment::resource_type.eq(of.kind).and(role_assignment::resource_id.eq(of.id));
    diesel::delete(role_assignment::table.filter(held)).execute(conn)?;
    Ok(())
}
