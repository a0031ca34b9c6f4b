//! Server-sent events by the web standard, with a bound on each event.

/// Of an event over the bound this much is kept, bytes: enough to find whose reply it was.
const KEPT: usize = 4 << 10;
/// The longest event id that we keep, bytes; a longer one could not be sent back in a header.
const MAX_ID: usize = 4 << 10;
/// Room for the name of a field beside its value, bytes.
const FIELD_NAME: usize = 64;
/// A buffer larger than this is given back after its event, bytes.
const SPARE: usize = 256 << 10;

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
    /// An event over the bound: the head of its data; the rest of it was dropped. Reported as soon
    /// as the bound is passed; the event itself is not dispatched any more.
    Oversized(Vec<u8>),
}

/// An incremental parser; feed it chunks as they come. An event that is not closed by a blank line
/// before the stream ends is dropped, as the standard says.
#[derive(Debug)]
pub struct Parser {
    limit: usize,
    /// The start of a line whose end has not come yet.
    line: Vec<u8>,
    /// The line is over the bound: the rest of it is skipped.
    line_too_long: bool,
    /// The last byte was a carriage return: a line feed right behind it ends no further line.
    after_return: bool,
    /// No line has ended yet, so a byte order mark may stand at the start of it.
    at_start: bool,
    event: Draft,
    last_id: Option<String>,
}

/// The event that is being read.
#[derive(Debug, Default)]
struct Draft {
    name: String,
    /// Absent until the first `data` line.
    data: Option<Vec<u8>>,
    /// The id that counts once the event is dispatched.
    id: Option<String>,
    oversized: bool,
}

impl Parser {
    /// `limit`: largest data of one event, bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            line_too_long: false,
            after_return: false,
            at_start: true,
            event: Draft::default(),
            last_id: None,
        }
    }

    /// The id of the last dispatched event that had or kept one: what `Last-Event-ID` sends. An
    /// empty one, which a server uses to reset it, counts as none.
    #[must_use]
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// Takes the next bytes and hands over what became complete.
    pub fn feed(&mut self, bytes: &[u8], each: &mut dyn FnMut(Found)) {
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            if std::mem::take(&mut self.after_return) && first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', rest) else {
                self.keep(rest, each);
                return;
            };
            self.after_return = rest[end] == b'\r';
            if self.line.is_empty() && !self.line_too_long && end <= self.longest_line() {
                self.whole_line(&rest[..end], each);
            } else {
                self.keep(&rest[..end], each);
                let line = std::mem::take(&mut self.line);
                if !std::mem::take(&mut self.line_too_long) {
                    self.whole_line(&line, each);
                }
                self.reuse(line);
            }
            self.at_start = false;
            rest = &rest[end + 1..];
        }
    }

    fn longest_line(&self) -> usize {
        self.limit.saturating_add(FIELD_NAME)
    }

    /// Keeps a part of a line, within the bound.
    fn keep(&mut self, part: &[u8], each: &mut dyn FnMut(Found)) {
        if self.line_too_long {
            return;
        }
        let room = self.longest_line() - self.line.len();
        self.line.extend_from_slice(&part[..part.len().min(room)]);
        if part.len() > room {
            self.line_too_long = true;
            let line = std::mem::take(&mut self.line);
            if let (b"data", value) = field(self.without_mark(&line)) {
                self.oversized(value, each);
            }
        }
    }

    /// Keeps the allocation of a line for the next one, unless it is large.
    fn reuse(&mut self, mut line: Vec<u8>) {
        if line.capacity() <= SPARE {
            line.clear();
            self.line = line;
        }
    }

    fn without_mark<'a>(&self, line: &'a [u8]) -> &'a [u8] {
        match line.strip_prefix(b"\xef\xbb\xbf") {
            Some(line) if self.at_start => line,
            _ => line,
        }
    }

    fn whole_line(&mut self, line: &[u8], each: &mut dyn FnMut(Found)) {
        let line = self.without_mark(line);
        if line.is_empty() {
            return self.dispatch(each);
        }
        match field(line) {
            (b"data", value) => self.data(value, each),
            (b"event", value) => self.event.name = lossy(value.to_vec()),
            (b"id", value) if value.len() <= MAX_ID && !value.contains(&0) => {
                self.event.id = Some(lossy(value.to_vec()));
            }
            (b"retry", value) if value.iter().all(u8::is_ascii_digit) => {
                let millis = std::str::from_utf8(value).ok().and_then(|v| v.parse().ok());
                millis.into_iter().for_each(|millis| each(Found::Retry(millis)));
            }
            _ => {} // a comment (its name is empty), an unknown field, a value of no use
        }
    }

    fn data(&mut self, value: &[u8], each: &mut dyn FnMut(Found)) {
        if self.event.oversized {
            return;
        }
        let known = self.event.data.as_ref().map_or(0, |data| data.len() + 1);
        if known.saturating_add(value.len()) > self.limit {
            return self.oversized(value, each);
        }
        match &mut self.event.data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => self.event.data = Some(value.to_vec()),
        }
    }

    fn oversized(&mut self, value: &[u8], each: &mut dyn FnMut(Found)) {
        if std::mem::replace(&mut self.event.oversized, true) {
            return;
        }
        let mut head = self.event.data.take().map_or_else(Vec::new, |mut data| {
            data.truncate(KEPT);
            data.push(b'\n');
            data
        });
        head.extend_from_slice(&value[..value.len().min(KEPT)]);
        head.truncate(KEPT);
        head.shrink_to_fit();
        each(Found::Oversized(head));
    }

    fn dispatch(&mut self, each: &mut dyn FnMut(Found)) {
        let Draft { name, data, id, oversized } = std::mem::take(&mut self.event);
        let has_id = id.is_some();
        if let Some(id) = id {
            self.last_id = Some(id).filter(|id| !id.is_empty());
        }
        if oversized || (data.is_none() && !has_id) {
            return;
        }
        each(Found::Event(Event {
            event: if name.is_empty() { "message".to_owned() } else { name },
            data: data.map(lossy).unwrap_or_default(),
            id: self.last_id.clone(),
        }));
    }
}

/// Name and value of a line; of the value one leading blank is dropped.
fn field(line: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b':', line) {
        Some(at) => {
            let value = &line[at + 1..];
            (&line[..at], value.strip_prefix(b" ").unwrap_or(value))
        }
        None => (line, b""),
    }
}

/// Text of bytes, without a copy if they are UTF-8.
fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests;
