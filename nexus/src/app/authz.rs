//! Who may do what: the one place that answers it.
//!
//! A role is held on the fleet, on a silo, or on a project, by a user or by a group of users.
//! Roles on a silo reach into its projects: the admin and the collaborator of a silo are admins of
//! its projects, its limited collaborator and viewer are the same there. Roles on the fleet give
//! nothing inside silos; a silo may say that some of its own roles come with roles on the fleet.
//!
//! | | viewer | limited collaborator | collaborator | admin |
//! | --- | --- | --- | --- | --- |
//! | project | read, list | + create | | + modify, delete |
//! | floating IP, instance, disk, snapshot, image, network interface | read, list | create, modify, delete | | |
//! | VPC, subnet | read, list | | create, modify, delete | |
//! | image of one's silo | read, list | | create, modify, delete | |
//! | silo (one's own) | read, list | | + create projects | + modify, delete |
//! | users of one's own silo | read, list (also without a role) | | | create, modify, delete |
//! | of the fleet: silos | read, list | | create, modify, delete | |
//! | of the fleet: users of any silo | read, list | | | create, modify, delete |
//! | of the fleet: pools, links, the fleet's policy | read, list | | | create, modify, delete |
//!
//! Every user may see the silo that it belongs to, may do everything to itself and to its SSH
//! keys, which are nobody else's to see, and may allocate from the pools that are linked to its
//! silo. `docs/roles.md` says the same of each operation.
//!
//! An operation asks once for each object that it is about, by looking it up (see `lookup`).
//! An object that the actor may not read does not exist for the actor.

use super::OpContext;
use db_model::{FLEET_ID, ResourceKind, Role, RoleAssignment};
use nexus_common::Error;
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// What is to be done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Read,
    ListChildren,
    CreateChild,
    Modify,
    Delete,
}

/// What it is to be done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// What belongs to no silo: the fleet's policy, the list of silos, built-in users.
    Fleet,
    /// An IP pool and its links, as operators see them; or all of them.
    IpPool,
    Silo {
        id: Uuid,
    },
    /// The users and groups of a silo, as a whole.
    SiloUsers {
        silo_id: Uuid,
    },
    /// A user of a silo, with its credentials.
    SiloUser {
        silo_id: Uuid,
        id: Uuid,
    },
    Project {
        silo_id: Uuid,
        id: Uuid,
    },
    /// What belongs to a silo as a whole and is used by its projects: images.
    InSilo {
        silo_id: Uuid,
    },
    /// What limited collaborators may change.
    InProject {
        silo_id: Uuid,
        project_id: Uuid,
    },
    /// What only full collaborators may change.
    NetworkInProject {
        silo_id: Uuid,
        project_id: Uuid,
    },
}

/// The roles of one user: the highest on each object.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    user_id: Uuid,
    silo_id: Uuid,
    fleet: Option<Role>,
    silo: Option<Role>,
    projects: BTreeMap<Uuid, Role>,
}

impl Roles {
    /// The roles of a user of a silo, as assigned. `fleet_roles` says which roles on the fleet
    /// come with a role on the silo.
    pub fn new(
        user_id: Uuid,
        silo_id: Uuid,
        fleet_roles: &BTreeMap<Role, BTreeSet<Role>>,
        assigned: &[RoleAssignment],
    ) -> Self {
        let mut roles = Roles { user_id, silo_id, ..Default::default() };
        for assignment in assigned {
            let role = Some(assignment.role_name);
            match assignment.resource_type {
                ResourceKind::Fleet if assignment.resource_id == FLEET_ID => {
                    roles.fleet = roles.fleet.max(role);
                }
                ResourceKind::Silo if assignment.resource_id == silo_id => {
                    roles.silo = roles.silo.max(role);
                }
                ResourceKind::Project => {
                    let held = roles.projects.entry(assignment.resource_id);
                    let held = held.or_insert(assignment.role_name);
                    *held = (*held).max(assignment.role_name);
                }
                ResourceKind::Fleet | ResourceKind::Silo => {}
            }
        }
        if let Some(held) = roles.silo {
            let mapped = fleet_roles.range(..=held).flat_map(|(_, fleet)| fleet).max().copied();
            roles.fleet = roles.fleet.max(mapped);
        }
        roles
    }

    /// The highest role on a project, with what the silo's gives.
    fn on_project(&self, silo_id: Uuid, project_id: Uuid) -> Option<Role> {
        if silo_id != self.silo_id {
            return None;
        }
        let from_silo = self.silo.map(|role| match role {
            Role::Admin | Role::Collaborator => Role::Admin,
            other => other,
        });
        from_silo.max(self.projects.get(&project_id).copied())
    }

    /// Whether the user is an operator who may look.
    pub fn is_fleet_viewer(&self) -> bool {
        self.fleet >= Some(Role::Viewer)
    }

    /// Whether the user is the admin of the silo.
    pub fn is_silo_admin(&self) -> bool {
        self.silo == Some(Role::Admin)
    }

    /// Whether the roles let the user do this.
    pub fn allow(&self, action: Action, object: Object) -> bool {
        use Action::*;
        let (role, least) = match object {
            Object::Fleet => (
                self.fleet,
                match action {
                    Read | ListChildren => Role::Viewer,
                    CreateChild => Role::Collaborator,
                    Modify | Delete => Role::Admin,
                },
            ),
            Object::IpPool => (
                self.fleet,
                match action {
                    Read | ListChildren => Role::Viewer,
                    CreateChild | Modify | Delete => Role::Admin,
                },
            ),
            Object::Silo { id } => return self.allow_silo(action, id),
            Object::InSilo { silo_id } => (
                self.on_silo(silo_id),
                match action {
                    Read | ListChildren => Role::Viewer,
                    CreateChild | Modify | Delete => Role::Collaborator,
                },
            ),
            Object::SiloUsers { silo_id } => return self.allow_users(action, silo_id),
            Object::SiloUser { id, .. } if id == self.user_id => return true,
            Object::SiloUser { silo_id, .. } => return self.allow_users(action, silo_id),
            Object::Project { silo_id, id } => (
                self.on_project(silo_id, id),
                match action {
                    Read | ListChildren => Role::Viewer,
                    CreateChild => Role::LimitedCollaborator,
                    Modify | Delete => Role::Admin,
                },
            ),
            Object::InProject { silo_id, project_id } => (
                self.on_project(silo_id, project_id),
                match action {
                    Read | ListChildren => Role::Viewer,
                    CreateChild | Modify | Delete => Role::LimitedCollaborator,
                },
            ),
            Object::NetworkInProject { silo_id, project_id } => (
                self.on_project(silo_id, project_id),
                match action {
                    Read | ListChildren => Role::Viewer,
                    CreateChild | Modify | Delete => Role::Collaborator,
                },
            ),
        };
        role >= Some(least)
    }

    /// The role on a silo: the user's own, or none.
    fn on_silo(&self, id: Uuid) -> Option<Role> {
        if id == self.silo_id { self.silo } else { None }
    }

    fn allow_silo(&self, action: Action, id: Uuid) -> bool {
        let (least, of_fleet) = match action {
            // Every user may see the silo that it belongs to.
            Action::Read if id == self.silo_id => return true,
            Action::Read => (Role::Viewer, Some(Role::Viewer)),
            // What is in a silo is nothing of the fleet's.
            Action::ListChildren => (Role::Viewer, None),
            Action::CreateChild => (Role::Collaborator, None),
            Action::Modify | Action::Delete => (Role::Admin, Some(Role::Collaborator)),
        };
        self.on_silo(id) >= Some(least) || of_fleet.is_some_and(|role| self.fleet >= Some(role))
    }

    fn allow_users(&self, action: Action, silo_id: Uuid) -> bool {
        match action {
            Action::Read | Action::ListChildren => self.allow_silo(Action::Read, silo_id),
            Action::CreateChild | Action::Modify | Action::Delete => {
                self.on_silo(silo_id) == Some(Role::Admin) || self.fleet == Some(Role::Admin)
            }
        }
    }
}

impl OpContext {
    /// Asks whether the actor may do this to an object that is hidden from those who may not read
    /// it: to them, `missing` is the answer.
    pub(crate) fn authorize(
        &self,
        action: Action,
        object: Object,
        missing: impl FnOnce() -> Error,
    ) -> Result<(), Error> {
        let roles = &self.actor()?.roles;
        if roles.allow(action, object) {
            Ok(())
        } else if roles.allow(Action::Read, object) {
            Err(Error::Forbidden)
        } else {
            Err(missing())
        }
    }

    /// Asks whether the actor may do this to the fleet or to a silo, whose existence is no
    /// secret.
    pub(crate) fn authorize_open(&self, action: Action, object: Object) -> Result<(), Error> {
        self.authorize(action, object, || Error::Forbidden)
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use db_model::IdentityType;

    const SILO: Uuid = Uuid::from_u128(1);
    const OTHER_SILO: Uuid = Uuid::from_u128(2);
    const PROJECT: Uuid = Uuid::from_u128(3);
    const USER: Uuid = Uuid::from_u128(4);

    fn roles(resource_type: ResourceKind, resource_id: Uuid, role_name: Role) -> Roles {
        let assignment = RoleAssignment {
            resource_type,
            resource_id,
            role_name,
            identity_type: IdentityType::SiloUser,
            identity_id: USER,
        };
        let mapped = BTreeMap::from([(Role::Collaborator, BTreeSet::from([Role::Viewer]))]);
        Roles::new(USER, SILO, &mapped, &[assignment])
    }

    const INSTANCE: Object = Object::InProject { silo_id: SILO, project_id: PROJECT };
    const VPC: Object = Object::NetworkInProject { silo_id: SILO, project_id: PROJECT };

    #[test]
    fn fleet_roles_give_nothing_inside_silos() {
        let operator = roles(ResourceKind::Fleet, FLEET_ID, Role::Admin);
        assert!(operator.allow(Action::Modify, Object::Fleet));
        assert!(!operator.allow(Action::Read, INSTANCE));
    }

    #[test]
    fn silo_roles_reach_into_the_silo_s_projects_alone() {
        let collaborator = roles(ResourceKind::Silo, SILO, Role::LimitedCollaborator);
        assert!(!collaborator.allow(Action::Read, Object::Fleet));
        let collaborator = roles(ResourceKind::Silo, SILO, Role::Collaborator);
        assert!(collaborator.allow(Action::Delete, Object::Project { silo_id: SILO, id: PROJECT }));
        let foreign = Object::Project { silo_id: OTHER_SILO, id: PROJECT };
        assert!(!collaborator.allow(Action::Read, foreign));
    }

    #[test]
    fn a_limited_collaborator_leaves_networks_alone() {
        let limited = roles(ResourceKind::Project, PROJECT, Role::LimitedCollaborator);
        assert!(limited.allow(Action::Modify, INSTANCE));
        assert!(limited.allow(Action::Read, VPC));
        assert!(!limited.allow(Action::Modify, VPC));
    }

    #[test]
    fn images_of_the_silo_are_for_its_collaborators_to_change() {
        let image = Object::InSilo { silo_id: SILO };
        let collaborator = roles(ResourceKind::Silo, SILO, Role::Collaborator);
        assert!(collaborator.allow(Action::CreateChild, image));
        assert!(!collaborator.allow(Action::Read, Object::InSilo { silo_id: OTHER_SILO }));
        let limited = roles(ResourceKind::Silo, SILO, Role::LimitedCollaborator);
        assert!(limited.allow(Action::Read, image));
        assert!(!limited.allow(Action::Modify, image));
    }

    #[test]
    fn a_viewer_looks() {
        let viewer = roles(ResourceKind::Project, PROJECT, Role::Viewer);
        assert!(viewer.allow(Action::Read, INSTANCE));
        assert!(!viewer.allow(Action::Modify, INSTANCE));
        assert!(viewer.allow(Action::Read, Object::Silo { id: SILO }));
        assert!(!viewer.allow(Action::ListChildren, Object::Silo { id: SILO }));
    }

    #[test]
    fn a_silo_may_map_its_roles_to_the_fleet() {
        for (role, looks) in
            [(Role::Viewer, false), (Role::Collaborator, true), (Role::Admin, true)]
        {
            let held = roles(ResourceKind::Silo, SILO, role);
            assert_eq!(held.allow(Action::Read, Object::Fleet), looks, "{role}");
            assert!(!held.allow(Action::Modify, Object::Fleet));
        }
    }

    #[test]
    fn users_manage_themselves_and_admins_all() {
        let nobody_else = Uuid::from_u128(5);
        let (me, other) = (
            Object::SiloUser { silo_id: SILO, id: USER },
            Object::SiloUser { silo_id: SILO, id: nobody_else },
        );
        let viewer = roles(ResourceKind::Silo, SILO, Role::Viewer);
        assert!(viewer.allow(Action::Modify, me));
        assert!(viewer.allow(Action::Read, other));
        assert!(!viewer.allow(Action::Modify, other));
        assert!(roles(ResourceKind::Silo, SILO, Role::Admin).allow(Action::Modify, other));
        assert!(roles(ResourceKind::Fleet, FLEET_ID, Role::Admin).allow(Action::Delete, other));
        let foreign = Object::SiloUsers { silo_id: OTHER_SILO };
        assert!(!viewer.allow(Action::Read, foreign));
    }
}
