//! What an answer, or the lack of one, says of the era.

use herm_core::era::{Answer, Wire};
use herm_core::wire::view;

use crate::refusal::{Cause, Phase};
use crate::session::call::Failure;
use crate::transport::LinkError;

/// How one attempt went: the evidence, and the cause to show if it was the last.
pub(super) type Met = (Answer, Option<(Phase, Cause)>, Option<view::Opened>);

pub(super) fn nothing_met() -> (Phase, Cause) {
    (Phase::Open, Cause::Protocol("the opening came to no end".to_owned()))
}

/// What a failed request says of the era.
pub(super) fn met_failure(failure: Failure, method: &str, wire: Wire, first: Phase) -> Met {
    match failure {
        Failure::Peer(error) => {
            let supported = error.data().map(|data| view::supported_in(&data)).unwrap_or_default();
            let answer = Answer::Refused { code: error.code, supported };
            let cause = Cause::Peer { method: method.to_owned(), error };
            (answer, Some((Phase::Open, cause)), None)
        }
        Failure::Link { error, .. } => met_link(error, first),
        Failure::BadReply(why) => (Answer::Odd, Some((Phase::Open, Cause::Protocol(why))), None),
        Failure::TimedOut { deadline, after } => {
            let answer = if wire == Wire::Stdio { Answer::Silence } else { Answer::Outage };
            let cause = Cause::TimedOut { deadline, after, method: method.to_owned() };
            (answer, Some((Phase::Open, cause)), None)
        }
        Failure::Busy { .. } => (Answer::Outage, Some(nothing_met()), None),
    }
}

/// What a link's failure says of the era: E-6 names what says nothing.
pub(super) fn met_link(error: LinkError, first: Phase) -> Met {
    let answer = match &error {
        LinkError::Http { status: 401 | 403 | 408 | 429, .. } => Answer::Outage,
        LinkError::Http { status, .. } if (400..500).contains(status) => {
            Answer::HttpRefused { status: *status }
        }
        LinkError::SessionUnknown => Answer::HttpRefused { status: 404 },
        LinkError::NotMcp { .. } | LinkError::TooLarge { .. } => Answer::Odd,
        LinkError::NoEndpoint { .. } => Answer::NoEndpoint,
        LinkError::Exited { .. } | LinkError::OutputClosed { .. } => Answer::Exited,
        _ => Answer::Outage, // an outage, a refusal to start, a redirect: no word on the era
    };
    let phase = match &error {
        LinkError::NotFound { .. }
        | LinkError::NotExecutable { .. }
        | LinkError::BadFormat { .. }
        | LinkError::BadDirectory { .. }
        | LinkError::Spawn { .. }
        | LinkError::Connect { .. }
        | LinkError::Tls { .. }
        | LinkError::Setting { .. } => first,
        _ => Phase::Open, // it was reached
    };
    // A missing SSE endpoint is the answer to a guess of ours: the refusal before it is the cause.
    let cause = match error {
        LinkError::NoEndpoint { .. } => None,
        error => Some((phase, Cause::Link(error))),
    };
    (answer, cause, None)
}
