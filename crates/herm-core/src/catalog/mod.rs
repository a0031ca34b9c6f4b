//! What servers offer: selection, names, merging.

pub mod schema;
