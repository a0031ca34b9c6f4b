//! The GET stream: what the server says unasked (H-13).

use std::sync::Arc;
use std::time::Duration;

use herm_core::wire::sse::Found;
use tokio::time::Instant;

use super::context::Context;
use super::cursor::Cursor;
use super::events::Events;
use super::exchange::{frame, may_recover, oversized};
use super::reply;
use crate::transport::{LinkError, LinkEvent};

const BACKOFF_MIN: Duration = Duration::from_secs(1);
const BACKOFF_MAX: Duration = Duration::from_secs(60);

/// Least wait before the stream is asked for again, whatever the server says.
const RETRY_MIN: Duration = Duration::from_millis(100);

/// What came of the stream.
pub(super) enum Heard {
    /// It is there.
    Open,
    /// Something came on it.
    Event(LinkEvent),
}

/// The stream, reopened when it ends. A refusal is final: the server has none.
pub(super) struct Listen {
    context: Arc<Context>,
    cursor: Cursor,
    events: Option<Box<Events>>,
    since: Instant,
    /// It was open once.
    known: bool,
    backoff: Duration,
}

impl Listen {
    pub(super) fn new(context: Arc<Context>) -> Self {
        Self {
            context,
            cursor: Cursor::default(),
            events: None,
            since: Instant::now(),
            known: false,
            backoff: BACKOFF_MIN,
        }
    }

    /// Goes on to the next event, the first opening among them; nothing if the server has no such
    /// stream.
    pub(super) async fn step(mut self) -> Option<(Heard, Self)> {
        loop {
            let mut events = match self.events.take() {
                Some(events) => events,
                None => {
                    let first = !self.known;
                    let events = self.open().await?;
                    if first {
                        self.events = Some(events);
                        return Some((Heard::Open, self));
                    }
                    events
                }
            };
            while let Some(found) = events.next().await {
                match found {
                    Found::Retry(retry) => self.cursor.wait(retry),
                    Found::Oversized(head) => {
                        self.events = Some(events);
                        return Some((Heard::Event(oversized(head, None)), self));
                    }
                    Found::Event(event) => {
                        self.cursor.saw(&event);
                        let Some(bytes) = frame(event) else { continue };
                        self.events = Some(events);
                        self.backoff = BACKOFF_MIN;
                        return Some((Heard::Event(LinkEvent::Frame { bytes, of: None }), self));
                    }
                    _ => {}
                }
            }
            self.pause().await;
        }
    }

    /// Asks for the stream until it is there or refused.
    async fn open(&mut self) -> Option<Box<Events>> {
        loop {
            self.since = Instant::now();
            match self.context.get(self.cursor.last()).await {
                Ok(response) if response.status().is_success() && reply::is_events(&response) => {
                    self.known = true;
                    return Some(Box::new(Events::new(response, self.context.limit)));
                }
                Ok(response) if self.known && may_recover(response.status().as_u16()) => {}
                Err(LinkError::Connect { .. } | LinkError::Dropped | LinkError::BadHttp { .. }) => {
                }
                Ok(response) => {
                    tracing::debug!(status = response.status().as_u16(), "no GET stream");
                    return None;
                }
                Err(error) => {
                    tracing::debug!(class = error.class(), "no GET stream");
                    return None;
                }
            }
            self.pause().await;
        }
    }

    /// Waits before the next attempt: as the server asked, else longer each time, unless the
    /// stream had lasted longer than that.
    async fn pause(&mut self) {
        let wait = match self.cursor.retry() {
            Some(retry) => retry.max(RETRY_MIN),
            None if self.since.elapsed() > self.backoff => BACKOFF_MIN,
            None => self.backoff,
        };
        self.backoff = (wait * 2).clamp(BACKOFF_MIN, BACKOFF_MAX);
        let jitter = if self.cursor.retry().is_some() { 0 } else { fastrand::u64(0..200) };
        tokio::time::sleep(wait + Duration::from_millis(jitter)).await;
    }
}
