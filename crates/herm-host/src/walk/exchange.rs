//! Step 8: the exchange with a ready session, all its rounds, within the time of the call.

use std::sync::Arc;
use std::time::Duration;

use herm_core::config::Server;
use herm_core::wire::Raw;
use herm_core::wire::params::Dress;
use tokio::time::Instant;

use super::blame::Met;
use crate::refusal::Deadline;
use crate::request::Caller;
use crate::rounds::{Exchange, Rounds};
use crate::session::Session;
use crate::session::call::Failure;
use crate::session::peer::Ask;

/// The time a call has; what a person takes does not count.
#[derive(Debug)]
pub(crate) struct Clock {
    idle: Duration,
    pub(super) absolute: Duration,
    /// When it was first sent; a second sending has the rest of the same time. A limit of the caller's
    /// own runs from the first moment, a start included.
    began: Option<Instant>,
    /// Time in which somebody decided.
    human: Duration,
}

impl Clock {
    pub(super) fn new(server: &Server, own: Option<(Instant, Duration)>) -> Self {
        let limits = &server.limits;
        let (began, limit) = own.unzip();
        let absolute = limit.unwrap_or(limits.call_absolute);
        let idle = limit.unwrap_or(limits.call_idle);
        Self { idle, absolute, began, human: Duration::ZERO }
    }

    /// What is left, if the clock runs already.
    pub(super) fn running(&mut self) -> Option<Duration> {
        self.began.is_some().then(|| self.left())
    }

    /// What is left of the absolute limit; the clock runs from the first time this is asked.
    pub(super) fn left(&mut self) -> Duration {
        let began = *self.began.get_or_insert_with(Instant::now);
        self.absolute.saturating_sub(began.elapsed().saturating_sub(self.human))
    }
}

/// Step 8, all its rounds.
pub(super) async fn run(
    session: &Session,
    server: &Server,
    clock: &mut Clock,
    caller: &Arc<Caller>,
    exchange: Exchange<'_>,
) -> Result<Raw, Met> {
    let capabilities = caller.answerer.capabilities();
    let mut rounds = Rounds::new(&server.name, caller);
    let before = clock.human;
    loop {
        let left = clock.left();
        let ask = Ask {
            method: exchange.method,
            headers: exchange.headers.clone(),
            idle: clock.idle.min(left),
            absolute: left,
            absolute_is: Deadline::CallAbsolute,
            takes_place: true,
            caller: Some(Arc::clone(caller)),
            progress: exchange.progress.clone(),
        };
        let members = rounds.dressed(exchange.members.clone());
        let sent = session.peer.request(ask, |id| {
            members.dressed(&Dress {
                revision: session.revision,
                capabilities: &capabilities,
                progress_token: Some(id),
                meta: exchange.meta,
            })
        });
        let result = sent.await.map_err(|failure| Met::Failure(restated(failure, clock)))?;
        let last = rounds.next(session, result).await.map_err(Met::Refused)?;
        clock.human = before + rounds.human;
        if let Some(result) = last {
            return Ok(result);
        }
    }
}

/// A later round has less time left; the limit that is named is the whole one.
fn restated(failure: Failure, clock: &Clock) -> Failure {
    match failure {
        Failure::TimedOut { deadline: Deadline::CallAbsolute, .. } => {
            Failure::TimedOut { deadline: Deadline::CallAbsolute, after: clock.absolute }
        }
        other => other,
    }
}
