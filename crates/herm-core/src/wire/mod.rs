//! JSON-RPC over raw JSON: what we read from a peer and what we send it.
//!
//! Everything below `params`, `result` and `error` stays as its sender wrote it. Typed *views* read
//! only what a decision needs.

mod broken;
pub mod headers;
pub(crate) mod json;
pub mod lines;
mod message;
pub mod params;
mod repair;
pub mod result;
pub mod sse;
pub mod view;
mod write;

pub use broken::request_id;
pub use message::{BadFrame, Incoming, PeerError, Raw, Reply, codes, read};
pub use repair::without_lone_surrogates;
pub use write::{compact, error_reply, notification, ok_reply, ok_reply_with, request};
