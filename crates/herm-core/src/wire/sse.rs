//! Server-sent events by the web standard, with a bound on each event.

/// One dispatched event.
#[derive(Debug, Eq, PartialEq)]
pub struct Event {
    /// `event`, `message` if absent.
    pub event: String,
    /// `data` lines joined by line feeds; may be empty (the priming event of MCP).
    pub data: String,
    /// The last event id seen so far on this stream, if any.
    pub id: Option<String>,
}

/// What the parser found.
#[derive(Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Found {
    /// An event. Also an event with an id and empty data.
    Event(Event),
    /// `retry`, milliseconds.
    Retry(u64),
    /// An event over the bound: the head of its data; the rest of it was dropped.
    Oversized(Vec<u8>),
}

/// An incremental parser; feed it chunks as they come.
#[derive(Debug)]
pub struct Parser {
    _limit: usize,
}

impl Parser {
    /// `limit`: largest data of one event, bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { _limit: limit }
    }

    /// Takes the next bytes and hands over what became complete.
    pub fn feed(&mut self, bytes: &[u8], each: &mut dyn FnMut(Found)) {
        let _ = (bytes, each);
        unimplemented!()
    }
}
