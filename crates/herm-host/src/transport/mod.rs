//! A link: frames out, frames in, whatever carries them.
//!
//! A link knows nothing of ids it did not get with a message, of eras beyond its headers, or of
//! calls. The session task owns it, calls [`Link::send`] (which never waits) and polls
//! [`Link::next`] (which drives reading *and* writing, and may be dropped at any time without loss).

pub(crate) mod error;
pub(crate) mod http;
pub(crate) mod page;
pub(crate) mod sse;
pub(crate) mod stdio;

use std::time::Duration;

use bytes::Bytes;
use herm_core::config::Revision;

pub(crate) use error::LinkError;

/// One message on its way out.
#[derive(Debug)]
pub(crate) struct Outgoing {
    /// What kind of message `body` is.
    pub(crate) kind: OutKind,
    /// The method, for a request or a notification; empty for a reply.
    pub(crate) method: String,
    /// Compact JSON, without the line feed.
    pub(crate) body: String,
    /// Mirrored headers of the modern era; only HTTP sends them.
    pub(crate) headers: Vec<(String, String)>,
}

/// Kinds of message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum OutKind {
    /// Our request with this id.
    Request(u64),
    /// Our notification.
    Notification,
    /// Our answer to a request of the server's.
    Reply,
}

/// What a link reports.
#[derive(Debug)]
pub(crate) enum LinkEvent {
    /// One frame: a line, a body, the data of an event. `of` is our request whose reply stream
    /// carried it (HTTP only).
    Frame { bytes: Bytes, of: Option<u64> },
    /// A frame over the bound was dropped; `head` is its first 4 KiB.
    Oversized { head: Bytes, of: Option<u64> },
    /// This request will not be answered on its stream; the link as such lives on.
    Failed { id: u64, error: LinkError },
    /// The link is over. Every pending request fails with this error.
    Closed(LinkError),
}

/// A message was not taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NotSent {
    /// The bound on unsent bytes or open exchanges is reached.
    Full,
    /// The link is over.
    Closed,
}

/// The one way to a server.
#[derive(Debug)]
pub(crate) enum Link {
    Stdio(Box<stdio::StdioLink>),
    Http(Box<http::HttpLink>),
    Sse(Box<sse::SseLink>),
}

impl Link {
    /// Takes a message, or says that it is full. Never waits.
    pub(crate) fn send(&mut self, message: Outgoing) -> Result<(), NotSent> {
        match self {
            Self::Stdio(link) => link.send(message),
            Self::Http(link) => link.send(message),
            Self::Sse(link) => link.send(message),
        }
    }

    /// The next event. Drives writing too. Cancel-safe.
    pub(crate) async fn next(&mut self) -> LinkEvent {
        match self {
            Self::Stdio(link) => link.next().await,
            Self::Http(link) => link.next().await,
            Self::Sse(link) => link.next().await,
        }
    }

    /// Nobody waits for this request any more: closes its exchange where a request has one of its
    /// own. On modern HTTP that is the cancel.
    pub(crate) fn abandon(&mut self, id: u64) {
        match self {
            Self::Http(link) => link.abandon(id),
            Self::Stdio(_) | Self::Sse(_) => {}
        }
    }

    /// The opening is done: from now on messages are sent as this revision asks (version header;
    /// in a handshake era on Streamable HTTP the GET stream is opened once).
    pub(crate) fn opened(&mut self, revision: Revision) {
        match self {
            Self::Http(link) => link.opened(revision),
            Self::Sse(link) => link.opened(revision),
            Self::Stdio(_) => {}
        }
    }

    /// True if nothing is lost with a connection: HTTP on which no session was given.
    pub(crate) fn is_connectionless(&self) -> bool {
        match self {
            Self::Http(link) => !link.has_session(),
            Self::Stdio(_) | Self::Sse(_) => false,
        }
    }

    /// True if the server has said that it does not know the session: what is under way is refused
    /// too, and says so itself.
    pub(crate) fn is_forgotten(&self) -> bool {
        match self {
            Self::Http(link) => link.is_forgotten(),
            Self::Stdio(_) | Self::Sse(_) => false,
        }
    }

    /// Ends the link, bounded by about both graces and a second, whatever the server does: the
    /// process tree is gone and reaped, the session DELETEd. A tree that KILL does not end costs five
    /// seconds and returns [`LinkError::Unkillable`].
    pub(crate) async fn close(self, graces: Graces) -> LinkError {
        match self {
            Self::Stdio(link) => link.close(graces).await,
            Self::Http(link) => link.close(graces).await,
            Self::Sse(link) => link.close(graces).await,
        }
    }
}

/// How long a server has to end by itself. Default: not at all.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Graces {
    /// After stdin is closed.
    pub(crate) stop: Duration,
    /// After TERM.
    pub(crate) term: Duration,
}
