//! Sleds, as their agents register them.

use super::{Datastore, now};
use db_model::Sled;
use db_model::schema::sled;
use diesel::prelude::*;
use nexus_common::{Error, ResourceType};
use uuid::Uuid;

/// The most sleds that are listed at once. A rack has at most 32.
const MAX_SLEDS: i64 = 1000;

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
                    let time_created = sled::table
                        .filter(sled::id.eq(row.id))
                        .select(sled::time_created)
                        .first(conn)?;
                    diesel::update(sled::table.filter(sled::id.eq(row.id)))
                        .set(&Sled { time_created, time_modified: now(), ..row.clone() })
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

    /// All sleds.
    pub async fn sled_list(&self) -> Result<Vec<Sled>, Error> {
        self.statement("sleds", |conn| {
            Ok(sled::table.order(sled::id).limit(MAX_SLEDS).select(Sled::as_select()).load(conn)?)
        })
        .await
    }
}
