//! What servers offer: selection, names, merging.

mod arguments;
mod pattern;
mod repeat;
pub mod schema;
mod select;
pub mod utility;

pub use arguments::without_forbidden_nulls;
pub use pattern::Pattern;
pub use repeat::may_repeat;
pub use select::{Advertised, Hidden, HiddenUtility, Selection, select, utilities};
