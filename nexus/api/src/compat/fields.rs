//! The fields of a JSON object, as they are rewritten.

use dropshot::HttpError;
use nexus_common::{Error, NameOrId};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Why two names of one field are refused.
pub const DIFFER: &str = "they are two names of one field, and the values differ";

/// The fields of a JSON object. A field that is `null` is as good as absent, as it is to every
/// older client.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields(Map<String, Value>);

impl From<Map<String, Value>> for Fields {
    fn from(fields: Map<String, Value>) -> Self {
        Fields(fields)
    }
}

impl Fields {
    /// Whether a field is there and not `null`.
    pub fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| !value.is_null())
    }

    /// Whether a field is this string.
    pub fn is(&self, name: &str, value: &str) -> bool {
        self.0.get(name).and_then(Value::as_str) == Some(value)
    }

    /// Removes a field of an older form.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    /// Removes a field that had two names. With both there, the values must be equal.
    pub fn take_either(&mut self, name: &str, other: &str) -> Result<Option<Value>, HttpError> {
        match (self.take(name), self.take(other)) {
            (Some(a), Some(b)) if a != b => Err(both_since(name, other, DIFFER)),
            (a, b) => Ok(a.or(b)),
        }
    }

    /// Sets a field of the newest form.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_string(), value.into());
    }

    /// Sets a field of the newest form that is not there at all, not even as `null`.
    pub fn set_if_absent(&mut self, name: &str, value: impl Into<Value>) {
        if !self.0.contains_key(name) {
            self.set(name, value);
        }
    }

    /// The object that a field is, to be rewritten in its place.
    pub fn rewrite(
        &mut self,
        name: &str,
        rewrite: impl FnOnce(&mut Fields) -> Result<(), HttpError>,
    ) -> Result<(), HttpError> {
        self.0.get_mut(name).map_or(Ok(()), |value| rewrite_object(value, rewrite))
    }

    /// The objects in the array that a field is, to be rewritten in their places.
    pub fn rewrite_each(
        &mut self,
        name: &str,
        mut rewrite: impl FnMut(&mut Fields) -> Result<(), HttpError>,
    ) -> Result<(), HttpError> {
        let Some(Value::Array(values)) = self.0.get_mut(name) else { return Ok(()) };
        values.iter_mut().try_for_each(|value| rewrite_object(value, &mut rewrite))
    }

    /// The values in the array that a field is, to be replaced in their places.
    pub fn replace_each(&mut self, name: &str, replace: impl Fn(Value) -> Value) {
        if let Some(Value::Array(values)) = self.0.get_mut(name) {
            for value in values {
                *value = replace(value.take());
            }
        }
    }

    /// The object as JSON.
    pub fn to_bytes(&self) -> Result<Vec<u8>, HttpError> {
        serde_json::to_vec(&self.0).map_err(|error| Error::internal(error).into())
    }
}

fn rewrite_object(
    value: &mut Value,
    rewrite: impl FnOnce(&mut Fields) -> Result<(), HttpError>,
) -> Result<(), HttpError> {
    let Value::Object(object) = value else { return Ok(()) };
    let mut fields = Fields(std::mem::take(object));
    rewrite(&mut fields)?;
    *object = fields.0;
    Ok(())
}

/// A value of an older form that has no counterpart in the newest, so that the parser will not
/// see it.
pub fn parse<T: DeserializeOwned>(name: &str, value: Value) -> Result<T, HttpError> {
    serde_json::from_value(value).map_err(|error| {
        HttpError::for_bad_request(None, format!("unable to parse JSON body: {name}: {error}"))
    })
}

/// A pool of an older form, as [`parse`].
pub fn parse_pool(value: Value) -> Result<NameOrId, HttpError> {
    parse("pool", value)
}

/// The refusal of two fields that do not go together.
pub fn both(a: &str, b: &str) -> HttpError {
    Error::invalid(format!("cannot specify both `{a}` and `{b}`")).into()
}

/// The refusal of two fields that do not go together, and why.
pub fn both_since(a: &str, b: &str, why: &str) -> HttpError {
    Error::invalid(format!("cannot specify both `{a}` and `{b}`; {why}")).into()
}
