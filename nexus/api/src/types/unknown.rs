//! Refusal of unknown fields in a type that has flattened ones.

use schemars::JsonSchema;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

/// Stands for the fields that a type does not have, and refuses each of them by its name.
///
/// serde's own `deny_unknown_fields` does not work beside `flatten`. This does: flattened as a
/// type's *last* field, it is given whatever the other fields have left over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
pub struct NoOtherFields {}

impl<'de> Deserialize<'de> for NoOtherFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Leftovers;

        impl<'de> Visitor<'de> for Leftovers {
            type Value = NoOtherFields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("no other fields")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NoOtherFields, A::Error> {
                match map.next_key::<String>()? {
                    None => Ok(NoOtherFields {}),
                    Some(key) => Err(de::Error::custom(format!("unknown field `{key}`"))),
                }
            }
        }

        deserializer.deserialize_map(Leftovers)
    }
}
