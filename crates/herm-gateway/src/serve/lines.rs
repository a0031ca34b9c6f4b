//! Bytes in, lines out: cut on byte 0A before anything is decoded.

use bytes::{Bytes, BytesMut};

/// Room for one read, in bytes.
const READ: usize = 8 * 1024;
/// A buffer over this is given away with the line that needed it, in bytes.
const KEEP: usize = 64 * 1024;

/// A line over the bound: it was dropped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct TooLong;

/// The cutter. Holds no more than the bound and one read, but for the doubling of its buffer.
#[derive(Debug)]
pub(super) struct Lines {
    buffer: BytesMut,
    /// No line feed before this place.
    scanned: usize,
    /// The line in the buffer is over the bound and was reported: the rest of it is dropped.
    skipping: bool,
    limit: usize,
}

impl Lines {
    pub(super) fn new(limit: usize) -> Self {
        Self { buffer: BytesMut::new(), scanned: 0, skipping: false, limit }
    }

    /// Where to read into.
    pub(super) fn room(&mut self) -> &mut BytesMut {
        if self.buffer.capacity() - self.buffer.len() < READ / 2 {
            let left = self.limit.saturating_sub(self.buffer.len()).saturating_add(READ);
            self.buffer.reserve(self.buffer.len().clamp(READ, left));
        }
        &mut self.buffer
    }

    /// The next line that is there, without its line feed.
    pub(super) fn cut(&mut self) -> Option<Result<Bytes, TooLong>> {
        loop {
            let unseen = self.buffer.get(self.scanned..).unwrap_or_default();
            let Some(at) = memchr::memchr(b'\n', unseen) else { return self.wait_for_more() };
            let end = self.scanned + at;
            let mut line = self.buffer.split_to(end + 1);
            self.scanned = 0;
            if self.buffer.is_empty() {
                self.buffer = BytesMut::new();
            }
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            line.truncate(end);
            return Some(if end > self.limit { Err(TooLong) } else { Ok(line.freeze()) });
        }
    }

    /// The stream has ended: what came after the last line feed.
    pub(super) fn rest(&mut self) -> Option<Bytes> {
        let rest = std::mem::take(&mut self.buffer);
        let dropped = std::mem::take(&mut self.skipping);
        self.scanned = 0;
        (!dropped && !rest.is_empty()).then(|| rest.freeze())
    }

    fn wait_for_more(&mut self) -> Option<Result<Bytes, TooLong>> {
        self.scanned = self.buffer.len();
        if !self.skipping && self.buffer.len() <= self.limit {
            return None;
        }
        let reported = std::mem::replace(&mut self.skipping, true);
        self.scanned = 0;
        if self.buffer.capacity() > KEEP {
            self.buffer = BytesMut::new();
        } else {
            self.buffer.clear();
        }
        (!reported).then_some(Err(TooLong))
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, TooLong};

    #[test]
    fn however_the_bytes_are_split_a_long_line_costs_itself_only() {
        let text = b"{}\n\n01234567890123456789\n{\"a\":1}\r\nlast";
        for split in 0..=text.len() {
            let mut lines = Lines::new(10);
            let mut got = Vec::new();
            for part in [&text[..split], &text[split..]] {
                lines.room().extend_from_slice(part);
                while let Some(line) = lines.cut() {
                    got.push(line.map(|line| String::from_utf8(line.to_vec()).unwrap()));
                }
            }
            got.extend(lines.rest().map(|line| Ok(String::from_utf8(line.to_vec()).unwrap())));
            let whole = |text: &str| Ok(text.to_owned());
            let expected =
                [whole("{}"), whole(""), Err(TooLong), whole("{\"a\":1}\r"), whole("last")];
            assert_eq!(got, expected, "split at {split}");
        }
    }
}
