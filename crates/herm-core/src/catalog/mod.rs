//! What servers offer: selection, names, merging.

mod pattern;
pub mod schema;
mod select;

pub use pattern::Pattern;
pub use select::{Advertised, Hidden, HiddenUtility, Selection, select, utilities};
