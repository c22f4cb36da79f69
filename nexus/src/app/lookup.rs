//! From what a request names to the object that it means, for an actor who may do this to it.
//!
//! A name is looked up in its parent, an id on its own; both at once, or a name without a parent,
//! are refused. An object of another silo is not found, in the words for one that does not exist.

use super::Nexus;
use super::authz::{Action, Object};
use super::context::OpContext;
use crate::db::image::ImageOwner;
use crate::db::instance::InstanceAndVmm;
use db_model::{
    Disk, ExternalIp, Image, Instance, NetworkInterface, Project, Snapshot, Vpc, VpcSubnet,
};
use nexus_common::{Error, NameOrId, ResourceType};
use uuid::Uuid;

/// An object in a project, as a request names it.
#[derive(Clone, Debug)]
pub struct Selector {
    pub object: NameOrId,
    pub project: Option<NameOrId>,
}

impl Selector {
    pub fn new(object: NameOrId, project: Option<NameOrId>) -> Self {
        Selector { object, project }
    }
}

fn in_project(project: &Project) -> Object {
    Object::InProject { silo_id: project.silo_id, project_id: project.id }
}

fn network_in_project(project: &Project) -> Object {
    Object::NetworkInProject { silo_id: project.silo_id, project_id: project.id }
}

/// A subnet, as a request names it.
#[derive(Clone, Debug)]
pub struct SubnetSelector {
    pub subnet: NameOrId,
    pub vpc: Option<NameOrId>,
    pub project: Option<NameOrId>,
}

/// A network interface, as a request names it.
#[derive(Clone, Debug)]
pub struct NicSelector {
    pub interface: NameOrId,
    pub instance: Option<NameOrId>,
    pub project: Option<NameOrId>,
}

impl Nexus {
    /// A project, for an actor who may do this to it.
    pub async fn project(
        &self,
        opctx: &OpContext,
        selector: &NameOrId,
        action: Action,
    ) -> Result<Project, Error> {
        let silo_id = opctx.actor()?.silo_id;
        let project = self.datastore.project_fetch(silo_id, selector.clone()).await?;
        let object = Object::Project { silo_id: project.silo_id, id: project.id };
        let missing = || Error::not_found(ResourceType::Project, selector);
        opctx.authorize(action, object, missing)?;
        Ok(project)
    }

    /// A project, for an actor who may make networks in it.
    pub(super) async fn project_for_networks(
        &self,
        opctx: &OpContext,
        selector: &NameOrId,
    ) -> Result<Project, Error> {
        let silo_id = opctx.actor()?.silo_id;
        let project = self.datastore.project_fetch(silo_id, selector.clone()).await?;
        let missing = || Error::not_found(ResourceType::Project, selector);
        opctx.authorize(Action::CreateChild, network_in_project(&project), missing)?;
        Ok(project)
    }

    /// A project in which something is looked up. One that the actor may not read is not found,
    /// so that what is said of a name in it does not tell that it exists.
    async fn parent_project(
        &self,
        opctx: &OpContext,
        selector: &NameOrId,
    ) -> Result<Project, Error> {
        self.project(opctx, selector, Action::Read).await
    }

    /// The project's id, if the request names a project as it must for a name, and only then.
    async fn parent_of(
        &self,
        opctx: &OpContext,
        selector: &Selector,
        what: &str,
    ) -> Result<Option<Uuid>, Error> {
        match (&selector.object, &selector.project) {
            (NameOrId::Id(_), None) => {
                opctx.actor()?;
                Ok(None)
            }
            (NameOrId::Id(_), Some(_)) => Err(Error::invalid(format!(
                "when providing {what} as an ID project should not be specified"
            ))),
            (NameOrId::Name(_), Some(project)) => {
                Ok(Some(self.parent_project(opctx, project).await?.id))
            }
            (NameOrId::Name(_), None) => Err(Error::invalid(format!(
                "{what} should either be UUID or project should be specified"
            ))),
        }
    }

    /// The project that a found object is in, for authorization.
    async fn project_of(&self, opctx: &OpContext, project_id: Uuid) -> Result<Project, Error> {
        self.datastore.project_fetch(opctx.actor()?.silo_id, project_id.into()).await
    }

    /// A floating IP, for an actor who may do this to it.
    pub async fn floating_ip(
        &self,
        opctx: &OpContext,
        selector: &Selector,
        action: Action,
    ) -> Result<ExternalIp, Error> {
        let parent = self.parent_of(opctx, selector, "Floating IP").await?;
        let found = self.datastore.floating_ip_fetch(parent, selector.object.clone()).await?;
        let project = self.project_of(opctx, found.project_id).await?;
        let missing = || Error::not_found(ResourceType::FloatingIp, &selector.object);
        opctx.authorize(action, in_project(&project), missing)?;
        Ok(found)
    }

    /// An instance, for an actor who may do this to it.
    pub async fn instance(
        &self,
        opctx: &OpContext,
        selector: &Selector,
        action: Action,
    ) -> Result<InstanceAndVmm, Error> {
        let parent = self.parent_of(opctx, selector, "instance").await?;
        self.instance_in(opctx, parent, &selector.object, action).await
    }

    /// An instance by id, or by name in a project whose id is known.
    pub(super) async fn instance_in(
        &self,
        opctx: &OpContext,
        project_id: Option<Uuid>,
        selector: &NameOrId,
        action: Action,
    ) -> Result<InstanceAndVmm, Error> {
        let found = self.datastore.instance_fetch(project_id, selector.clone()).await?;
        let Instance { silo_id, project_id, .. } = found.instance;
        let missing = || Error::not_found(ResourceType::Instance, selector);
        opctx.authorize(action, Object::InProject { silo_id, project_id }, missing)?;
        Ok(found)
    }

    /// A disk, for an actor who may do this to it.
    pub async fn disk(
        &self,
        opctx: &OpContext,
        selector: &Selector,
        action: Action,
    ) -> Result<Disk, Error> {
        let parent = self.parent_of(opctx, selector, "disk").await?;
        let found = self.datastore.disk_fetch(parent, selector.object.clone()).await?;
        let project = self.project_of(opctx, found.project_id).await?;
        let missing = || Error::not_found(ResourceType::Disk, &selector.object);
        opctx.authorize(action, in_project(&project), missing)?;
        Ok(found)
    }

    /// A disk by id, or by name in a project whose id is known.
    pub(super) async fn disk_in(
        &self,
        opctx: &OpContext,
        project_id: Uuid,
        selector: &NameOrId,
        action: Action,
    ) -> Result<Disk, Error> {
        let found = self.datastore.disk_fetch(Some(project_id), selector.clone()).await?;
        let project = self.project_of(opctx, found.project_id).await?;
        let missing = || Error::not_found(ResourceType::Disk, selector);
        opctx.authorize(action, in_project(&project), missing)?;
        Ok(found)
    }

    /// A snapshot, for an actor who may do this to it.
    pub async fn snapshot(
        &self,
        opctx: &OpContext,
        selector: &Selector,
        action: Action,
    ) -> Result<Snapshot, Error> {
        let parent = match (&selector.object, &selector.project) {
            (NameOrId::Id(_), None) => None,
            (NameOrId::Id(_), Some(_)) => {
                let message = "when providing snapshot as an ID, project should not be specified";
                return Err(Error::invalid(message));
            }
            (NameOrId::Name(_), Some(project)) => {
                Some(self.parent_project(opctx, project).await?.id)
            }
            (NameOrId::Name(_), None) => {
                let message = "snapshot should either be an ID or project should be specified";
                return Err(Error::invalid(message));
            }
        };
        opctx.actor()?;
        let found = self.datastore.snapshot_fetch(parent, selector.object.clone()).await?;
        let project = self.project_of(opctx, found.project_id).await?;
        let missing = || Error::not_found(ResourceType::Snapshot, &selector.object);
        opctx.authorize(action, in_project(&project), missing)?;
        Ok(found)
    }

    /// An image, for an actor who may do this to it. A name without a project is that of an image
    /// of the silo.
    pub async fn image(
        &self,
        opctx: &OpContext,
        selector: &Selector,
        action: Action,
    ) -> Result<Image, Error> {
        let silo_id = opctx.actor()?.silo_id;
        let (found, kind) = match (&selector.object, &selector.project) {
            (NameOrId::Id(id), None) => {
                (self.datastore.image_fetch(*id).await?, ResourceType::Image)
            }
            (NameOrId::Id(_), Some(_)) => {
                let message = "when providing image as an ID, project should not be specified";
                return Err(Error::invalid(message));
            }
            (NameOrId::Name(name), Some(project)) => {
                let owner = ImageOwner::Project(self.parent_project(opctx, project).await?.id);
                let found = self.datastore.image_by_name(owner, name.clone()).await?;
                (found, ResourceType::ProjectImage)
            }
            (NameOrId::Name(name), None) => {
                let owner = ImageOwner::Silo(silo_id);
                let found = self.datastore.image_by_name(owner, name.clone()).await?;
                (found, ResourceType::SiloImage)
            }
        };
        let object = match found.project_id {
            Some(project_id) => Object::InProject { silo_id: found.silo_id, project_id },
            None => Object::InSilo { silo_id: found.silo_id },
        };
        opctx.authorize(action, object, || Error::not_found(kind, &selector.object))?;
        Ok(found)
    }

    /// A VPC, for an actor who may do this to it.
    pub async fn vpc(
        &self,
        opctx: &OpContext,
        selector: &Selector,
        action: Action,
    ) -> Result<Vpc, Error> {
        let parent = match (&selector.object, &selector.project) {
            (NameOrId::Id(_), None) => None,
            (NameOrId::Id(_), Some(_)) => {
                let message = "when providing vpc as an ID, project should not be specified";
                return Err(Error::invalid(message));
            }
            (NameOrId::Name(_), Some(project)) => {
                Some(self.parent_project(opctx, project).await?.id)
            }
            (NameOrId::Name(_), None) => {
                let message = "vpc should either be an ID or project should be specified";
                return Err(Error::invalid(message));
            }
        };
        opctx.actor()?;
        let found = self.datastore.vpc_fetch(parent, selector.object.clone()).await?;
        let project = self.project_of(opctx, found.project_id).await?;
        let missing = || Error::not_found(ResourceType::Vpc, &selector.object);
        opctx.authorize(action, network_in_project(&project), missing)?;
        Ok(found)
    }

    /// A subnet, for an actor who may do this to it.
    pub async fn subnet(
        &self,
        opctx: &OpContext,
        SubnetSelector { subnet, vpc, project }: SubnetSelector,
        action: Action,
    ) -> Result<VpcSubnet, Error> {
        let parent = match (&subnet, vpc) {
            (NameOrId::Id(_), None) if project.is_none() => None,
            (NameOrId::Id(_), _) => {
                let message =
                    "when providing subnet as an ID, vpc and project should not be specified";
                return Err(Error::invalid(message));
            }
            (NameOrId::Name(_), Some(vpc)) => {
                Some(self.vpc(opctx, &Selector::new(vpc, project), Action::Read).await?.id)
            }
            (NameOrId::Name(_), None) => {
                let message = "subnet should either be an ID or vpc should be specified";
                return Err(Error::invalid(message));
            }
        };
        opctx.actor()?;
        let found = self.datastore.subnet_fetch(parent, subnet.clone()).await?;
        let vpc = self.datastore.vpc_fetch(None, found.vpc_id.into()).await?;
        let project = self.project_of(opctx, vpc.project_id).await?;
        let missing = || Error::not_found(ResourceType::VpcSubnet, &subnet);
        opctx.authorize(action, network_in_project(&project), missing)?;
        Ok(found)
    }

    /// A network interface, for an actor who may do this to it.
    pub async fn network_interface(
        &self,
        opctx: &OpContext,
        NicSelector { interface, instance, project }: NicSelector,
        action: Action,
    ) -> Result<NetworkInterface, Error> {
        let parent = match (&interface, instance) {
            (NameOrId::Id(_), None) if project.is_none() => None,
            (NameOrId::Id(_), _) => {
                return Err(Error::invalid(
                    "when providing network_interface as an id instance and project should not \
                     be specified",
                ));
            }
            (NameOrId::Name(_), Some(instance)) => {
                let selector = Selector::new(instance, project);
                Some(self.instance(opctx, &selector, Action::Read).await?.instance.id)
            }
            (NameOrId::Name(_), None) => {
                return Err(Error::invalid(
                    "network_interface should either be a UUID or instance should be specified",
                ));
            }
        };
        opctx.actor()?;
        let found = self.datastore.nic_fetch(parent, interface.clone()).await?;
        let owner = self.datastore.instance_by_id(found.instance_id).await?;
        let Instance { silo_id, project_id, .. } = owner;
        let missing = || Error::not_found(ResourceType::InstanceNetworkInterface, &interface);
        opctx.authorize(action, Object::InProject { silo_id, project_id }, missing)?;
        Ok(found)
    }
}
