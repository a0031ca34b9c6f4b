//! Every decision of herm, and nothing else.
//!
//! No tokio, no files, no network, no clock, no environment, no randomness: what depends on the
//! world is an argument. So every rule here is tested in milliseconds.

pub mod catalog;
pub mod config;
pub mod elicit;
pub mod era;
pub mod gate;
pub mod lifecycle;
pub mod name;
pub mod paging;
pub mod secret;
pub mod wire;
