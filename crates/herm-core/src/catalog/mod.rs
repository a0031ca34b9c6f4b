//! What servers offer: selection, names, merging.

mod pattern;
mod select;

pub use pattern::Pattern;
pub use select::{Advertised, Hidden, HiddenUtility, Selection, select, utilities};
