//! What waits to be written, in order.

use std::collections::VecDeque;

/// Over so many bytes nothing that can wait is added.
const FULL: usize = 4 << 20;

/// Lines that wait, the first perhaps written in part.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    lines: VecDeque<String>,
    /// Bytes of the first line that are written.
    written: usize,
    /// Bytes of all lines.
    size: usize,
}

impl Outbox {
    /// Adds a message; its line feed is put behind it.
    pub(super) fn push(&mut self, mut message: String) {
        message.push('\n');
        self.size += message.len();
        self.lines.push_back(message);
    }

    /// Whether more may be read from whoever makes us write.
    pub(super) fn has_room(&self) -> bool {
        self.size < FULL
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// What is to be written next.
    pub(super) fn front(&self) -> &[u8] {
        let line = self.lines.front().map(String::as_bytes).unwrap_or_default();
        line.get(self.written..).unwrap_or_default()
    }

    /// So many bytes of [`Self::front`] were written.
    pub(super) fn advance(&mut self, count: usize) {
        self.written += count;
        let Some(line) = self.lines.front() else { return };
        if self.written >= line.len() {
            self.size -= line.len();
            self.written = 0;
            self.lines.pop_front();
        }
    }
}
