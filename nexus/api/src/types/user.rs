//! Users, their groups and their passwords.

use super::IdentityMetadata;
use chrono::{DateTime, Utc};
use nexus_common::{Name, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::fmt;
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

/// A user of a silo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct User {
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
}

/// A group of users of a silo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// The group's id.
    pub id: Uuid,
    /// What to call the group.
    pub display_name: String,
    /// When the group was created.
    pub time_created: DateTime<Utc>,
    /// When the group was last changed.
    pub time_modified: DateTime<Utc>,
    /// The silo to which the group belongs.
    pub silo_id: Uuid,
}

/// A user that is part of the system itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserBuiltin {
    #[serde(flatten)]
    pub identity: IdentityMetadata,
}

/// A user to create, of a silo whose users the system itself keeps.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct UserCreate {
    /// The name by which the user logs in.
    pub external_id: UserId,
    /// How the user logs in.
    pub password: UserPassword,
}

/// How a user logs in.
#[derive(Clone, Debug, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "mode", content = "value")]
pub enum UserPassword {
    /// With this password.
    Password(Password),
    /// Not with a password.
    LoginDisallowed,
}

/// By hand, since a password may be where something else belongs, and what serde says of a wrong
/// value has the value in it.
impl<'de> Deserialize<'de> for UserPassword {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde_json::Value;
        let fields = match Value::deserialize(deserializer) {
            Ok(Value::Object(fields)) => fields,
            _ => return Err(de::Error::custom("how a user logs in must be an object")),
        };
        match fields.get("mode").and_then(Value::as_str) {
            Some("password") => {
                let value = fields.get("value").ok_or_else(|| de::Error::missing_field("value"))?;
                let password = Password::deserialize(value).map_err(de::Error::custom)?;
                Ok(UserPassword::Password(password))
            }
            Some("login_disallowed") => Ok(UserPassword::LoginDisallowed),
            _ => Err(de::Error::custom("`mode` must be either `password` or `login_disallowed`")),
        }
    }
}

/// With what a user logs in.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct UsernamePasswordCredentials {
    pub username: UserId,
    pub password: Password,
}

/// The most characters of a password.
pub const PASSWORD_MAX: usize = 512;

/// A password. Nothing prints it, and nothing that is said of a bad one repeats it.
#[derive(Clone)]
pub struct Password(String);

impl Password {
    /// The password itself, to be hashed.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

impl<'de> Deserialize<'de> for Password {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // What serde says of a value of a wrong type has the value in it.
        match serde_json::Value::deserialize(deserializer) {
            Ok(serde_json::Value::String(password)) if password.len() > PASSWORD_MAX => {
                Err(de::Error::custom("the password provided was too long"))
            }
            Ok(serde_json::Value::String(password)) => Ok(Password(password)),
            _ => Err(de::Error::custom("a password must be a string")),
        }
    }
}

impl JsonSchema for Password {
    fn schema_name() -> String {
        "Password".to_string()
    }
    fn json_schema(_: &mut schemars::r#gen::SchemaGenerator) -> schemars::schema::Schema {
        schemars::schema::SchemaObject {
            metadata: Some(Box::new(schemars::schema::Metadata {
                title: Some("A password used to authenticate a user".to_string()),
                description: Some("At most 512 bytes of UTF-8.".to_string()),
                ..Default::default()
            })),
            instance_type: Some(schemars::schema::InstanceType::String.into()),
            string: Some(Box::new(schemars::schema::StringValidation {
                max_length: Some(PASSWORD_MAX as u32),
                ..Default::default()
            })),
            ..Default::default()
        }
        .into()
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_password_is_never_repeated() {
        for bad in ["12345", "[\"hunter2\"]", &format!("\"{}\"", "hunter2".repeat(80))] {
            let error = serde_json::from_str::<Password>(bad).expect_err("no password");
            assert!(!error.to_string().contains("hunter"), "{error}");
            assert!(!error.to_string().contains("12345"), "{error}");
        }
        for bad in [
            r#""hunter2""#,
            r#"{"mode": "hunter2"}"#,
            r#"{"mode": "password", "value": ["hunter2"]}"#,
            r#"{"mode": "password", "hunter2": "hunter2"}"#,
        ] {
            let error = serde_json::from_str::<UserPassword>(bad).expect_err("no password");
            assert!(!error.to_string().contains("hunter"), "{error}");
        }
        let password: Password = serde_json::from_str("\"hunter2\"").expect("a password");
        assert!(!format!("{password:?}").contains("hunter2"));
    }
}
