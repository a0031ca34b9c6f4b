//! Reading one frame.

use serde_json::value::RawValue;

/// A JSON value as its sender wrote it.
pub type Raw = Box<RawValue>;

/// What a peer answered to a request of ours.
pub type Reply = Result<Raw, PeerError>;

/// An error object of the peer. Never made by us for a local condition (B-8).
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message} ({code})")]
pub struct PeerError {
    /// Its code; 0 when it is no integer.
    pub code: i64,
    /// Its message; empty when absent.
    pub message: String,
    /// The whole error object.
    pub raw: Raw,
}

impl PeerError {
    /// The raw `data` member, if any.
    #[must_use]
    pub fn data(&self) -> Option<Raw> {
        unimplemented!()
    }
}

/// One message of a frame, sorted by what it is.
#[derive(Debug)]
#[non_exhaustive]
pub enum Incoming {
    /// An answer to our request `id` (any spelling of it: 7, "7", 7.0).
    Reply {
        /// Our id.
        id: u64,
        /// Result or error.
        reply: Reply,
    },
    /// An error whose id is null or absent.
    Unaddressed(PeerError),
    /// A reply whose id is none of ours can be.
    Stray,
    /// The peer asks.
    Request {
        /// Its id, token kept, so that text stays text.
        id: Raw,
        /// Its method.
        method: String,
        /// Its params.
        params: Option<Raw>,
    },
    /// The peer tells.
    Notification {
        /// Its method.
        method: String,
        /// Its params.
        params: Option<Raw>,
    },
}

/// A frame, or a part of one, that is no message.
#[derive(Debug)]
pub struct BadFrame {
    /// Why it cannot be used, a lower-case fragment.
    pub why: &'static str,
    /// The request of ours that it seems to answer: that one fails at once.
    pub names: Option<u64>,
}

/// Reads one frame (a line, an HTTP body, the data of an SSE event) and hands over each message in
/// it: one, a batch, several on one line, or one behind a banner.
///
/// # Errors
/// [`BadFrame`] if a part of it is no message. Messages found before are handed over all the same.
pub fn read(frame: &[u8], each: &mut dyn FnMut(Incoming)) -> Result<(), BadFrame> {
    let _ = (frame, each);
    unimplemented!()
}

/// Error codes of JSON-RPC and MCP that we read or send.
pub mod codes {
    /// Not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// Not a request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// No such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// Wrong parameters, and not found since 2026-07-28.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The peer's fault.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// A resource is not there (before 2026-07-28).
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// Header and body differ (2026-07-28).
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The request needs a capability that it did not declare (2026-07-28).
    pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
    /// Another revision is wanted (2026-07-28).
    pub const UNSUPPORTED_VERSION: i64 = -32022;
    /// A person said no to a sampling request (handshake eras).
    pub const REJECTED_BY_USER: i64 = -1;
}
