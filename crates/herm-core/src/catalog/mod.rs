//! What servers offer: selection, names, merging.

mod arguments;
mod entry;
pub mod foreign;
mod freshness;
mod pattern;
mod repeat;
pub mod schema;
mod select;
pub mod utility;

pub use arguments::without_forbidden_nulls;
pub use entry::{MAX_BYTES, StoredLists, Unusable};
pub use freshness::{CacheScope, Freshness, Hints, Standing, freshness};
pub use pattern::Pattern;
pub use repeat::may_repeat;
pub use select::{Advertised, Hidden, HiddenUtility, Selection, select, utilities};
