//! Bytes that are on their way to the child, bounded.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;

use super::NotSent;

/// A further message is refused while more than this is unsent, in bytes. So the most that is held
/// is this and one message.
const FULL: usize = 1024 * 1024;
/// A bigger buffer is given back once it is empty, in bytes.
const KEEP: usize = 64 * 1024;

/// Messages, each with its line feed; the start may be written already.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    bytes: Vec<u8>,
    written: usize,
}

impl Outbox {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Takes a message, or says that too much is unsent.
    pub(super) fn push(&mut self, body: String) -> Result<(), NotSent> {
        if self.bytes.len() - self.written > FULL {
            return Err(NotSent::Full);
        }
        if self.is_empty() && body.len() > KEEP {
            // Not worth a copy.
            self.bytes = body.into_bytes();
            self.bytes.push(b'\n');
            return Ok(());
        }
        if self.bytes.capacity() - self.bytes.len() <= body.len() {
            // Better to move what is left than to grow around what is gone.
            self.bytes.drain(..std::mem::take(&mut self.written));
        }
        self.bytes.reserve(body.len() + 1);
        self.bytes.extend_from_slice(body.as_bytes());
        self.bytes.push(b'\n');
        Ok(())
    }

    /// Writes once. Ready with the number of bytes taken; what is left stays for the next time.
    pub(super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        pipe: &mut (impl AsyncWrite + Unpin),
    ) -> Poll<io::Result<usize>> {
        let written = std::task::ready!(Pin::new(pipe).poll_write(cx, &self.bytes[self.written..]));
        if let Ok(n) = written {
            self.written += n;
            if self.written == self.bytes.len() {
                self.clear();
            }
        }
        Poll::Ready(written)
    }

    /// Forgets what is unsent.
    pub(super) fn clear(&mut self) {
        self.written = 0;
        self.bytes.clear();
        if self.bytes.capacity() > KEEP {
            self.bytes = Vec::new();
        }
    }
}
