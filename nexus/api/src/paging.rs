//! Listings: from the query of a request to a page of the database's, and back to an answer.
//!
//! The first request of a listing says what to list (a *selector*: a project, a filter) and in
//! which order. Its answer carries a token that says the same and where to go on, so that the
//! next request needs the token alone. The token is the client's to keep and to alter, so nothing
//! in it is believed: whoever may list may list from anywhere, and what does not fit is a 400.
//!
//! There are three kinds of listing, by what their items are ordered by, and a handler deals with
//! each in the same way:
//!
//! ```text
//! let page = NameOrIdPage::new(&rqctx, query)?;
//! let items = app.floating_ip_list(&page.selector.project, &page.by).await?;
//! Ok(HttpResponseOk(page.results(items)?))
//! ```

use crate::types::HasIdentity;
use chrono::{DateTime, Utc};
use dropshot::{
    EmptyScanParams, HttpError, PaginationParams, Query, RequestContext, ResultsPage,
    ServerContext, WhichPage,
};
use nexus_common::{Direction, Name, NameOrId, PageBy, PageParams};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::net::IpAddr;
use std::num::NonZeroU32;
use uuid::Uuid;

/// The query of a listing by name or by id.
pub type ListByNameOrId<S = NoSelector> =
    PaginationParams<ScanByNameOrId<S>, PageTokenByNameOrId<S>>;

/// The query of a listing by name.
pub type ListByName = PaginationParams<ScanByName, PageTokenByName>;

/// The query of a listing by id.
pub type ListById<S = NoSelector> = PaginationParams<ScanById<S>, PageTokenById<S>>;

/// The query of a listing by time.
pub type ListByTime<S> = PaginationParams<ScanByTime<S>, PageTokenByTime<S>>;

/// The query of a listing by address.
pub type ListByAddress = PaginationParams<EmptyScanParams, PageTokenByAddress>;

/// What can say what to list: it is read from a query and written into a token.
pub trait Selector:
    Clone + Debug + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static
{
}

impl<S> Selector for S where
    S: Clone + Debug + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static
{
}

/// The selector of a listing of everything that there is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoSelector {}

/// The order of a listing by name or by id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NameOrIdSortMode {
    /// By name, from a to z.
    #[default]
    NameAscending,
    /// By name, from z to a.
    NameDescending,
    /// By id.
    IdAscending,
}

/// The order of a listing by id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdSortMode {
    /// By id.
    #[default]
    IdAscending,
}

/// What the first request of a listing by name or by id says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScanByNameOrId<S> {
    /// The order; by name if absent
    #[serde(default, deserialize_with = "crate::types::path::named::sort_by")]
    pub sort_by: NameOrIdSortMode,
    #[serde(flatten)]
    pub selector: S,
}

/// What every further request of a listing by name or by id says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageTokenByNameOrId<S> {
    #[serde(flatten)]
    pub scan: ScanByNameOrId<S>,
    /// The name or the id of the last item of the page before.
    pub last_seen: NameOrId,
    /// Its id, in a listing where several items may have one name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_id: Option<Uuid>,
}

/// The order of a listing by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NameSortMode {
    /// By name, from a to z.
    #[default]
    NameAscending,
}

/// What the first request of a listing by name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScanByName {
    /// The order
    #[serde(default)]
    pub sort_by: NameSortMode,
}

/// What every further request of a listing by name says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageTokenByName {
    /// The name of the last item of the page before.
    pub last_seen: Name,
}

/// What the first request of a listing by id says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScanById<S> {
    /// The order
    #[serde(default)]
    pub sort_by: IdSortMode,
    #[serde(flatten)]
    pub selector: S,
}

/// What every further request of a listing by id says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageTokenById<S> {
    #[serde(flatten)]
    pub scan: ScanById<S>,
    /// The id of the last item of the page before.
    pub last_seen: Uuid,
}

/// The order of a listing by time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TimeAndIdSortMode")]
pub enum TimeSortMode {
    /// The oldest first; of the same time, by id.
    #[default]
    TimeAndIdAscending,
    /// The newest first; of the same time, by id.
    TimeAndIdDescending,
}

/// What the first request of a listing by time says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScanByTime<S> {
    /// The order
    #[serde(default)]
    pub sort_by: TimeSortMode,
    #[serde(flatten)]
    pub selector: S,
}

/// What every further request of a listing by time says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageTokenByTime<S> {
    #[serde(flatten)]
    pub scan: ScanByTime<S>,
    /// The time of the last item of the page before, and its id.
    pub last_seen: (DateTime<Utc>, Uuid),
}

/// What every further request of a listing by address says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageTokenByAddress {
    /// The address of the last item of the page before.
    pub last_seen: IpAddr,
}

/// A page of a listing by name or by id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameOrIdPage<S = NoSelector> {
    /// What to list.
    pub selector: S,
    /// In which order, from where, and how much.
    pub by: PageBy,
    /// Which item of the marker's name was the last of the page before, in a listing where several
    /// may have it.
    pub tie: Option<Uuid>,
    sort_by: NameOrIdSortMode,
}

impl<S: Selector> NameOrIdPage<S> {
    /// The page that a request asks for.
    pub fn new<C: ServerContext>(
        rqctx: &RequestContext<C>,
        query: Query<ListByNameOrId<S>>,
    ) -> Result<Self, HttpError> {
        refuse_repeated(rqctx)?;
        let query = query.into_inner();
        let limit = rqctx.page_limit(&query)?;
        let (scan, last_seen, tie) = match query.page {
            WhichPage::First(scan) => (scan, None, None),
            WhichPage::Next(PageTokenByNameOrId { scan, last_seen, last_id }) => {
                (scan, Some(last_seen), last_id)
            }
        };
        Ok(NameOrIdPage { tie, ..NameOrIdPage::of(scan, last_seen, limit)? })
    }

    fn of(
        ScanByNameOrId { sort_by, selector }: ScanByNameOrId<S>,
        last_seen: Option<NameOrId>,
        limit: NonZeroU32,
    ) -> Result<Self, HttpError> {
        let by_name = |direction| {
            let marker = last_seen.clone().map(name_of).transpose()?;
            Ok::<_, HttpError>(PageBy::Name(PageParams { limit, direction, marker }))
        };
        let by = match sort_by {
            NameOrIdSortMode::NameAscending => by_name(Direction::Ascending)?,
            NameOrIdSortMode::NameDescending => by_name(Direction::Descending)?,
            NameOrIdSortMode::IdAscending => {
                let marker = last_seen.clone().map(id_of).transpose()?;
                PageBy::Id(PageParams { limit, direction: Direction::Ascending, marker })
            }
        };
        Ok(NameOrIdPage { selector, by, tie: None, sort_by })
    }

    /// The answer with the items of this page.
    pub fn results<T: HasIdentity>(&self, items: Vec<T>) -> Result<ResultsPage<T>, HttpError> {
        self.results_by(items, |item| {
            let identity = item.identity();
            (identity.name.clone(), identity.id)
        })
    }

    /// The same, of items that are ordered by name and then by id, as several may have one name.
    pub fn results_with_ties<T: HasIdentity>(
        &self,
        items: Vec<T>,
    ) -> Result<ResultsPage<T>, HttpError> {
        self.page_of(items, |item| {
            let identity = item.identity();
            (identity.name.clone(), identity.id, Some(identity.id))
        })
    }

    /// The same, of items that have no identity of their own; `keys` is what they are ordered by.
    pub fn results_by<T>(
        &self,
        items: Vec<T>,
        keys: impl Fn(&T) -> (Name, Uuid),
    ) -> Result<ResultsPage<T>, HttpError> {
        self.page_of(items, |item| {
            let (name, id) = keys(item);
            (name, id, None)
        })
    }

    fn page_of<T>(
        &self,
        items: Vec<T>,
        keys: impl Fn(&T) -> (Name, Uuid, Option<Uuid>),
    ) -> Result<ResultsPage<T>, HttpError> {
        let scan = ScanByNameOrId { sort_by: self.sort_by, selector: self.selector.clone() };
        ResultsPage::new(items, &scan, |item, scan| {
            let (name, id, last_id) = keys(item);
            PageTokenByNameOrId {
                scan: scan.clone(),
                last_seen: match scan.sort_by {
                    NameOrIdSortMode::NameAscending | NameOrIdSortMode::NameDescending => {
                        name.into()
                    }
                    NameOrIdSortMode::IdAscending => id.into(),
                },
                last_id,
            }
        })
    }
}

/// Refuses a parameter that is given twice, as operations other than listings do: of a listing's,
/// dropshot takes the last.
fn refuse_repeated<C: ServerContext>(rqctx: &RequestContext<C>) -> Result<(), HttpError> {
    match repeated(rqctx.request.uri().query().unwrap_or_default()) {
        None => Ok(()),
        Some(name) => Err(HttpError::for_bad_request(
            None,
            format!("unable to parse query string: duplicate field `{name}`"),
        )),
    }
}

fn repeated(query: &str) -> Option<&str> {
    let mut seen = BTreeSet::new();
    query
        .split('&')
        .filter(|parameter| !parameter.is_empty())
        .filter_map(|parameter| parameter.split('=').next())
        .find(|name| !seen.insert(*name))
}

fn name_of(last_seen: NameOrId) -> Result<Name, HttpError> {
    match last_seen {
        NameOrId::Name(name) => Ok(name),
        NameOrId::Id(_) => Err(invalid_token()),
    }
}

fn id_of(last_seen: NameOrId) -> Result<Uuid, HttpError> {
    match last_seen {
        NameOrId::Id(id) => Ok(id),
        NameOrId::Name(_) => Err(invalid_token()),
    }
}

fn invalid_token() -> HttpError {
    HttpError::for_bad_request(None, "invalid page token".to_string())
}

/// A page of a listing by id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdPage<S = NoSelector> {
    /// What to list.
    pub selector: S,
    /// From where, and how much.
    pub by: PageParams<Uuid>,
}

impl<S: Selector> IdPage<S> {
    /// The page that a request asks for.
    pub fn new<C: ServerContext>(
        rqctx: &RequestContext<C>,
        query: Query<ListById<S>>,
    ) -> Result<Self, HttpError> {
        refuse_repeated(rqctx)?;
        let query = query.into_inner();
        let limit = rqctx.page_limit(&query)?;
        let (scan, marker) = match query.page {
            WhichPage::First(scan) => (scan, None),
            WhichPage::Next(PageTokenById { scan, last_seen }) => (scan, Some(last_seen)),
        };
        let by = PageParams { limit, direction: Direction::Ascending, marker };
        Ok(IdPage { selector: scan.selector, by })
    }

    /// The answer with the items of this page; `id` is what they are ordered by.
    pub fn results<T>(
        &self,
        items: Vec<T>,
        id: impl Fn(&T) -> Uuid,
    ) -> Result<ResultsPage<T>, HttpError> {
        let scan = ScanById { sort_by: IdSortMode::IdAscending, selector: self.selector.clone() };
        ResultsPage::new(items, &scan, |item, scan| PageTokenById {
            scan: scan.clone(),
            last_seen: id(item),
        })
    }
}

/// A page of a listing by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePage {
    /// From where, and how much.
    pub by: PageParams<Name>,
}

impl NamePage {
    /// The page that a request asks for.
    pub fn new<C: ServerContext>(
        rqctx: &RequestContext<C>,
        query: Query<ListByName>,
    ) -> Result<Self, HttpError> {
        refuse_repeated(rqctx)?;
        let query = query.into_inner();
        let limit = rqctx.page_limit(&query)?;
        let marker = match query.page {
            WhichPage::First(_) => None,
            WhichPage::Next(PageTokenByName { last_seen }) => Some(last_seen),
        };
        Ok(NamePage { by: PageParams { limit, direction: Direction::Ascending, marker } })
    }

    /// The answer with the items of this page.
    pub fn results<T: HasIdentity>(&self, items: Vec<T>) -> Result<ResultsPage<T>, HttpError> {
        ResultsPage::new(items, &EmptyScanParams {}, |item, _| PageTokenByName {
            last_seen: item.identity().name.clone(),
        })
    }
}

/// A page of a listing by time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimePage<S> {
    /// What to list.
    pub selector: S,
    /// From where, and how much.
    pub by: PageParams<(DateTime<Utc>, Uuid)>,
    sort_by: TimeSortMode,
}

impl<S: Selector> TimePage<S> {
    /// The page that a request asks for.
    pub fn new<C: ServerContext>(
        rqctx: &RequestContext<C>,
        query: Query<ListByTime<S>>,
    ) -> Result<Self, HttpError> {
        refuse_repeated(rqctx)?;
        let query = query.into_inner();
        let limit = rqctx.page_limit(&query)?;
        let (scan, marker) = match query.page {
            WhichPage::First(scan) => (scan, None),
            WhichPage::Next(PageTokenByTime { scan, last_seen }) => (scan, Some(last_seen)),
        };
        let direction = match scan.sort_by {
            TimeSortMode::TimeAndIdAscending => Direction::Ascending,
            TimeSortMode::TimeAndIdDescending => Direction::Descending,
        };
        let by = PageParams { limit, direction, marker };
        Ok(TimePage { selector: scan.selector, by, sort_by: scan.sort_by })
    }

    /// The answer with the items of this page; `key` is what they are ordered by.
    pub fn results<T>(
        &self,
        items: Vec<T>,
        key: impl Fn(&T) -> (DateTime<Utc>, Uuid),
    ) -> Result<ResultsPage<T>, HttpError> {
        let scan = ScanByTime { sort_by: self.sort_by, selector: self.selector.clone() };
        ResultsPage::new(items, &scan, |item, scan| PageTokenByTime {
            scan: scan.clone(),
            last_seen: key(item),
        })
    }
}

/// A page of a listing by address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressPage {
    /// From where, and how much.
    pub by: PageParams<IpAddr>,
}

impl AddressPage {
    /// The page that a request asks for.
    pub fn new<C: ServerContext>(
        rqctx: &RequestContext<C>,
        query: Query<ListByAddress>,
    ) -> Result<Self, HttpError> {
        refuse_repeated(rqctx)?;
        let query = query.into_inner();
        let limit = rqctx.page_limit(&query)?;
        let marker = match query.page {
            WhichPage::First(EmptyScanParams {}) => None,
            WhichPage::Next(PageTokenByAddress { last_seen }) => Some(last_seen),
        };
        Ok(AddressPage { by: PageParams { limit, direction: Direction::Ascending, marker } })
    }

    /// The answer with the items of this page; `address` is what they are ordered by.
    pub fn results<T>(
        &self,
        items: Vec<T>,
        address: impl Fn(&T) -> IpAddr,
    ) -> Result<ResultsPage<T>, HttpError> {
        ResultsPage::new(items, &EmptyScanParams {}, |item, _| PageTokenByAddress {
            last_seen: address(item),
        })
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::types::{IdentityMetadata, Project, ProjectSelector};
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE;
    use chrono::{DateTime, Utc};

    const LIMIT: NonZeroU32 = NonZeroU32::MIN;
    type Page = NameOrIdPage<ProjectSelector>;

    fn project(name: &str) -> Project {
        let identity = IdentityMetadata {
            id: Uuid::from_u128(7),
            name: name.parse().expect("a name"),
            description: String::new(),
            time_created: DateTime::<Utc>::MIN_UTC,
            time_modified: DateTime::<Utc>::MIN_UTC,
        };
        Project { identity }
    }

    fn first(sort_by: NameOrIdSortMode) -> Page {
        let project = "p".parse().expect("a name");
        let scan = ScanByNameOrId { sort_by, selector: ProjectSelector { project } };
        NameOrIdPage::of(scan, None, LIMIT).expect("a page")
    }

    fn token_content(page: &Page) -> String {
        let results = page.results(vec![project("a"), project("b")]).expect("results");
        let token = URL_SAFE.decode(results.next_page.expect("a token")).expect("Base64");
        String::from_utf8(token).expect("UTF-8")
    }

    #[test]
    fn a_token_says_what_where_and_in_which_order() {
        assert_eq!(
            token_content(&first(NameOrIdSortMode::NameDescending)),
            r#"{"v":"v1","page_start":{"sort_by":"name_descending","project":"p","last_seen":"b"}}"#
        );
        assert!(
            token_content(&first(NameOrIdSortMode::IdAscending))
                .ends_with(r#""last_seen":"00000000-0000-0000-0000-000000000007"}}"#)
        );
    }

    #[test]
    fn an_empty_page_is_the_last() {
        let results = first(NameOrIdSortMode::NameAscending).results(Vec::<Project>::new());
        assert_eq!(results.expect("results").next_page, None);
    }

    #[test]
    fn the_next_page_goes_on_after_the_last_item() {
        let page_start = r#"{"sort_by":"name_descending","project":"p","last_seen":"b"}"#;
        let token: PageTokenByNameOrId<ProjectSelector> =
            serde_json::from_str(page_start).expect("a token");
        let page = Page::of(token.scan, Some(token.last_seen), LIMIT).expect("a page");
        assert_eq!(page.selector.project, "p".parse().expect("a name"));
        let expected = PageParams {
            limit: LIMIT,
            direction: Direction::Descending,
            marker: Some("b".parse().expect("a name")),
        };
        assert_eq!(page.by, PageBy::Name(expected));
    }

    #[test]
    fn a_token_of_another_order_is_refused() {
        let scan = |sort_by| ScanByNameOrId { sort_by, selector: NoSelector {} };
        let name = NameOrId::Name("a".parse().expect("a name"));
        let id = NameOrId::Id(Uuid::nil());
        for (sort_by, last_seen) in [
            (NameOrIdSortMode::NameAscending, &id),
            (NameOrIdSortMode::NameDescending, &id),
            (NameOrIdSortMode::IdAscending, &name),
        ] {
            let error = NameOrIdPage::of(scan(sort_by), Some(last_seen.clone()), LIMIT);
            assert_eq!(error.expect_err("no page").external_message, "invalid page token");
        }
    }

    #[test]
    fn a_repeated_parameter_is_found() {
        assert_eq!(repeated(""), None);
        assert_eq!(repeated("limit=1&project=p&&x"), None);
        assert_eq!(repeated("project=p&limit=1&project=p"), Some("project"));
    }

    /// A token that dropshot would not take back again is an error of ours.
    #[test]
    fn the_longest_token_is_short_enough() {
        let longest = || "x".repeat(63).parse::<Name>().expect("a name");
        let scan = ScanByNameOrId {
            sort_by: NameOrIdSortMode::NameDescending,
            selector: crate::types::VpcSelector {
                project: Some(longest().into()),
                vpc: longest().into(),
            },
        };
        let page = NameOrIdPage::of(scan, None, LIMIT).expect("a page");
        let results = page.results(vec![project(longest().as_str())]).expect("results");
        assert!(results.next_page.expect("a token").len() <= 512);
    }
}
