//! The configuration: raw as written, checked, interpolated.

mod check;
mod interpolate;
mod issue;
mod keys;
mod revision;
mod server;
pub mod tree;

pub use check::{Checked, Config, Configured, check};
pub use interpolate::Places;
pub use issue::Issue;
pub use keys::{Effect, KEYS, Key, TOP};
pub use server::*;
