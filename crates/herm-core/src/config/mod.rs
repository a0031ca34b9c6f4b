//! The configuration: raw as written, checked, interpolated.

mod server;

pub use server::*;
