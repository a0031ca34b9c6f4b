//! Whether a quiet server lives: one request, one deadline.

use std::sync::Arc;
use std::time::Duration;

use herm_core::lifecycle::{Input, Outcome, Probe};
use herm_core::wire::codes;
use herm_core::wire::params::{Dress, Params};

use crate::refusal::Deadline;
use crate::session::Session;
use crate::session::open::modern_headers;
use crate::session::peer::Ask;
use crate::session::pending::Failure;
use crate::transport::LinkError;

/// A probe that has ended.
#[derive(Debug)]
pub(super) struct Probed {
    generation: u64,
    probe: Probe,
    outcome: Outcome,
    /// The server does not know the session any more.
    forgotten: bool,
}

impl Probed {
    /// Asks, and waits at most so long.
    pub(super) async fn ask(
        session: Arc<Session>,
        generation: u64,
        probe: Probe,
        limit: Duration,
    ) -> Self {
        let method = method(&session, probe);
        let mut ask = Ask::own(method, limit, Deadline::Probe);
        ask.headers = modern_headers(session.revision, method, None);
        let dress = Dress {
            revision: session.revision,
            capabilities: "{}",
            progress_token: None,
            meta: None,
        };
        let answer = session.peer.request(ask, |_| Params::new().dressed(&dress)).await;
        let unknown = |error: &LinkError| matches!(error, LinkError::SessionUnknown);
        let forgotten = matches!(&answer, Err(Failure::Link { error, .. }) if unknown(error));
        let outcome = match answer {
            // Whoever says when it will answer again lives.
            Err(Failure::Link {
                error:
                    LinkError::Held { .. }
                    | LinkError::Http { status: 429 | 503, retry_after: Some(_), .. },
                ..
            }) => Outcome::Answered,
            Err(Failure::Peer(error)) if error.code == codes::METHOD_NOT_FOUND => Outcome::NotKnown,
            // An answer that is none is one all the same: somebody speaks.
            Ok(_) | Err(Failure::Peer(_) | Failure::BadReply(_)) => Outcome::Answered,
            Err(Failure::TimedOut { .. } | Failure::Link { .. } | Failure::Busy { .. }) => {
                Outcome::Silent
            }
        };
        Self { generation, probe, outcome, forgotten }
    }

    pub(super) fn input(self) -> Input {
        if self.forgotten {
            return Input::SessionGone(self.generation);
        }
        let Self { generation, probe, outcome, .. } = self;
        Input::Probed { generation, probe, outcome }
    }
}

/// The cheapest question of a kind. Never `initialize`: a session has one.
fn method(session: &Session, probe: Probe) -> &'static str {
    match probe {
        Probe::Ping if session.is_modern() => "server/discover",
        Probe::Ping => "ping",
        _ if session.opened.offers("prompts") => "prompts/list",
        _ if session.opened.offers("resources") => "resources/list",
        _ => "tools/list",
    }
}
