//! When a paged list ends (N-1, N-2): at an absent cursor, at a repeated one, at a cap.

/// Pages of one list.
pub const MAX_PAGES: usize = 50;
/// Items of one list.
pub const MAX_ITEMS: usize = 10_000;

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
}

/// One drain.
#[derive(Debug, Default)]
pub struct Drain {
    _seen: Vec<String>,
}

impl Drain {
    /// Takes note of a page.
    #[must_use]
    pub fn page(&mut self, next: Option<&str>, items: usize) -> Next {
        let _ = (next, items);
        unimplemented!()
    }
}
