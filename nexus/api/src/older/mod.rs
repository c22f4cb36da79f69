//! Older versions of the API: their types, each in the module of the version that brought it, and
//! the ways from them to the newest and back.
//!
//! Nothing else of the server knows of them. An operation whose shape has changed has one more
//! method in the trait for each shape that it had: it reads the older request, asks the newest
//! operation, and shapes the answer. A module has what its version changed; what is not there is
//! in an older module, and what no module has is as it is in [`crate::types`].
//!
//! An older request becomes a newest one in the same way as a request that names no version
//! ([`crate::compat`]), once it has been read by the types of its own version. A newest answer
//! becomes an older one through [`OlderView`], which refuses what a client of that version could not
//! read; in a listing, it is left out.

pub mod v0_0_1;
pub mod v0_0_6;
pub mod v2024032700;
pub mod v2024120400;
pub mod v2025100800;
pub mod v2025112000;
pub mod v2025120300;
pub mod v2025122300;
pub mod v2026010300;
pub mod v2026010500;
pub mod v2026011600;

mod body;
mod firewall;
mod instance_create;

pub use body::{OlderBody, OlderBodyOf};
pub use instance_create::{ChoosesIpVersion, InstanceCreate};

use crate::paging::ListByNameOrId;
use crate::types::{IpPoolAssignment, IpPoolFilter};
use dropshot::{
    ClientErrorStatusCode, HttpError, HttpResponseAccepted, HttpResponseCreated, HttpResponseOk,
    Query, ResultsPage, WhichPage,
};
use schemars::JsonSchema;
use serde::Serialize;

/// What an answer can be made of.
pub trait View: Serialize + JsonSchema + Send + Sync + 'static {}

impl<V: Serialize + JsonSchema + Send + Sync + 'static> View for V {}

/// A view in an older version of the API.
pub trait OlderView<Newest>: Sized {
    /// The view as this version shows it.
    ///
    /// # Errors
    ///
    /// 406, or the published refusal, if it has something that this version has no word for.
    fn of(newest: Newest) -> Result<Self, HttpError>;
}

/// A page of a listing, without the items that this version has no word for: a client is to see
/// the others. Asking for such an item alone is refused.
pub fn page<N: View, O: View + OlderView<N>>(
    HttpResponseOk(newest): HttpResponseOk<ResultsPage<N>>,
) -> HttpResponseOk<ResultsPage<O>> {
    let items = newest.items.into_iter().filter_map(|item| O::of(item).ok()).collect();
    HttpResponseOk(ResultsPage { next_page: newest.next_page, items })
}

/// A listing of the pools that silos take addresses from: there were no others yet.
pub fn pools_of_silos(
    query: Query<ListByNameOrId<IpPoolFilter>>,
) -> Query<ListByNameOrId<IpPoolFilter>> {
    query.map(|mut query| {
        let selector = match &mut query.page {
            WhichPage::First(scan) => &mut scan.selector,
            WhichPage::Next(token) => &mut token.scan.selector,
        };
        selector.assignment = Some(IpPoolAssignment::Silos);
        query
    })
}

/// The answer to a request that asked for something.
pub fn ok<N: View, O: View + OlderView<N>>(
    HttpResponseOk(newest): HttpResponseOk<N>,
) -> Result<HttpResponseOk<O>, HttpError> {
    Ok(HttpResponseOk(O::of(newest)?))
}

/// The answer to a request that made something.
pub fn created<N: View, O: View + OlderView<N>>(
    HttpResponseCreated(newest): HttpResponseCreated<N>,
) -> Result<HttpResponseCreated<O>, HttpError> {
    Ok(HttpResponseCreated(O::of(newest)?))
}

/// The answer to a request that began something.
pub fn accepted<N: View, O: View + OlderView<N>>(
    HttpResponseAccepted(newest): HttpResponseAccepted<N>,
) -> Result<HttpResponseAccepted<O>, HttpError> {
    Ok(HttpResponseAccepted(O::of(newest)?))
}

/// The refusal to show what a version has no word for.
fn not_in_this_version(what: &str) -> HttpError {
    HttpError::for_client_error(
        Some("Not Acceptable".to_string()),
        ClientErrorStatusCode::NOT_ACCEPTABLE,
        format!("{what} not supported for client version"),
    )
}
