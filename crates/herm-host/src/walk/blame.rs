//! What a failed exchange means for its caller: decided by kind, never by text.

use std::sync::atomic::Ordering;

use herm_core::gate::clean;
use herm_core::lifecycle::At;
use herm_core::wire::{PeerError, codes, view};

use super::way::Way;
use crate::refusal::{Cause, Deadline, Phase, Refusal};
use crate::session::call::Failure;
use crate::supervise::{Instance, unavailable};
use crate::transport::LinkError;

/// What ended an exchange early.
#[derive(Debug)]
pub(crate) enum Met {
    /// A request of it failed.
    Failure(Failure),
    /// It was ended for a reason of its own.
    Refused(Refusal),
}

impl Met {
    /// What its caller is told; a failure of the transport is a strike.
    pub(super) fn refusal(self, instance: &Instance, way: &Way<'_>, sent: Sent) -> Refusal {
        let failure = match self {
            Self::Failure(failure) => failure,
            Self::Refused(refusal) => return refusal,
        };
        match &failure {
            Failure::TimedOut { deadline: Deadline::CallIdle | Deadline::CallAbsolute, .. } => {
                instance.timeouts.fetch_add(1, Ordering::Relaxed);
                way.strike(sent.generation, sent.at, false);
            }
            Failure::Link { error, .. } if is_transport(error) => {
                way.strike(sent.generation, sent.at, instance.has_lost(sent.generation));
            }
            // An answer, odd as it may be.
            Failure::Peer(_) | Failure::BadReply(_) => way.answered(),
            _ => {} // a refusal of ours is no strike
        }
        refusal(instance, failure)
    }
}

/// On which generation a request went, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) generation: u64,
    pub(super) at: At,
}

/// True if the transport failed, rather than an answer of the server's.
pub(super) fn is_transport(error: &LinkError) -> bool {
    match error {
        // It says when it will answer again: it lives.
        LinkError::Http { status: 429 | 503, retry_after: Some(_), .. } => false,
        LinkError::Http { status, .. } => matches!(status, 408 | 429) || *status >= 500,
        LinkError::TooLarge { .. }
        | LinkError::NotMcp { .. }
        | LinkError::SessionUnknown
        | LinkError::Held { .. } => false,
        _ => true,
    }
}

/// A failed call, as its caller sees it.
fn refusal(instance: &Instance, failure: Failure) -> Refusal {
    let server = instance.server().name.clone();
    match failure {
        Failure::Peer(error) => unable(&error)
            .map(|what| Refusal::Unanswerable { server: server.clone(), what })
            .unwrap_or(Refusal::Peer { server, error }),
        Failure::BadReply(why) => Refusal::Protocol { server, why },
        Failure::TimedOut { deadline, after } => Refusal::TimedOut { server, deadline, after },
        Failure::Busy { running, queued } => Refusal::Busy { server, running, queued },
        Failure::Link { error, sent } => lost(instance, error, sent),
    }
}

/// The capabilities that the server misses in us, if that is its complaint.
fn unable(error: &PeerError) -> Option<String> {
    if error.code != codes::MISSING_CLIENT_CAPABILITY {
        return None;
    }
    let missing = view::required_in(&error.data()?);
    let shown = |name: &String| clean::line(name, 64);
    (!missing.is_empty()).then(|| missing.iter().map(shown).collect::<Vec<_>>().join(", "))
}

/// Blame, by kind: was it executed, perhaps executed, or surely not?
fn lost(instance: &Instance, error: LinkError, sent: bool) -> Refusal {
    let server = instance.server().name.clone();
    match error {
        LinkError::Http { status: 401 | 403 | 429 | 503, .. }
        | LinkError::Connect { .. }
        | LinkError::Tls { .. }
        | LinkError::Redirect { .. }
        | LinkError::RedirectLoop { .. }
        | LinkError::Held { .. } => {
            unavailable(&instance.server(), Phase::Call, Cause::Link(error))
        }
        LinkError::Http { status, .. } if status < 500 => {
            Refusal::Protocol { server, why: error.to_string() }
        }
        LinkError::TooLarge { .. } | LinkError::NotMcp { .. } => {
            Refusal::Protocol { server, why: error.to_string() }
        }
        error if sent => Refusal::OutcomeUnknown { server, cause: Cause::Link(error) },
        error => unavailable(&instance.server(), Phase::Call, Cause::Link(error)),
    }
}
