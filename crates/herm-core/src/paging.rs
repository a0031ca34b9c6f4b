//! When a paged list ends (N-1, N-2): at an absent cursor, at a repeated one, at a cap.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

/// Pages of one list.
pub const MAX_PAGES: usize = 50;
/// Items of one list.
pub const MAX_ITEMS: usize = 10_000;
/// Bytes of one list after which no further page is asked for.
pub const MAX_LIST_BYTES: usize = 32 << 20;

/// What to do after a page.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Next {
    /// Ask for the page behind this cursor.
    Ask(String),
    /// The list is whole.
    Done,
    /// The list was ended by us; why. What was read so far is kept.
    Stopped(Stopped),
}

/// Why a drain ended before the server said so.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Stopped {
    /// A cursor came again.
    #[error("the cursor `{cursor}` came twice")]
    Repeated {
        /// The cursor, shortened.
        cursor: String,
    },
    /// Too many pages.
    #[error("the list has more than {MAX_PAGES} pages")]
    Pages,
    /// Too many items.
    #[error("the list has more than {MAX_ITEMS} items")]
    Items,
    /// Too many bytes.
    #[error("the list has more than {} MiB", MAX_LIST_BYTES >> 20)]
    Bytes,
}

/// One drain.
#[derive(Debug, Default)]
pub struct Drain {
    /// Digests, because a cursor may be as long as a message.
    seen: HashSet<[u8; 32]>,
    pages: usize,
    items: usize,
    bytes: usize,
}

impl Drain {
    /// Takes note of the size of a page, before [`Drain::page`].
    pub fn weigh(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Takes note of a page.
    #[must_use]
    pub fn page(&mut self, next: Option<&str>, items: usize) -> Next {
        self.pages += 1;
        self.items = self.items.saturating_add(items);
        if self.items > MAX_ITEMS {
            return Next::Stopped(Stopped::Items);
        }
        let Some(next) = next else { return Next::Done };
        if !self.seen.insert(Sha256::digest(next).into()) {
            return Next::Stopped(Stopped::Repeated { cursor: next.chars().take(64).collect() });
        }
        if self.bytes > MAX_LIST_BYTES {
            return Next::Stopped(Stopped::Bytes);
        }
        if self.pages >= MAX_PAGES {
            return Next::Stopped(Stopped::Pages);
        }
        Next::Ask(next.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(cursor: &str) -> Next {
        Next::Ask(cursor.to_owned())
    }

    fn repeated(cursor: &str) -> Next {
        Next::Stopped(Stopped::Repeated { cursor: cursor.to_owned() })
    }

    #[test]
    fn only_an_absent_cursor_ends_a_list() {
        let mut drain = Drain::default();
        assert_eq!(drain.page(Some("p2"), 5), ask("p2"));
        assert_eq!(drain.page(Some(""), 5), ask(""));
        assert_eq!(drain.page(None, 5), Next::Done);
    }

    #[test]
    fn a_cursor_that_repeats_or_cycles_stops_the_drain() {
        let mut drain = Drain::default();
        assert_eq!(drain.page(Some(""), 1), ask(""));
        assert_eq!(drain.page(Some(""), 1), repeated(""));
        let mut drain = Drain::default();
        let long = "é".repeat(100);
        for cursor in ["p2", &long] {
            assert_eq!(drain.page(Some(cursor), 1), ask(cursor));
        }
        assert_eq!(drain.page(Some(&long), 1), repeated(&long[..128]));
        assert_eq!(drain.page(Some("p2"), 1), repeated("p2"));
    }

    #[test]
    fn new_cursors_without_end_stop_at_the_cap() {
        let mut drain = Drain::default();
        let pages = (1..).find(|n| !matches!(drain.page(Some(&n.to_string()), 0), Next::Ask(_)));
        assert_eq!(pages, Some(MAX_PAGES));
        let mut drain = Drain::default();
        assert_eq!(drain.page(Some("a"), MAX_ITEMS), ask("a"));
        assert_eq!(drain.page(None, 1), Next::Stopped(Stopped::Items));
    }

    #[test]
    fn few_items_of_great_size_stop_at_the_cap_too() {
        let mut drain = Drain::default();
        drain.weigh(MAX_LIST_BYTES);
        assert_eq!(drain.page(Some("a"), 1), ask("a"));
        drain.weigh(1);
        assert_eq!(drain.page(Some("b"), 1), Next::Stopped(Stopped::Bytes));
        assert_eq!(drain.page(None, 1), Next::Done, "a list that ends is whole");
    }
}
