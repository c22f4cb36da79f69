//! How single values stand in a column.

use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::{Pg, PgValue};
use diesel::serialize::{self, Output, ToSql};
use diesel::sql_types;
use ipnetwork::IpNetwork;
use nexus_common::MacAddr;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;

/// An address in an `INET` column: a network of full length.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    FromSqlRow,
    AsExpression,
)]
#[serde(transparent)]
#[diesel(sql_type = sql_types::Inet)]
pub struct Ip(pub IpAddr);

impl From<IpAddr> for Ip {
    fn from(ip: IpAddr) -> Self {
        Ip(ip)
    }
}

impl fmt::Display for Ip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Ip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl ToSql<sql_types::Inet, Pg> for Ip {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        ToSql::<sql_types::Inet, Pg>::to_sql(&IpNetwork::from(self.0), &mut out.reborrow())
    }
}

impl FromSql<sql_types::Inet, Pg> for Ip {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        let net = <IpNetwork as FromSql<sql_types::Inet, Pg>>::from_sql(value)?;
        Ok(Ip(net.ip()))
    }
}

/// A MAC address in an `INT8` column: its 48 bits as a number.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    Serialize,
    Deserialize,
    FromSqlRow,
    AsExpression,
)]
#[serde(transparent)]
#[diesel(sql_type = sql_types::BigInt)]
pub struct Mac(pub MacAddr);

impl ToSql<sql_types::BigInt, Pg> for Mac {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        ToSql::<sql_types::BigInt, Pg>::to_sql(&self.0.to_i64(), &mut out.reborrow())
    }
}

impl FromSql<sql_types::BigInt, Pg> for Mac {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        let n = <i64 as FromSql<sql_types::BigInt, Pg>>::from_sql(value)?;
        Ok(Mac(MacAddr::from_i64(n)))
    }
}

/// Makes an enum whose values stand in a `TEXT` column as the given words, which are its serde
/// and display form too.
macro_rules! text_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident => $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash,
            serde::Serialize, serde::Deserialize,
            diesel::deserialize::FromSqlRow, diesel::expression::AsExpression,
        )]
        #[diesel(sql_type = diesel::sql_types::Text)]
        pub enum $name {
            $($(#[$vmeta])* #[serde(rename = $text)] $variant,)+
        }

        impl $name {
            /// The word in the database.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl diesel::serialize::ToSql<diesel::sql_types::Text, diesel::pg::Pg> for $name {
            fn to_sql<'b>(
                &'b self,
                out: &mut diesel::serialize::Output<'b, '_, diesel::pg::Pg>,
            ) -> diesel::serialize::Result {
                <str as diesel::serialize::ToSql<diesel::sql_types::Text, diesel::pg::Pg>>::to_sql(
                    self.as_str(),
                    &mut out.reborrow(),
                )
            }
        }

        impl diesel::deserialize::FromSql<diesel::sql_types::Text, diesel::pg::Pg> for $name {
            fn from_sql(
                value: diesel::pg::PgValue<'_>,
            ) -> diesel::deserialize::Result<Self> {
                match value.as_bytes() {
                    $(b if b == $text.as_bytes() => Ok($name::$variant),)+
                    other => Err(format!(
                        concat!("not a ", stringify!($name), ": {}"),
                        String::from_utf8_lossy(other),
                    )
                    .into()),
                }
            }
        }
    };
}
pub(crate) use text_enum;
