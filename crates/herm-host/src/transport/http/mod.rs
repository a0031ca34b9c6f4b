//! Streamable HTTP, both eras.
//!
//! Each message is a POST of its own. What is under way lives in one set of streams that
//! [`HttpLink::next`] polls: no task, no queue between a response and the session, and dropping the
//! link ends everything. The modern era differs by what is left out: session, GET stream,
//! resumption, DELETE (H-25).

mod client;
mod context;
mod cursor;
pub(in crate::transport) mod events;
pub(in crate::transport) mod exchange;
mod listen;
pub(in crate::transport) mod outbox;
pub(in crate::transport) mod reply;
mod tls;

#[cfg(test)]
pub(in crate::transport) mod tests;

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::{self, AbortHandle, Abortable, SelectAll, Stream};
use herm_core::config::{HttpTarget, Revision};

use self::context::Context;
use self::exchange::{Exchange, Step};
use self::listen::{Heard, Listen};
use self::outbox::Outbox;
use super::{Graces, LinkError, LinkEvent, NotSent, OutKind, Outgoing};

pub(crate) use client::Client;

/// Requests that may be open at once.
const OPEN_MAX: usize = 1024;

/// Answered streams that are read to their end at once; over it the connection is given up.
const DRAINS_MAX: usize = 64;

/// How long a notification or reply may take to be accepted before the next one goes.
pub(in crate::transport) const TELL_LIMIT: Duration = Duration::from_secs(30);

/// How long requests wait for the GET stream to be answered, before they go without.
const ASK_LIMIT: Duration = Duration::from_millis(250);

/// What came of one step of what is under way.
enum Done {
    Exchange(u64, Step),
    /// An exchange has ended.
    Ended(u64),
    Told(Result<reqwest::Response, LinkError>),
    Heard(LinkEvent),
    /// The GET stream is there, refused, or no longer waited for.
    Asked,
    /// A response nobody wants was read.
    Drained,
}

type Work = Pin<Box<dyn Stream<Item = Done> + Send>>;

/// A link over Streamable HTTP.
pub(crate) struct HttpLink {
    context: Arc<Context>,
    outbox: Outbox,
    work: SelectAll<Work>,
    /// Requests that are not settled.
    open: HashMap<u64, AbortHandle>,
    /// Settled ones whose stream is still read.
    draining: HashMap<u64, AbortHandle>,
    listen: Listening,
    over: Option<LinkError>,
}

/// The GET stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Listening {
    /// Not asked for, or never to be.
    No,
    /// To be asked for, after `initialized`.
    Wanted,
    /// Asked for: once per link.
    Asked,
}

impl HttpLink {
    /// No traffic yet; `limit` bounds a body and an event.
    pub(crate) fn new(client: Client, _target: &HttpTarget, limit: usize) -> Self {
        Self {
            context: Arc::new(Context::new(client, limit)),
            outbox: Outbox::default(),
            work: SelectAll::new(),
            open: HashMap::new(),
            draining: HashMap::new(),
            listen: Listening::No,
            over: None,
        }
    }

    /// Takes a message: it goes with the next poll of [`HttpLink::next`].
    pub(crate) fn send(&mut self, message: Outgoing) -> Result<(), NotSent> {
        if self.over.is_some() {
            return Err(NotSent::Closed);
        }
        if matches!(message.kind, OutKind::Request(_)) && self.open.len() >= OPEN_MAX {
            return Err(NotSent::Full);
        }
        self.outbox.push(message)?;
        self.start();
        Ok(())
    }

    /// The next event. Cancel-safe: what is under way lives in the link.
    pub(crate) async fn next(&mut self) -> LinkEvent {
        loop {
            if let Some(error) = &self.over {
                return LinkEvent::Closed(error.clone());
            }
            self.start();
            let done = match self.work.next().await {
                Some(done) => done,
                None => std::future::pending().await,
            };
            if let Some(event) = self.took(done) {
                return event;
            }
        }
    }

    /// Drops the exchange of this request.
    pub(crate) fn abandon(&mut self, id: u64) {
        self.outbox.forget(id);
        if let Some(handle) = self.open.remove(&id) {
            handle.abort();
        }
    }

    /// From now on this revision is spoken; a handshake one asks for the GET stream.
    pub(crate) fn opened(&mut self, revision: Revision) {
        self.context.opened(revision);
        if revision != Revision::V2026_07_28 && self.listen == Listening::No {
            self.listen = Listening::Wanted;
        }
    }

    /// True if the server has given a session id.
    pub(crate) fn has_session(&self) -> bool {
        self.context.has_session()
    }

    /// True if the server has said that it does not know the session.
    pub(crate) fn is_forgotten(&self) -> bool {
        self.context.is_lost()
    }

    /// Drops everything and ends the session.
    pub(crate) async fn close(mut self, _graces: Graces) -> LinkError {
        self.work.clear();
        self.context.leave().await;
        self.over.unwrap_or(LinkError::Closed)
    }

    /// Puts under way whatever may go.
    fn start(&mut self) {
        self.listen();
        while self.open.len() < OPEN_MAX
            && let Some(message) = self.outbox.request()
        {
            if let OutKind::Request(id) = message.kind {
                self.exchange(id, message);
            }
        }
        if let Some(message) = self.outbox.tell() {
            let post = self.context.post(message);
            let context = Arc::clone(&self.context);
            self.once(async move {
                let told = tokio::time::timeout(TELL_LIMIT, context.deliver(&post));
                Done::Told(told.await.unwrap_or(Err(LinkError::Dropped)))
            });
        }
    }

    /// Asks for the GET stream once `initialized` has arrived.
    fn listen(&mut self) {
        if self.listen != Listening::Wanted || self.outbox.opening() {
            return;
        }
        self.listen = Listening::Asked;
        self.outbox.asking(true);
        let listen = Listen::new(Arc::clone(&self.context));
        let heard = stream::unfold(listen, Listen::step).map(|heard| match heard {
            Heard::Open => Done::Asked,
            Heard::Event(event) => Done::Heard(event),
        });
        // It ends where the server has no such stream.
        let refused = stream::once(std::future::ready(Done::Asked));
        self.work.push(heard.chain(refused).boxed());
        self.once(async {
            tokio::time::sleep(ASK_LIMIT).await;
            Done::Asked
        });
    }

    fn exchange(&mut self, id: u64, message: Outgoing) {
        let post = self.context.post(message);
        let exchange = Exchange::new(Arc::clone(&self.context), id, post);
        let steps = stream::unfold(exchange, Exchange::step)
            .map(move |step| Done::Exchange(id, step))
            .chain(stream::once(std::future::ready(Done::Ended(id))));
        let (handle, registration) = AbortHandle::new_pair();
        self.work.push(Abortable::new(steps, registration).boxed());
        self.open.insert(id, handle);
    }

    fn once(&mut self, work: impl Future<Output = Done> + Send + 'static) {
        self.work.push(stream::once(work).boxed());
    }

    /// Notes what is done; an event if the session must know.
    fn took(&mut self, done: Done) -> Option<LinkEvent> {
        match done {
            Done::Exchange(id, step) => {
                if step.settled
                    && let Some(handle) = self.open.remove(&id)
                {
                    self.drain(id, handle);
                }
                step.event
            }
            Done::Ended(id) => {
                self.draining.remove(&id);
                None
            }
            Done::Told(Ok(response)) => {
                self.outbox.told();
                self.once(async move {
                    exchange::discard(response).await;
                    Done::Drained
                });
                None
            }
            Done::Told(Err(LinkError::SessionUnknown)) => {
                self.over = Some(LinkError::SessionUnknown);
                self.work.clear();
                Some(LinkEvent::Closed(LinkError::SessionUnknown))
            }
            Done::Told(Err(error)) => {
                tracing::debug!(class = error.class(), "a notification or reply was not accepted");
                self.outbox.told();
                None
            }
            Done::Heard(event) => Some(event),
            Done::Asked => {
                self.outbox.asking(false);
                None
            }
            Done::Drained => None,
        }
    }

    /// Lets an answered exchange read on, unless too many do.
    fn drain(&mut self, id: u64, handle: AbortHandle) {
        if self.draining.len() < DRAINS_MAX {
            self.draining.insert(id, handle);
        } else {
            handle.abort();
        }
    }
}

impl fmt::Debug for HttpLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpLink")
            .field("context", &self.context)
            .field("open", &self.open.len())
            .field("over", &self.over)
            .finish_non_exhaustive()
    }
}
