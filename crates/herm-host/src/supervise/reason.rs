//! What an end means: to the machine, and to a person.

use std::time::Duration;

use herm_core::config::Server;
use herm_core::lifecycle::{Close, Failure, State as Stage};

use crate::refusal::{Cause, Phase, Refusal};
use crate::status::State;
use crate::transport::LinkError;

/// The state that is shown.
pub(super) fn state(stage: Stage, suspect: bool, server: &Server) -> State {
    match stage {
        Stage::Idle if !server.enabled => State::Disabled,
        Stage::Connecting => State::Connecting,
        Stage::Ready if suspect => State::Suspect,
        Stage::Ready => State::Ready,
        Stage::Backoff => State::Backoff,
        Stage::Parked(_) | Stage::Unkillable => State::Parked,
        Stage::NeedsLogin => State::NeedsLogin,
        Stage::Closing | Stage::Stopping => State::Stopping,
        _ => State::Idle,
    }
}

/// What a failure says of the next attempt.
pub(super) fn failure(why: &Refusal) -> Failure {
    match why {
        Refusal::LoginNeeded { .. } => Failure { login: true, ..Failure::default() },
        Refusal::Unavailable { cause, retry_after, .. } => Failure {
            permanent: cause.is_permanent(),
            local: cause.is_local(),
            retry_after: *retry_after,
            ..Failure::default()
        },
        // The entry is wrong, and stays so until somebody edits it.
        Refusal::Config { .. } | Refusal::Blocked { .. } => {
            Failure { permanent: true, local: true, ..Failure::default() }
        }
        _ => Failure::default(),
    }
}

/// Why we close a session; nothing for what was planned.
pub(super) fn of_close(server: &Server, why: Close) -> Option<(Phase, Refusal)> {
    let text = match why {
        Close::Silent => format!(
            "it answered neither of two probes within {}",
            crate::refusal::seconds(server.supervision.probe_timeout)
        ),
        Close::Breaker => {
            let strikes = server.breaker.threshold;
            format!("{strikes} calls in a row failed with the transport: it is started anew")
        }
        Close::SessionGone => "it does not know the session any more".to_owned(),
        _ => return None, // planned, or its reason is known
    };
    let cause = Cause::GivenUp(text);
    Some((Phase::Call, unavailable(server, Phase::Call, cause)))
}

/// A failure that another run of a host has written down.
pub(super) fn remembered(server: &Server, why: String) -> (Phase, Refusal) {
    (Phase::Open, unavailable(server, Phase::Open, Cause::Remembered(why)))
}

/// A failed start or a lost link, as its caller sees it.
pub(crate) fn unavailable(server: &Server, phase: Phase, cause: Cause) -> Refusal {
    let server = server.name.clone();
    match cause {
        Cause::Link(LinkError::Http { status: status @ (401 | 403), body, .. }) => {
            Refusal::LoginNeeded { server, status, body }
        }
        cause => {
            let retry_after = match &cause {
                Cause::Link(LinkError::Http { retry_after: Some(after), .. }) => {
                    Some(Duration::from_secs(*after))
                }
                Cause::Link(LinkError::Held { seconds }) => Some(Duration::from_secs(*seconds)),
                _ => None, // nothing is known of its return
            };
            Refusal::Unavailable { server, phase, cause, retry_after }
        }
    }
}
