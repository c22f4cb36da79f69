//! Paths and selectors: how a request names what it is about.
//!
//! Paths are the `{…}` of a URL. Selectors are query parameters that say where a name is looked
//! up; with an id they must be absent. Whether the two fit is for the handlers to say.

use super::{IpPoolAssignment, IpPoolType};
use nexus_common::{IpVersion, NameOrId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Reads query parameters so that what is wrong with one names it. A query string is one line in
/// which a client may have put the quotes of its shell anywhere.
pub(crate) mod named {
    use serde::{Deserialize, Deserializer, de};

    macro_rules! named {
        ($($name:ident),+) => {
            $(pub fn $name<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
                deserializer: D,
            ) -> Result<T, D::Error> {
                T::deserialize(deserializer).map_err(|error| {
                    de::Error::custom(format!(concat!("`", stringify!($name), "`: {}"), error))
                })
            })+
        };
    }

    named!(assignment, group, instance, ip_version, pool_type, project, silo, vpc, sort_by);
}

/// A project.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct ProjectPath {
    /// Name or ID of the project
    pub project: NameOrId,
}

/// The project in which something is created or listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectSelector {
    /// Name or ID of the project
    #[serde(deserialize_with = "named::project")]
    pub project: NameOrId,
}

/// The project in which a name is looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OptionalProjectSelector {
    /// Name or ID of the project; required with a name, refused with an id
    #[serde(default, deserialize_with = "named::project")]
    pub project: Option<NameOrId>,
}

/// A floating IP.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct FloatingIpPath {
    /// Name or ID of the floating IP
    pub floating_ip: NameOrId,
}

/// An instance.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct InstancePath {
    /// Name or ID of the instance
    pub instance: NameOrId,
}

/// The instance whose interfaces are listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstanceSelector {
    /// Name or ID of the project; required with the name of an instance, refused with an id
    #[serde(default, deserialize_with = "named::project")]
    pub project: Option<NameOrId>,
    /// Name or ID of the instance
    #[serde(deserialize_with = "named::instance")]
    pub instance: NameOrId,
}

/// The instance among whose interfaces a name is looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OptionalInstanceSelector {
    /// Name or ID of the project; required with the name of an instance, refused otherwise
    #[serde(default, deserialize_with = "named::project")]
    pub project: Option<NameOrId>,
    /// Name or ID of the instance; required with a name, refused with an id
    #[serde(default, deserialize_with = "named::instance")]
    pub instance: Option<NameOrId>,
}

/// Which ephemeral address of an instance is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EphemeralIpDetachSelector {
    /// Name or ID of the project; required with a name, refused with an id
    #[serde(default, deserialize_with = "named::project")]
    pub project: Option<NameOrId>,
    /// The IP version of the address; required where the instance has an ephemeral address of
    /// each version
    #[serde(default, deserialize_with = "named::ip_version")]
    pub ip_version: Option<IpVersion>,
}

/// A disk.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct DiskPath {
    /// Name or ID of the disk
    pub disk: NameOrId,
}

/// A snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct SnapshotPath {
    /// Name or ID of the snapshot
    pub snapshot: NameOrId,
}

/// An image.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct ImagePath {
    /// Name or ID of the image
    pub image: NameOrId,
}

/// Whose images are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImageSelector {
    /// Name or ID of the project; absent for the images of the silo, refused with an id of an
    /// image
    #[serde(default, deserialize_with = "named::project")]
    pub project: Option<NameOrId>,
}

/// An SSH key of the user.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct SshKeyPath {
    /// Name or ID of the SSH key
    pub ssh_key: NameOrId,
}

/// A sled.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct SledPath {
    /// ID of the sled
    pub sled_id: Uuid,
}

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct InterfacePath {
    /// Name or ID of the network interface
    pub interface: NameOrId,
}

/// A VPC.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct VpcPath {
    /// Name or ID of the VPC
    pub vpc: NameOrId,
}

/// A subnet.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct SubnetPath {
    /// Name or ID of the subnet
    pub subnet: NameOrId,
}

/// The VPC whose subnets are listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VpcSelector {
    /// Name or ID of the project; required with the name of a VPC, refused with an id
    #[serde(default, deserialize_with = "named::project")]
    pub project: Option<NameOrId>,
    /// Name or ID of the VPC
    #[serde(deserialize_with = "named::vpc")]
    pub vpc: NameOrId,
}

/// The VPC in which a name is looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OptionalVpcSelector {
    /// Name or ID of the project; required with the name of a VPC, refused otherwise
    #[serde(default, deserialize_with = "named::project")]
    pub project: Option<NameOrId>,
    /// Name or ID of the VPC; required with a name, refused with an id
    #[serde(default, deserialize_with = "named::vpc")]
    pub vpc: Option<NameOrId>,
}

/// An IP pool.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct IpPoolPath {
    /// Name or ID of the IP pool
    pub pool: NameOrId,
}

/// Which of a silo's IP pools are listed. What is absent excludes none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SiloIpPoolFilter {
    /// Only pools of this IP version
    #[serde(default, deserialize_with = "named::ip_version")]
    pub ip_version: Option<IpVersion>,
    /// Only pools of this type
    #[serde(default, deserialize_with = "named::pool_type")]
    pub pool_type: Option<IpPoolType>,
}

/// Which of all IP pools are listed. What is absent excludes none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IpPoolFilter {
    /// Only pools of this IP version
    #[serde(default, deserialize_with = "named::ip_version")]
    pub ip_version: Option<IpVersion>,
    /// Only pools of this type
    #[serde(default, deserialize_with = "named::pool_type")]
    pub pool_type: Option<IpPoolType>,
    /// Only pools of this assignment
    #[serde(default, deserialize_with = "named::assignment")]
    pub assignment: Option<IpPoolAssignment>,
}

/// A silo to which an IP pool is linked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct IpPoolSiloPath {
    /// Name or ID of the IP pool
    pub pool: NameOrId,
    /// Name or ID of the silo
    pub silo: NameOrId,
}

/// A silo.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct SiloPath {
    /// Name or ID of the silo
    pub silo: NameOrId,
}

/// A silo whose users are meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SiloSelector {
    /// Name or ID of the silo
    #[serde(deserialize_with = "named::silo")]
    pub silo: NameOrId,
}

/// A user of a silo.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct UserPath {
    /// ID of the user
    pub user_id: Uuid,
}

/// A group of a silo.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct GroupPath {
    /// ID of the group
    pub group_id: Uuid,
}

/// An API token.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct TokenPath {
    /// ID of the token
    pub token_id: Uuid,
}

/// A user that is part of the system itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct BuiltinUserPath {
    /// Name or ID of the user
    pub user: NameOrId,
}

/// Which of a silo's users are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GroupFilter {
    /// Only members of this group
    #[serde(default, deserialize_with = "named::group")]
    pub group: Option<Uuid>,
}

/// The rest of the path of a page or of a file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct PagePath {
    /// The segments
    pub path: Vec<String>,
}

/// A silo, as the path of a login page names it; there need not be one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct LoginPagePath {
    /// The silo's name
    pub silo_name: String,
}

/// A silo and an identity provider, as the path of a login page names them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct LoginSamlPagePath {
    /// The silo's name
    pub silo_name: String,
    /// The identity provider's name
    pub provider_name: String,
}

/// Where people want to go once they have logged in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct LoginPageQuery {
    /// A path on this server
    pub redirect_uri: Option<String>,
}
