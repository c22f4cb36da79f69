//! API tokens, how programs get them, and sessions of browsers.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use uuid::Uuid;

/// An API token. The secret itself is shown once, to the program that asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceAccessToken {
    /// The token's id, by which it is deleted. It is no credential.
    pub id: Uuid,
    /// When the token was created.
    pub time_created: DateTime<Utc>,
    /// When the token expires; never, if absent.
    pub time_expires: Option<DateTime<Utc>>,
}

/// A session of a browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsoleSession {
    /// The session's id. It is no credential.
    pub id: Uuid,
    /// When the user logged in.
    pub time_created: DateTime<Utc>,
    /// When the session was last used.
    pub time_last_used: DateTime<Utc>,
}

/// What a program says that wants to be let in (RFC 8628, section 3.1).
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct DeviceAuthRequest {
    /// What tells the program from others.
    pub client_id: Uuid,
    /// Seconds that the token is to live; as long as is allowed, if absent.
    pub ttl_seconds: Option<NonZeroU32>,
}

/// What a person says to let a program in.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct DeviceAuthVerify {
    /// The code that the program shows.
    pub user_code: String,
}

/// What a program says to get its token (RFC 8628, section 3.4).
#[derive(Clone, Deserialize, JsonSchema)]
pub struct DeviceAccessTokenRequest {
    /// `urn:ietf:params:oauth:grant-type:device_code`
    pub grant_type: String,
    /// The code that the program was given.
    pub device_code: String,
    /// What tells the program from others.
    pub client_id: Uuid,
}

/// How the users of a silo may authenticate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SiloAuthSettings {
    pub silo_id: Uuid,
    /// Seconds that an API token may live at most; if null, tokens need not expire.
    pub device_token_max_ttl_seconds: Option<u32>,
}

/// What to change of how the users of a silo may authenticate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SiloAuthSettingsUpdate {
    /// Seconds that an API token may live at most; null lifts the limit. Tokens that exist keep
    /// their expiry.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schemars(required, schema_with = "nullable_seconds")]
    pub device_token_max_ttl_seconds: Option<NonZeroU32>,
}

/// A number or null, but not absent, which could be a slip of the pen.
fn nullable_seconds(generator: &mut schemars::r#gen::SchemaGenerator) -> schemars::schema::Schema {
    let mut schema = NonZeroU32::json_schema(generator).into_object();
    schema.extensions.insert("nullable".to_string(), serde_json::json!(true));
    schema.into()
}
