//! Sizes in bytes.

use schemars::JsonSchema;
use schemars::r#gen::SchemaGenerator;
use schemars::schema::{InstanceType, Metadata, NumberValidation, Schema, SchemaObject};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A number of bytes that fits the database's signed 64-bit integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct ByteCount(u64);

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;

impl ByteCount {
    /// `n` × 2³⁰ bytes.
    pub const fn from_gibibytes(n: u32) -> Self {
        ByteCount(n as u64 * GIB)
    }

    /// The number of bytes.
    pub const fn to_bytes(self) -> u64 {
        self.0
    }

    /// The number of bytes, as the database stores it.
    pub const fn to_stored(self) -> i64 {
        self.0 as i64
    }

    /// Reads what [`ByteCount::to_stored`] made.
    pub const fn from_stored(n: i64) -> Self {
        ByteCount(n.unsigned_abs())
    }

    /// Whether this is a whole multiple of `unit`.
    pub const fn is_multiple_of(self, unit: ByteCount) -> bool {
        self.0.is_multiple_of(unit.0)
    }
}

impl TryFrom<u64> for ByteCount {
    type Error = String;
    fn try_from(n: u64) -> Result<Self, String> {
        if n > i64::MAX as u64 {
            return Err("value is too large for a byte count".to_string());
        }
        Ok(ByteCount(n))
    }
}

impl From<u32> for ByteCount {
    fn from(n: u32) -> Self {
        ByteCount(n.into())
    }
}

impl From<ByteCount> for u64 {
    fn from(n: ByteCount) -> u64 {
        n.0
    }
}

/// Prints in the largest binary unit that is exact: `1 GiB`, `1536 GiB`, `512 B`.
impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, name) in [(TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")] {
            if self.0 >= unit && self.0.is_multiple_of(unit) {
                return write!(f, "{} {}", self.0 / unit, name);
            }
        }
        write!(f, "{} B", self.0)
    }
}

impl JsonSchema for ByteCount {
    fn schema_name() -> String {
        "ByteCount".to_string()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        SchemaObject {
            metadata: Some(Box::new(Metadata {
                description: Some("Byte count to express memory or storage capacity.".to_string()),
                ..Default::default()
            })),
            instance_type: Some(InstanceType::Integer.into()),
            format: Some("uint64".to_string()),
            number: Some(Box::new(NumberValidation { minimum: Some(0.0), ..Default::default() })),
            ..Default::default()
        }
        .into()
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn prints_the_largest_exact_unit() {
        let show = |n: u64| ByteCount::try_from(n).expect("small").to_string();
        assert_eq!(show(512), "512 B");
        assert_eq!(show(GIB), "1 GiB");
        assert_eq!(show(1536 * GIB), "1536 GiB");
        assert_eq!(show(GIB + 1), format!("{} B", GIB + 1));
    }

    #[test]
    fn refuses_what_the_database_cannot_hold() {
        assert_eq!(
            ByteCount::try_from(u64::MAX).expect_err("too large"),
            "value is too large for a byte count"
        );
    }
}
