//! The host: it starts MCP servers, keeps their sessions, and gives one face to all of them.

mod process;
mod transport;

pub use transport::error::LinkError;
