//! Bodies of requests in older versions.

use crate::compat::{CompatBody, OldSpellings};
use crate::version::API_VERSION;
use async_trait::async_trait;
use dropshot::{
    ApiEndpointBodyContentType, Body, ExclusiveExtractor, ExtractorMetadata, HttpError,
    RequestContext, ServerContext, TypedBody,
};
use http::Request;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;

/// A body as an older version of the API has it.
pub trait OlderBodyOf<Newest: OldSpellings>:
    Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static
{
    /// Whether it can say which IP version an address is to be of. A client that cannot gets
    /// IPv4 where there is a choice.
    const CHOOSES_IP_VERSION: bool = false;
}

/// A request's body in an older version, on its way to the newest.
///
/// It is read as that version has it, and then rewritten. A request that names no version may
/// spell it in any way that was ever published, as everywhere.
#[derive(Debug)]
pub struct OlderBody<O, Newest: OldSpellings> {
    newest: CompatBody<Newest>,
    older: PhantomData<fn() -> O>,
}

impl<O, Newest: OldSpellings> OlderBody<O, Newest> {
    /// The body in its newest form.
    pub fn newest(self) -> CompatBody<Newest> {
        self.newest
    }
}

#[async_trait]
impl<O: OlderBodyOf<Newest>, Newest: OldSpellings> ExclusiveExtractor for OlderBody<O, Newest> {
    async fn from_request<Context: ServerContext>(
        rqctx: &RequestContext<Context>,
        request: Request<Body>,
    ) -> Result<Self, HttpError> {
        let newest = if request.headers().contains_key(API_VERSION) {
            let older = TypedBody::<O>::from_request(rqctx, request).await?.into_inner();
            CompatBody::from_older(&older, !O::CHOOSES_IP_VERSION)?
        } else {
            CompatBody::from_request(rqctx, request).await?
        };
        Ok(OlderBody { newest, older: PhantomData })
    }

    fn metadata(content_type: ApiEndpointBodyContentType) -> ExtractorMetadata {
        <TypedBody<O> as ExclusiveExtractor>::metadata(content_type)
    }
}
