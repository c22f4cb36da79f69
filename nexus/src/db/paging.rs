//! Keyset pages: "the next rows after this key", in the order of an index.

/// Restricts `$query` to the page that `$page` asks for by the column `$key`, whose markers
/// `$marker` turns into what the column takes.
///
/// Rows must be unique in `$key`, and an index must lead with the query's own conditions and then
/// `$key`.
macro_rules! page {
    ($query:expr, $key:expr, $page:expr, $marker:expr) => {{
        let page = $page;
        let mut query = $query.into_boxed();
        if let Some(marker) = page.marker.as_ref().map($marker) {
            query = match page.direction {
                nexus_common::Direction::Ascending => query.filter($key.gt(marker)),
                nexus_common::Direction::Descending => query.filter($key.lt(marker)),
            };
        }
        query = match page.direction {
            nexus_common::Direction::Ascending => query.order($key.asc()),
            nexus_common::Direction::Descending => query.order($key.desc()),
        };
        query.limit(page.limit())
    }};
}

/// Loads a page by name or by id of the rows of `$table` that meet `$condition`.
macro_rules! page_by {
    ($conn:expr, $table:ident, $row:ty, $condition:expr, $by:expr) => {{
        let query = $table::table.filter($condition).select(<$row>::as_select());
        match $by {
            nexus_common::PageBy::Name(page) => {
                let marker = |name: &nexus_common::Name| name.to_string();
                $crate::db::paging::page!(query, $table::name, page, marker).load($conn)
            }
            nexus_common::PageBy::Id(page) => {
                let marker = |id: &uuid::Uuid| *id;
                $crate::db::paging::page!(query, $table::id, page, marker).load($conn)
            }
        }
    }};
}

pub(crate) use {page, page_by};
