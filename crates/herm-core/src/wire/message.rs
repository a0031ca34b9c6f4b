//! Reading one frame.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::broken::{behind_the_banner, names, spread_id};
use super::json::{self, integer, is_null, is_object};

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
        json::member(self.raw.get(), "data").map(RawValue::to_owned)
    }

    /// Reads an error of any shape; one that is a bare text is its own message.
    fn read(raw: &RawValue) -> Self {
        let (mut code, mut message) = (0, None);
        if is_object(raw) {
            json::members(raw.get(), &mut |key, value| match &*key {
                "code" => code = integer(value.get()).unwrap_or(0),
                "message" => message = json::owned_text(value),
                _ => {}
            });
        } else {
            message = json::owned_text(raw);
        }
        Self { code, message: message.unwrap_or_default(), raw: raw.to_owned() }
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
/// An empty frame is no fault. Bytes that are no UTF-8 become U+FFFD. The head of an oversized
/// frame may be read too: it is a bad frame that may name a request.
///
/// # Errors
/// [`BadFrame`] if a part of it is no message. Messages found before are handed over all the same.
pub fn read(frame: &[u8], each: &mut dyn FnMut(Incoming)) -> Result<(), BadFrame> {
    let text = match std::str::from_utf8(frame) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(frame),
    };
    let mut rest = text.trim_matches(|c: char| c == '\u{feff}' || c.is_whitespace());
    let mut faults = Faults::default();
    if let Some(id) = spread_id(rest) {
        faults.note(BadFrame { why: "JSON over several lines, not on one", names: Some(id) });
    }
    let mut behind_banner = false;
    while !rest.is_empty() {
        let mut parts = serde_json::Deserializer::from_str(rest).into_iter::<Part<'_>>();
        for part in parts.by_ref().map_while(Result::ok) {
            part.hand_over(behind_banner, each, &mut faults);
        }
        let broken = rest.get(parts.byte_offset()..).unwrap_or_default().trim_start();
        if broken.is_empty() {
            break;
        }
        let Some(next) = behind_the_banner(broken) else {
            faults.note(BadFrame { why: "not JSON", names: names(broken) });
            break;
        };
        behind_banner = true;
        rest = next;
    }
    faults.0.map_or(Ok(()), Err)
}

/// The first fault of a frame, and the first request that any fault of it names.
#[derive(Default)]
struct Faults(Option<BadFrame>);

impl Faults {
    fn note(&mut self, fault: BadFrame) {
        match &mut self.0 {
            Some(first) => first.names = first.names.or(fault.names),
            None => self.0 = Some(fault),
        }
    }
}

/// A JSON value at the top of a frame.
enum Part<'a> {
    One(Envelope<'a>),
    Batch(Vec<&'a RawValue>),
}

impl<'a> Part<'a> {
    fn hand_over(self, strict: bool, each: &mut dyn FnMut(Incoming), faults: &mut Faults) {
        let mut sort = |envelope: Envelope<'a>| match envelope.sort(strict) {
            Ok(incoming) => each(incoming),
            Err(fault) => faults.note(fault),
        };
        match self {
            Self::One(envelope) => sort(envelope),
            Self::Batch(parts) if parts.is_empty() => sort(Envelope::default()),
            Self::Batch(parts) => {
                for part in parts {
                    sort(serde_json::from_str(part.get()).unwrap_or_default());
                }
            }
        }
    }
}

/// The members of one message, as written. Repeated keys are fine: the last one counts.
#[derive(Default)]
struct Envelope<'a> {
    jsonrpc: bool,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

impl<'a> Envelope<'a> {
    fn set(&mut self, key: &str, value: &'a RawValue) {
        match key {
            "jsonrpc" => self.jsonrpc = true,
            "id" => self.id = Some(value).filter(|id| !is_null(id)),
            "method" => self.method = Some(value),
            "params" => self.params = Some(value),
            "result" => self.result = Some(value),
            "error" => self.error = Some(value).filter(|error| !is_null(error)),
            _ => {}
        }
    }

    /// `strict`: only what says that it is JSON-RPC, for it was found among other words.
    fn sort(self, strict: bool) -> Result<Incoming, BadFrame> {
        let bad = |why, names| Err(BadFrame { why, names });
        if strict && !self.jsonrpc {
            return bad("not JSON-RPC", None);
        }
        if let Some(method) = self.method.and_then(json::owned_text) {
            let params = self.params.map(RawValue::to_owned);
            return Ok(match self.id {
                Some(id) => Incoming::Request { id: id.to_owned(), method, params },
                None => Incoming::Notification { method, params },
            });
        }
        let id = self.id.map(|id| own_id(id.get()));
        let reply = match (self.error, self.result) {
            (Some(error), _) => Err(PeerError::read(error)),
            (None, Some(result)) => Ok(result.to_owned()),
            (None, None) if id.is_some() => return bad("neither result nor error", id.flatten()),
            (None, None) => return bad("not JSON-RPC", None),
        };
        Ok(match (id, reply) {
            (Some(Some(id)), reply) => Incoming::Reply { id, reply },
            (None, Err(error)) => Incoming::Unaddressed(error),
            _ => Incoming::Stray,
        })
    }
}

/// An id of ours in any spelling in which a peer may echo it.
pub(super) fn own_id(token: &str) -> Option<u64> {
    let digits = token.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(token);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().or_else(|| integer(digits)?.try_into().ok())
}

impl<'de> Deserialize<'de> for Part<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PartVisitor)
    }
}

struct PartVisitor;

impl<'de> Visitor<'de> for PartVisitor {
    type Value = Part<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message or a batch")
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Part<'de>, M::Error> {
        EnvelopeVisitor.visit_map(map).map(Part::One)
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Part<'de>, S::Error> {
        let mut parts = Vec::new();
        while let Some(part) = seq.next_element()? {
            parts.push(part);
        }
        Ok(Part::Batch(parts))
    }
}

impl<'de> Deserialize<'de> for Envelope<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EnvelopeVisitor)
    }
}

struct EnvelopeVisitor;

impl<'de> Visitor<'de> for EnvelopeVisitor {
    type Value = Envelope<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON-RPC message")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Envelope<'de>, M::Error> {
        let mut found = Envelope::default();
        // Keys as raw tokens: one with a lone surrogate must not cost the message.
        while let Some(key) = map.next_key::<&RawValue>()? {
            let value = map.next_value()?;
            found.set(&json::text(key.get()).unwrap_or_default(), value);
        }
        Ok(found)
    }
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

#[cfg(test)]
mod tests;
