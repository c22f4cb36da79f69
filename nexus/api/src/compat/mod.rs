//! Bodies in the spellings of older clients.
//!
//! The oldest SDKs send no `api-version` header, so that nothing but the body itself tells how
//! old a client is. A [`CompatBody`] takes the body of such a request in every spelling that was
//! ever published and rewrites it into the newest one *before* it is parsed; everything after
//! that knows only the newest. The body of a request with the header is taken as it is.
//!
//! Where an older body says what the newest cannot, or means something else by saying nothing,
//! that is in the [`Legacy`] that comes with the body.
//!
//! Two spellings of one thing in one body are accepted when they agree. When they do not, or when
//! it takes a guess to reconcile them, the answer is a 400 that names both fields.

mod address;
mod disk;
mod fields;
mod firewall;
mod instance;
mod network_interface;

pub use fields::Fields;

use crate::version::API_VERSION;
use async_trait::async_trait;
use dropshot::{
    ApiEndpointBodyContentType, Body, ExclusiveExtractor, ExtractorMetadata, HttpError,
    RequestContext, ServerContext, TypedBody, UntypedBody,
};
use http::Request;
use nexus_common::{Error, NameOrId};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What a request means beyond what the newest body can say. For a client that can say everything
/// it is the default: nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Legacy {
    /// An automatic address of neither a named pool nor a named IP version is IPv4 where the silo
    /// has a default pool for each version. Clients that know of the choice must make it.
    pub prefers_ipv4: bool,
    /// The pool that was named beside an explicit address. The address finds its pool itself, and
    /// if that is another one, the request is refused.
    pub pool: Option<NameOrId>,
}

/// A body that older clients spell in another way.
pub trait OldSpellings: JsonSchema + DeserializeOwned + Send + Sync + 'static {
    /// Rewrites the fields of a body into the newest spelling. What is in the newest already
    /// stays as it is, and so does what is no spelling at all: the parser will refuse it.
    ///
    /// Answers with the pool of [`Legacy::pool`], if there is one.
    fn modernize(fields: &mut Fields) -> Result<Option<NameOrId>, HttpError>;
}

/// A request's body, which a request without an `api-version` header may spell in an older way.
///
/// Otherwise this is [`TypedBody`], whose rules and words for what is not JSON, not of the right
/// type or too large it shares.
#[derive(Debug)]
pub struct CompatBody<T: OldSpellings> {
    body: T,
    legacy: Legacy,
}

impl<T: OldSpellings> CompatBody<T> {
    /// The body in its newest form, and what else it meant.
    pub fn into_parts(self) -> (T, Legacy) {
        (self.body, self.legacy)
    }
}

impl<T: OldSpellings> CompatBody<T> {
    /// A body that was read as an older version has it.
    ///
    /// # Errors
    ///
    /// 400 if the newest version refuses what it says.
    pub fn from_older(older: &impl Serialize, prefers_ipv4: bool) -> Result<Self, HttpError> {
        let older = serde_json::to_vec(older).map_err(Error::internal)?;
        let (newest, pool) = modernize::<T>(&older)?;
        let body = serde_json::from_slice(&newest).map_err(|error| {
            HttpError::for_bad_request(None, format!("unable to parse JSON body: {error}"))
        })?;
        Ok(CompatBody { body, legacy: Legacy { prefers_ipv4, pool } })
    }
}

impl<T: OldSpellings> From<T> for CompatBody<T> {
    /// The body of a client that speaks the newest version.
    fn from(body: T) -> Self {
        CompatBody { body, legacy: Legacy::default() }
    }
}

#[async_trait]
impl<T: OldSpellings> ExclusiveExtractor for CompatBody<T> {
    async fn from_request<Context: ServerContext>(
        rqctx: &RequestContext<Context>,
        request: Request<Body>,
    ) -> Result<Self, HttpError> {
        if request.headers().contains_key(API_VERSION) {
            let body = TypedBody::from_request(rqctx, request).await?.into_inner();
            return Ok(CompatBody { body, legacy: Legacy::default() });
        }
        let (parts, body) = request.into_parts();
        let request = Request::from_parts(parts.clone(), body);
        let bytes = UntypedBody::from_request(rqctx, request).await?;
        let (bytes, pool) = modernize::<T>(bytes.as_bytes())?;
        let request = Request::from_parts(parts, Body::from(bytes));
        let body = TypedBody::from_request(rqctx, request).await?.into_inner();
        Ok(CompatBody { body, legacy: Legacy { prefers_ipv4: true, pool } })
    }

    fn metadata(content_type: ApiEndpointBodyContentType) -> ExtractorMetadata {
        <TypedBody<T> as ExclusiveExtractor>::metadata(content_type)
    }
}

/// Rewrites a body into the newest spelling. One that is in it already keeps every byte, so that
/// what the parser says of it points at the right column; so does what is not a JSON object,
/// which the parser refuses.
fn modernize<T: OldSpellings>(bytes: &[u8]) -> Result<(Vec<u8>, Option<NameOrId>), HttpError> {
    let Ok(Value::Object(before)) = serde_json::from_slice(bytes) else {
        return Ok((bytes.to_vec(), None));
    };
    let mut fields = Fields::from(before.clone());
    let pool = T::modernize(&mut fields)?;
    if fields == Fields::from(before) {
        return Ok((bytes.to_vec(), pool));
    }
    Ok((fields.to_bytes()?, pool))
}

#[cfg(test)]
pub(crate) mod test_util {
    use super::*;
    use serde_json::json;

    /// What a body without a version header comes to: the newest form, and the pool beside it.
    pub fn read<T: OldSpellings>(body: Value) -> Result<(T, Option<NameOrId>), String> {
        let bytes = serde_json::to_vec(&body).expect("JSON");
        let (bytes, pool) = modernize::<T>(&bytes).map_err(|error| error.external_message)?;
        let body = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        Ok((body, pool))
    }

    /// Asserts that two bodies mean the same, and that the second is in the newest form.
    pub fn assert_means<T: OldSpellings + Serialize>(old: Value, new: Value) {
        let newest: T = serde_json::from_value(new).expect("the newest form");
        let (read, _) = read::<T>(old.clone()).unwrap_or_else(|error| panic!("{old}: {error}"));
        assert_eq!(json!(read), json!(newest), "{old}");
    }
}
