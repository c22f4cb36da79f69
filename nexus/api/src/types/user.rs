//! Users.

use chrono::{DateTime, Utc};
use nexus_common::Name;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The user as whom a request was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CurrentUser {
    /// The user's id.
    pub id: Uuid,
    /// What to call the user.
    pub display_name: String,
    /// When the user was created.
    pub time_created: DateTime<Utc>,
    /// When the user was last changed.
    pub time_modified: DateTime<Utc>,
    /// The silo to which the user belongs.
    pub silo_id: Uuid,
    /// The name of that silo.
    pub silo_name: Name,
    /// Whether the user may see the fleet: silos, IP pools of the whole rack. A hint for user
    /// interfaces; what the user may do is decided at each request.
    pub fleet_viewer: bool,
    /// Whether the user may administer the silo. A hint for user interfaces, as above.
    pub silo_admin: bool,
}
