//! Step 7: the way to a ready session.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::refusal::{Cause, Deadline, Phase, Refusal};
use crate::session::Session;
use crate::session::pending::Failure;
use crate::status::State;
use crate::supervise::{Instance, Published, unavailable};
use crate::transport::LinkError;

/// The way to a ready session, and at most one replay on it.
pub(super) struct Way<'a> {
    instance: &'a Instance,
    refused: Option<u64>,
}

impl<'a> Way<'a> {
    pub(super) fn new(instance: &'a Instance) -> Self {
        Self { instance, refused: None }
    }

    /// Step 7: the session, waited for within the start budget.
    pub(super) async fn session(&self) -> Result<(Arc<Session>, u64), Refusal> {
        ready(self.instance, self.refused, self.instance.server.limits.start).await
    }

    /// A request refused as "session unknown" was not executed: once more, on a new session. The
    /// refusal counts only against the generation that was refused.
    pub(super) fn replays(&mut self, failure: &Failure, generation: u64) -> bool {
        let unknown =
            matches!(failure, Failure::Link { error: LinkError::SessionUnknown, sent: false });
        if !unknown || self.refused.is_some() {
            return false;
        }
        self.refused = Some(generation);
        let window = self.instance.window.borrow();
        if window.generation == generation && window.state == State::Ready {
            self.instance.close.notify_one();
        }
        true
    }
}

/// Waits until the server is ready on a generation other than `not`, or an attempt has failed.
pub(crate) async fn ready(
    instance: &Instance,
    not: Option<u64>,
    budget: Duration,
) -> Result<(Arc<Session>, u64), Refusal> {
    let fits = |generation: u64| Some(generation) != not;
    let failed = {
        let window = instance.window.borrow();
        if let Some(session) = &window.session
            && fits(window.generation)
            && !session.peer.is_over()
        {
            return Ok((Arc::clone(session), window.generation));
        }
        window.failed
    };
    let mut window = instance.window.subscribe();
    let name = || instance.server.name.clone();
    let settled = |window: &Published| {
        let up = window.session.as_ref().is_some_and(|session| !session.peer.is_over());
        (up && fits(window.generation)) || window.failed > failed
    };
    let waited = tokio::time::timeout(budget, settle(instance, &mut window, settled)).await;
    let Ok(waited) = waited else {
        let method = "ready".to_owned();
        let cause = Cause::TimedOut { deadline: Deadline::Start, after: budget, method };
        return Err(unavailable(&instance.server, Phase::Open, cause));
    };
    let window = waited?;
    match (window.session, window.reason) {
        (Some(session), _) => Ok((session, window.generation)),
        (None, Some((_, why))) => Err(why),
        (None, None) => Err(Refusal::Unavailable {
            server: name(),
            phase: Phase::Open,
            cause: Cause::Stopped,
            retry_after: None,
        }),
    }
}

/// Waits until what is published of a server is settled, and rings for it whenever nothing is on its
/// way: a bell that rings while a lost session still ends is heard as "it runs".
async fn settle(
    instance: &Instance,
    window: &mut watch::Receiver<Published>,
    settled: impl Fn(&Published) -> bool,
) -> Result<Published, Refusal> {
    loop {
        {
            let now = window.borrow_and_update();
            if settled(&now) {
                return Ok(now.clone());
            }
            if !matches!(now.state, State::Connecting | State::Ready) {
                instance.wanted.notify_one();
            }
        }
        window.changed().await.map_err(|_| Refusal::Stopping)?;
    }
}
