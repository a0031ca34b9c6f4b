//! Bytes in, lines out: cut on byte 0A before anything is decoded, with a bound on each line.
//!
//! Nothing is looked at but the line feed: a carriage return before it, a byte order mark and bytes
//! that are no UTF-8 are left to [`super::read`]. A line leaves as a part of the buffer that it was
//! read into, without a copy.

use bytes::{Bytes, BytesMut};

/// Room for one read, in bytes.
const READ: usize = 8 * 1024;
/// What is kept of a line that is over the bound, in bytes.
const HEAD: usize = 4 * 1024;
/// A buffer over this is given away with the line that needed it, in bytes.
const KEEP: usize = 64 * 1024;
/// What is copied into a new buffer when a big one is given away, at most, in bytes.
const REST: usize = 16 * 1024;

/// One line, without its line feed.
#[derive(Debug, Eq, PartialEq)]
pub enum Line {
    /// All of it.
    Whole(Bytes),
    /// It is over the bound; this is its start, 4 KiB at most. The rest of it is dropped.
    Oversized(Bytes),
}

/// The cutter. Never holds more than the bound and one read, but for the doubling of its buffer.
/// After each read, [`Lines::cut`] is to be called until it gives nothing.
#[derive(Debug)]
pub struct Lines {
    buffer: BytesMut,
    /// No line feed before this place.
    scanned: usize,
    /// The line in the buffer is over the bound and was reported: the rest of it is dropped.
    skipping: bool,
    limit: usize,
}

impl Lines {
    /// `limit`: the longest line, bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { buffer: BytesMut::new(), scanned: 0, skipping: false, limit }
    }

    /// Where to read into, behind what is there: room for 4 KiB at least.
    pub fn room(&mut self) -> &mut BytesMut {
        // Doubled for a long line, so that it is copied a few times and not once for each read;
        // but not beyond what the bound lets in.
        let left = self.limit.saturating_sub(self.buffer.len()).saturating_add(READ);
        if self.buffer.capacity() - self.buffer.len() < READ / 2 {
            self.buffer.reserve(self.buffer.len().clamp(READ, left.max(READ)));
        }
        &mut self.buffer
    }

    /// True between two lines: nothing is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Takes bytes that were read elsewhere.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next line that is there.
    pub fn cut(&mut self) -> Option<Line> {
        loop {
            let unseen = self.buffer.get(self.scanned..).unwrap_or_default();
            let Some(at) = memchr::memchr(b'\n', unseen) else { return self.wait_for_more() };
            let end = self.scanned + at;
            let mut line = self.buffer.split_to(end + 1);
            self.scanned = 0;
            self.give_back(line.len());
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            line.truncate(end);
            return Some(self.judge(line));
        }
    }

    /// The stream has ended: what came after the last line feed, if anything.
    pub fn rest(&mut self) -> Option<Line> {
        let rest = std::mem::take(&mut self.buffer);
        let dropped = std::mem::take(&mut self.skipping);
        self.scanned = 0;
        (!dropped && !rest.is_empty()).then(|| self.judge(rest))
    }

    fn judge(&self, line: BytesMut) -> Line {
        if line.len() > self.limit {
            Line::Oversized(head(&line))
        } else {
            Line::Whole(line.freeze())
        }
    }

    /// No line feed in all of the buffer.
    fn wait_for_more(&mut self) -> Option<Line> {
        self.scanned = self.buffer.len();
        if !self.skipping && self.buffer.len() <= self.limit {
            return None;
        }
        let reported = std::mem::replace(&mut self.skipping, true);
        let head = (!reported).then(|| Line::Oversized(head(&self.buffer)));
        self.scanned = 0;
        if self.buffer.capacity() > KEEP {
            self.buffer = BytesMut::new();
        } else {
            self.buffer.clear();
        }
        head
    }

    /// Leaves the buffer to the lines that were cut from it: a big one, and one with nothing left.
    fn give_back(&mut self, cut: usize) {
        let big = cut + self.buffer.capacity() > KEEP && self.buffer.len() <= REST;
        if big || self.buffer.is_empty() {
            self.buffer = BytesMut::from(&self.buffer[..]);
        }
    }
}

fn head(line: &[u8]) -> Bytes {
    Bytes::copy_from_slice(&line[..line.len().min(HEAD)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(lines: &mut Lines, bytes: &[u8]) -> Vec<Line> {
        lines.room().extend_from_slice(bytes);
        std::iter::from_fn(|| lines.cut()).collect()
    }

    fn whole(text: &'static str) -> Line {
        Line::Whole(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn however_the_bytes_are_split_the_lines_are_the_same() {
        let text = "{\"a\":\"\u{1f600}\"}\n\n42\r\n{} ".as_bytes();
        for split in 0..=text.len() {
            let mut lines = Lines::new(100);
            let mut got = feed(&mut lines, &text[..split]);
            got.extend(feed(&mut lines, &text[split..]));
            got.extend(lines.rest());
            let expected = [whole("{\"a\":\"\u{1f600}\"}"), whole(""), whole("42\r"), whole("{} ")];
            assert_eq!(got, expected, "split at {split}");
        }
    }

    #[test]
    fn nothing_but_the_line_feed_is_looked_at() {
        let mut lines = Lines::new(100);
        let got = feed(&mut lines, b"\xef\xbb\xbf{}\r\n\xff\x00\r{}\n");
        let bytes = |bytes: &'static [u8]| Line::Whole(Bytes::from_static(bytes));
        assert_eq!(got, [bytes(b"\xef\xbb\xbf{}\r"), bytes(b"\xff\x00\r{}")]);
        assert_eq!((lines.is_empty(), lines.rest()), (true, None));
    }

    #[test]
    fn the_end_of_a_line_over_the_bound_is_no_line() {
        let mut lines = Lines::new(10);
        assert_eq!(feed(&mut lines, &[b'x'; 11]).len(), 1);
        assert_eq!(feed(&mut lines, b"{}"), []);
        assert_eq!(lines.rest(), None);
        assert_eq!(feed(&mut lines, b"{}\n"), [whole("{}")], "it begins anew");
    }

    #[test]
    fn a_line_over_the_bound_is_reported_once_and_its_neighbours_live() {
        for chunk in [1, 3, 7, 1000] {
            let mut text = b"before\n".to_vec();
            text.extend(vec![b'x'; 50]);
            text.extend(b"\nafter\n");
            let mut lines = Lines::new(10);
            let got: Vec<Line> =
                text.chunks(chunk).flat_map(|bytes| feed(&mut lines, bytes)).collect();
            assert_eq!(got.len(), 3, "in chunks of {chunk}: {got:?}");
            assert_eq!((&got[0], &got[2]), (&whole("before"), &whole("after")));
            assert!(matches!(&got[1], Line::Oversized(head) if head.len() > 10));
        }
    }

    #[test]
    fn an_endless_line_needs_no_memory() {
        let mut lines = Lines::new(1024 * 1024);
        let piece = vec![b'x'; READ];
        let mut reported = 0;
        for _ in 0..200 * 128 {
            reported += feed(&mut lines, &piece).len();
            assert!(lines.buffer.capacity() <= 3 * 1024 * 1024);
        }
        assert_eq!(reported, 1);
        assert!(lines.buffer.capacity() <= KEEP, "{}", lines.buffer.capacity());
    }

    #[test]
    fn a_big_buffer_leaves_with_its_line() {
        let mut lines = Lines::new(16 * 1024 * 1024);
        let mut text = vec![b'x'; 5 * 1024 * 1024];
        text.extend(b"\nnext");
        assert_eq!(feed(&mut lines, &text).len(), 1);
        assert!(lines.room().capacity() <= KEEP);
        assert_eq!(feed(&mut lines, b"\n"), [whole("next")]);
    }
}
