//! The configuration: raw as written, checked, interpolated.

mod check;
mod compat;
mod diff;
pub mod dotenv;
mod fingerprint;
mod interpolate;
mod issue;
mod keys;
mod locate;
mod revision;
mod server;
pub mod tree;

pub use check::{Checked, Config, Configured, check};
pub use compat::compat_fingerprint;
pub use diff::{Change, diff};
pub use fingerprint::{MacKey, authorization, context_mac, fingerprint};
pub use interpolate::Places;
pub use issue::Issue;
pub use keys::{Effect, KEYS, Key, TOP};
pub use locate::{LocateError, Located, Paths, Wanted, locate};
pub use revision::UnknownRevision;
pub use server::*;
