//! Server-sent events from the body of a response.

use std::collections::VecDeque;

use herm_core::wire::sse::{Found, Parser};
use reqwest::Response;

/// The events of one response, read as they are asked for.
#[derive(Debug)]
pub(in crate::transport) struct Events {
    response: Response,
    parser: Parser,
    ready: VecDeque<Found>,
}

impl Events {
    /// `limit`: largest data of one event, bytes.
    pub(in crate::transport) fn new(response: Response, limit: usize) -> Self {
        Self { response, parser: Parser::new(limit), ready: VecDeque::new() }
    }

    /// The next event; nothing at the end, which for a stream is the same as a broken connection.
    /// An event whose blank line did not come is lost with the stream.
    ///
    /// Cancel-safe: what was read is kept.
    pub(in crate::transport) async fn next(&mut self) -> Option<Found> {
        loop {
            if let Some(found) = self.ready.pop_front() {
                return Some(found);
            }
            let Ok(Some(bytes)) = self.response.chunk().await else { return None };
            self.parser.feed(&bytes, &mut |found| self.ready.push_back(found));
        }
    }

    /// Reads up to `bytes` more and forgets them: at its end the connection is free again.
    pub(in crate::transport) async fn drain(mut self, bytes: usize) {
        let mut left = bytes;
        while let Ok(Some(chunk)) = self.response.chunk().await {
            match left.checked_sub(chunk.len()) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    }
}
