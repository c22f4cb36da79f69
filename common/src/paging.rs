//! What one page of a listing asks for: a key, a direction, where to go on, how many.
//!
//! Pages are keyset pages: "the next `limit` after `marker`", which an index answers at the same
//! cost wherever the page lies, and which neither skips nor repeats what stays while other rows
//! come and go.

use crate::Name;
use std::num::NonZeroU32;
use uuid::Uuid;

/// The order of the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Ascending,
    Descending,
}

/// A page by one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageParams<K> {
    /// The most items on the page.
    pub limit: NonZeroU32,
    /// Which way the keys go.
    pub direction: Direction,
    /// The key of the last item of the page before; none for the first page.
    pub marker: Option<K>,
}

impl<K> PageParams<K> {
    /// The limit as the database takes it.
    pub fn limit(&self) -> i64 {
        i64::from(self.limit.get())
    }
}

/// A page by name or by id, as most listings offer it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageBy {
    Name(PageParams<Name>),
    Id(PageParams<Uuid>),
}
