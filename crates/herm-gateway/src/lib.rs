//! An MCP server and the control socket in front of [`herm_host::Host`].
//!
//! Everything here reaches a server by `Host` only. [`serve`] speaks MCP to a client, [`control`]
//! HTTP over a Unix socket to herm's own commands, [`ops`] does what both the commands and the
//! socket offer, and [`json`] has the documents that all of them give.

pub mod control;
mod gate;
pub mod json;
mod object;
pub mod ops;
pub mod serve;
pub mod watch;
mod words;

pub use gate::{Facts, Fresh, Gate, Reloader};
