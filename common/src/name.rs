//! Names: of objects, of users, of hosts; and the choice of a name or an id.

use schemars::JsonSchema;
use schemars::r#gen::SchemaGenerator;
use schemars::schema::{InstanceType, Metadata, Schema, SchemaObject, StringValidation};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use uuid::Uuid;

/// The longest name, in characters.
pub const NAME_MAX: usize = 63;

/// The longest description, in characters.
pub const DESCRIPTION_MAX: usize = 512;

/// Checks the rules of names, in the order in which they are reported.
fn check_name(s: &str) -> Result<(), String> {
    if s.chars().count() > NAME_MAX {
        return Err(format!("name may contain at most {NAME_MAX} characters"));
    }
    let Some(first) = s.chars().next() else {
        return Err("name requires at least one character".to_string());
    };
    if !first.is_ascii_lowercase() {
        return Err("name must begin with an ASCII lowercase character".to_string());
    }
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if let Some(c) = s.chars().find(|c| !allowed(*c)) {
        return Err(format!(
            "name contains invalid character: \"{c}\" (allowed characters are lowercase ASCII, \
             digits, and \"-\")"
        ));
    }
    if s.ends_with('-') {
        return Err("name cannot end with \"-\"".to_string());
    }
    if Uuid::parse_str(s).is_ok() {
        return Err("name cannot be a UUID to avoid ambiguity with IDs".to_string());
    }
    Ok(())
}

fn name_schema(title: &str, description: &str) -> Schema {
    let uuid = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}";
    SchemaObject {
        metadata: Some(Box::new(Metadata {
            title: Some(title.to_string()),
            description: Some(description.to_string()),
            ..Default::default()
        })),
        instance_type: Some(InstanceType::String.into()),
        string: Some(Box::new(StringValidation {
            min_length: Some(1),
            max_length: Some(NAME_MAX as u32),
            pattern: Some(format!("^(?!{uuid}$)^[a-z]([a-zA-Z0-9-]*[a-zA-Z0-9]+)?$")),
        })),
        ..Default::default()
    }
    .into()
}

/// Makes a validated string type that reads and prints as its content.
macro_rules! string_type {
    ($name:ident, $check:path) => {
        impl $name {
            /// The content.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Takes a string that was validated when it was stored. A rule that became stricter
            /// since then does not make the object unreadable.
            pub fn from_stored(s: String) -> Self {
                Self(s)
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;
            fn try_from(s: String) -> Result<Self, String> {
                $check(&s)?;
                Ok(Self(s))
            }
        }

        impl FromStr for $name {
            type Err = String;
            fn from_str(s: &str) -> Result<Self, String> {
                s.to_string().try_into()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

/// The name of an object: unique among its siblings, chosen by the user, and never shaped like a
/// UUID.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);
string_type!(Name, check_name);

impl JsonSchema for Name {
    fn schema_name() -> String {
        "Name".to_string()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        name_schema(
            "A name unique within the parent collection",
            "Names must begin with a lower case ASCII letter, be composed exclusively of \
             lowercase ASCII, uppercase ASCII, numbers, and '-', and may not end with a '-'. \
             Names cannot be a UUID, but they may contain a UUID. They can be at most 63 \
             characters long.",
        )
    }
}

/// The name by which a local user logs in. Follows the rules of [`Name`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UserId(String);
string_type!(UserId, check_name);

impl JsonSchema for UserId {
    fn schema_name() -> String {
        "UserId".to_string()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        name_schema("A username for a local-only user", "Follows the rules of names.")
    }
}

fn check_hostname(s: &str) -> Result<(), String> {
    if s.len() > 253 {
        return Err("Max hostname length is 253".to_string());
    }
    let label_ok = |label: &str| {
        !label.is_empty()
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if !s.split('.').all(label_ok) {
        return Err("Hostnames must comply with RFC 1035".to_string());
    }
    Ok(())
}

/// A host name: dot-separated labels (RFC 1035), at most 253 characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hostname(String);
string_type!(Hostname, check_hostname);

impl JsonSchema for Hostname {
    fn schema_name() -> String {
        "Hostname".to_string()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let label = r"[a-zA-Z0-9]+[a-zA-Z0-9\-]*(?<!-)";
        SchemaObject {
            metadata: Some(Box::new(Metadata {
                title: Some("An RFC-1035-compliant hostname".to_string()),
                description: Some(
                    "A hostname identifies a host on a network, and is usually a dot-delimited \
                     sequence of labels."
                        .to_string(),
                ),
                ..Default::default()
            })),
            instance_type: Some(InstanceType::String.into()),
            string: Some(Box::new(StringValidation {
                min_length: Some(1),
                max_length: Some(253),
                pattern: Some(format!(r"^({label})(\.{label})*$")),
            })),
            ..Default::default()
        }
        .into()
    }
}

/// An object's name or its id. A string that is a UUID is an id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NameOrId {
    Id(Uuid),
    Name(Name),
}

impl FromStr for NameOrId {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        match Uuid::parse_str(s) {
            Ok(id) => Ok(NameOrId::Id(id)),
            Err(_) => s.parse().map(NameOrId::Name),
        }
    }
}

impl From<Uuid> for NameOrId {
    fn from(id: Uuid) -> Self {
        NameOrId::Id(id)
    }
}

impl From<Name> for NameOrId {
    fn from(name: Name) -> Self {
        NameOrId::Name(name)
    }
}

impl fmt::Display for NameOrId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameOrId::Id(id) => id.fmt(f),
            NameOrId::Name(name) => name.fmt(f),
        }
    }
}

impl JsonSchema for NameOrId {
    fn schema_name() -> String {
        "NameOrId".to_string()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let titled = |title: &str, schema: Schema| {
            SchemaObject {
                metadata: Some(Box::new(Metadata {
                    title: Some(title.to_string()),
                    ..Default::default()
                })),
                subschemas: Some(Box::new(schemars::schema::SubschemaValidation {
                    all_of: Some(vec![schema]),
                    ..Default::default()
                })),
                ..Default::default()
            }
            .into()
        };
        SchemaObject {
            subschemas: Some(Box::new(schemars::schema::SubschemaValidation {
                one_of: Some(vec![
                    titled("id", generator.subschema_for::<Uuid>()),
                    titled("name", generator.subschema_for::<Name>()),
                ]),
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

    fn refusal(s: &str) -> String {
        s.parse::<Name>().expect_err(s)
    }

    #[test]
    fn names_follow_the_rules() {
        for good in ["a", "floater", "web-1", "a--b", &"a".repeat(63)] {
            assert_eq!(good.parse::<Name>().expect(good).as_str(), good);
        }
        assert_eq!(refusal(&"a".repeat(64)), "name may contain at most 63 characters");
        assert_eq!(refusal(""), "name requires at least one character");
        for bad in ["1a", "-a", "A", "é"] {
            assert_eq!(refusal(bad), "name must begin with an ASCII lowercase character");
        }
        assert_eq!(
            refusal("a_b"),
            "name contains invalid character: \"_\" (allowed characters are lowercase ASCII, \
             digits, and \"-\")"
        );
        assert_eq!(refusal("a-"), "name cannot end with \"-\"");
        assert_eq!(
            refusal("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
            "name cannot be a UUID to avoid ambiguity with IDs"
        );
    }

    #[test]
    fn a_uuid_is_an_id_in_any_spelling() {
        let id = "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11";
        assert!(matches!(id.parse(), Ok(NameOrId::Id(_))));
        assert!(matches!("a0".parse(), Ok(NameOrId::Name(_))));
    }

    #[test]
    fn hostnames_follow_rfc_1035() {
        for good in ["a", "My-Host.example", "1a"] {
            good.parse::<Hostname>().expect(good);
        }
        for bad in ["", "-a", "a-", "a..b", "a_b", "a."] {
            bad.parse::<Hostname>().expect_err(bad);
        }
    }
}
