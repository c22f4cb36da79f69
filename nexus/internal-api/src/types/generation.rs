//! Generation numbers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Counts the changes of a thing, so that of two reports about it the newer one is known.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "u64")]
pub struct Generation(u64);

impl Generation {
    /// The first.
    pub const FIRST: Generation = Generation(1);

    /// The number.
    pub const fn to_u64(self) -> u64 {
        self.0
    }

    /// The number, as the database stores it.
    pub const fn to_stored(self) -> i64 {
        self.0 as i64
    }

    /// Reads what [`Generation::to_stored`] made.
    pub const fn from_stored(n: i64) -> Self {
        Generation(n.unsigned_abs())
    }

    /// The one after this.
    pub const fn next(self) -> Self {
        Generation(self.0 + 1)
    }
}

impl TryFrom<u64> for Generation {
    type Error = String;
    fn try_from(n: u64) -> Result<Self, String> {
        // `next` must have somewhere to go, and the database has no numbers beyond this.
        if n >= i64::MAX as u64 {
            return Err("generation number too large".to_string());
        }
        Ok(Generation(n))
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn every_generation_has_a_next_that_can_be_stored() {
        let last = Generation::try_from(i64::MAX as u64 - 1).expect("the last");
        assert_eq!(last.next().to_stored(), i64::MAX);
        Generation::try_from(i64::MAX as u64).expect_err("one too many");
        serde_json::from_str::<Generation>("9223372036854775807").expect_err("one too many");
    }
}
