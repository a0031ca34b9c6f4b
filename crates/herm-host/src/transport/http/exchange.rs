//! One request of ours: its POST, the reply as a body or as a stream, and the resumptions of that
//! stream. Events come out one by one, so that nothing is read that nobody takes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use herm_core::wire::sse::{Event, Found};

use super::context::{Context, Post};
use super::cursor::Cursor;
use super::events::Events;
use super::reply::{self, Answer, Body};
use crate::transport::{LinkError, LinkEvent};

/// What is read of a stream after the response, so that its connection can be used again (H-5).
const REST: usize = 64 << 10;
const REST_LIMIT: Duration = Duration::from_secs(1);

/// One request on its way.
pub(super) struct Exchange {
    id: u64,
    context: Arc<Context>,
    cursor: Cursor,
    resumable: bool,
    state: State,
}

enum State {
    /// Not sent.
    Post(Post),
    /// The stream of the reply; the answer has not come.
    Reading(Box<Events>),
    /// The stream broke before the answer.
    Broken,
    /// The answer came; the rest of the stream is of no interest.
    Rest(Box<Events>),
    /// There will be no answer.
    Failing(LinkError),
    /// Nothing is left to do.
    Over,
}

/// What a step brought.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) event: Option<LinkEvent>,
    /// The request is answered or failed.
    pub(super) settled: bool,
}

impl Exchange {
    pub(super) fn new(context: Arc<Context>, id: u64, post: Post) -> Self {
        let resumable = post.resumable;
        Self { id, context, cursor: Cursor::default(), resumable, state: State::Post(post) }
    }

    /// Goes on to the next event; nothing when all is done.
    pub(super) async fn step(mut self) -> Option<(Step, Self)> {
        loop {
            match std::mem::replace(&mut self.state, State::Over) {
                State::Post(post) => match self.post(&post).await {
                    Ok(Some(frame)) => return Some(self.hand(frame)),
                    Ok(None) => {}
                    Err(error) => self.state = State::Failing(error),
                },
                State::Reading(events) => {
                    if let Some(frame) = self.read(events).await {
                        return Some(self.hand(frame));
                    }
                }
                State::Broken => self.state = self.resume().await,
                State::Rest(events) => {
                    drop(tokio::time::timeout(REST_LIMIT, events.drain(REST)).await);
                }
                State::Failing(error) => {
                    let event = LinkEvent::Failed { id: self.id, error };
                    return Some((Step { event: Some(event), settled: true }, self));
                }
                State::Over => return None,
            }
        }
    }

    fn hand(self, event: LinkEvent) -> (Step, Self) {
        let settled = matches!(self.state, State::Rest(_) | State::Over);
        (Step { event: Some(event), settled }, self)
    }

    /// Sends it. The frame of a body, or nothing if a stream follows.
    async fn post(&mut self, post: &Post) -> Result<Option<LinkEvent>, LinkError> {
        let response = self.context.deliver(post).await?;
        let limit = self.context.limit;
        if reply::is_events(&response) {
            self.state = State::Reading(Box::new(Events::new(response, limit)));
            return Ok(None);
        }
        let media_type = reply::media_type(response.headers());
        match reply::body(response, limit).await {
            Body::Broken { read, of } => Err(cut(read, of)),
            Body::Over(head) => {
                self.state = State::Failing(LinkError::TooLarge { limit });
                Ok(Some(LinkEvent::Oversized { head, of: Some(self.id) }))
            }
            Body::Whole(body) if media_type != "text/html" && reply::may_be_frame(&body) => {
                if reply::answer(&body, self.id) != Answer::Ours {
                    // The session takes an error without an id for this request and forgets it,
                    // so that this second verdict is not seen.
                    self.state = State::Failing(reply::not_mcp(&media_type, &body));
                }
                Ok(Some(LinkEvent::Frame { bytes: body, of: Some(self.id) }))
            }
            Body::Whole(body) => Err(reply::not_mcp(&media_type, &body)),
        }
    }

    /// Reads the stream up to the next message.
    async fn read(&mut self, mut events: Box<Events>) -> Option<LinkEvent> {
        let of = Some(self.id);
        while let Some(found) = events.next().await {
            match found {
                Found::Retry(retry) => self.cursor.wait(retry),
                Found::Oversized(head) if is_answer(&head) => {
                    let limit = self.context.limit;
                    self.state = State::Failing(LinkError::TooLarge { limit });
                    return Some(oversized(head, of));
                }
                Found::Oversized(head) => {
                    // A notification that is lost costs the request nothing.
                    self.state = State::Reading(events);
                    return Some(oversized(head, None));
                }
                Found::Event(event) => {
                    self.cursor.saw(&event);
                    let Some(bytes) = frame(event) else { continue };
                    self.state = match reply::answer(&bytes, self.id) {
                        Answer::Ours => State::Rest(events),
                        Answer::Nameless => State::Failing(reply::not_mcp("an error", &bytes)),
                        Answer::Other => State::Reading(events),
                    };
                    return Some(LinkEvent::Frame { bytes, of });
                }
                _ => {}
            }
        }
        self.state = State::Broken;
        None
    }

    /// Waits as the server asked and gets the stream back, as long as that leads on (H-14). A
    /// modern stream is lost with its connection (H-26).
    async fn resume(&mut self) -> State {
        if !self.resumable {
            return State::Failing(LinkError::Dropped);
        }
        while let Some((last, wait)) = self.cursor.resume() {
            tokio::time::sleep(wait).await;
            match self.context.get(Some(&last)).await {
                Ok(response) if response.status().is_success() && reply::is_events(&response) => {
                    return State::Reading(Box::new(Events::new(response, self.context.limit)));
                }
                Ok(response) if !may_recover(response.status().as_u16()) => break,
                Ok(_) | Err(LinkError::Connect { .. } | LinkError::Dropped) => {}
                Err(_) => break,
            }
        }
        State::Failing(LinkError::Dropped)
    }
}

/// The error of a body that ended early.
fn cut(read: usize, of: Option<u64>) -> LinkError {
    let of = of.map(|of| format!(" of {of}")).unwrap_or_default();
    LinkError::BadHttp { why: format!("the body ended early, after {read}{of} bytes") }
}

/// Reads a response that nobody wants, as far as its connection is worth it.
pub(in crate::transport) async fn discard(response: reqwest::Response) {
    drop(tokio::time::timeout(REST_LIMIT, Events::new(response, 0).drain(REST)).await);
}

/// A status that says nothing about the stream asked for.
pub(super) fn may_recover(status: u16) -> bool {
    status == 429 || status >= 500
}

/// The message of an event: those without a name are messages, those of other names are not, and
/// empty data is a mere place in the stream (H-4).
pub(in crate::transport) fn frame(event: Event) -> Option<Bytes> {
    let named = event.event.is_empty() || event.event == "message";
    (named && !event.data.trim().is_empty()).then(|| event.data.into())
}

/// The report of an event over the limit.
pub(in crate::transport) fn oversized(mut head: Vec<u8>, of: Option<u64>) -> LinkEvent {
    head.truncate(reply::HEAD);
    LinkEvent::Oversized { head: head.into(), of }
}

/// On a reply stream, what names no method is the answer; the id itself may lie behind the head.
fn is_answer(head: &[u8]) -> bool {
    memchr::memmem::find(head, b"\"method\"").is_none()
}
