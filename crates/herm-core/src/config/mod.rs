//! The configuration: raw as written, checked, interpolated.

mod revision;
mod server;

pub use revision::UnknownRevision;
pub use server::*;
