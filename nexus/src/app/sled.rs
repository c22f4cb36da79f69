//! Sleds, as they register themselves.

use super::Nexus;
use db_model::Sled;
use nexus_common::Error;
use uuid::Uuid;

impl Nexus {
    /// Takes in a sled's registration.
    pub async fn sled_register(&self, sled: Sled) -> Result<(), Error> {
        self.datastore.sled_upsert(sled).await
    }

    /// A sled.
    pub async fn sled(&self, id: Uuid) -> Result<Sled, Error> {
        self.datastore.sled_fetch(id).await
    }
}
