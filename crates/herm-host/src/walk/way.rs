//! Steps 4 and 7: refuse now what cannot be, else the way to a ready session.

use std::sync::Arc;
use std::time::Duration;

use herm_core::config::Server;
use herm_core::lifecycle::{At, Gate, Input};
use tokio::sync::watch;

use super::blame::{Sent, is_transport};
use super::exchange::Clock;
use crate::clock;
use crate::refusal::{Cause, Deadline, Phase, Refusal};
use crate::session::Session;
use crate::session::call::Failure;
use crate::status::State;
use crate::supervise::{Instance, Published, Trial, unavailable};
use crate::transport::LinkError;

/// A back-off that is shorter is waited for; a longer one is refused at once.
const HOLD: Duration = Duration::from_secs(2);

/// The way to a ready session, and at most one replay on it.
pub(super) struct Way<'a> {
    instance: &'a Instance,
    /// As configured when the call came.
    server: &'a Server,
    clock: clock::Clock,
    /// What the look of step 4 saw, until it is used; a second way looks anew.
    seen: Option<Seen>,
    refused: Option<u64>,
    /// It is the one call of a half-open breaker.
    trial: Option<Trial<'a>>,
}

impl<'a> Way<'a> {
    /// Step 4: refused by the breaker, or let through.
    pub(super) fn new(
        instance: &'a Instance,
        server: &'a Server,
        clock: clock::Clock,
    ) -> Result<Self, Refusal> {
        let (gate, strikes, seen) = {
            let window = instance.window.borrow();
            (window.gate, window.strikes, Seen::of(&window, None))
        };
        let now = clock.now();
        let open = |until: At| Refusal::BreakerOpen {
            server: server.name.clone(),
            failures: strikes,
            retry_after: until.saturating_sub(now),
        };
        let trial = match gate {
            Gate::Closed => None,
            Gate::Open { until } => return Err(open(until)),
            // Exactly one: the others come back when it is known what came of it.
            Gate::HalfOpen => Some(instance.trial().ok_or_else(|| open(now + HOLD))?),
        };
        Ok(Self { instance, server, clock, seen: Some(seen), refused: None, trial })
    }

    /// Step 7: the session, waited for within the start budget; on a second way, or with a limit of the
    /// caller's own, within what is left of the call's time.
    pub(super) async fn session(
        &mut self,
        clock: &mut Clock,
    ) -> Result<(Arc<Session>, u64), Refusal> {
        let seen = self.seen.take().unwrap_or_else(|| Seen::now(self.instance, self.refused));
        if let Some(session) = seen.session {
            return Ok((session, seen.generation));
        }
        let start = self.server.limits.start;
        let left = clock.running().unwrap_or(Duration::MAX);
        let wish = Wish {
            not: self.refused,
            // One call of a dead server waits for nothing, so that it says so as quickly as the others.
            hold: if self.trial.is_some() { Duration::ZERO } else { HOLD },
            failed: seen.failed,
        };
        let ready = waited_for(self.instance, &self.clock, wish, start.min(left)).await;
        if left < start && matches!(&ready, Err(why) if is_late(why)) {
            return Err(self.out_of_time(clock));
        }
        if let Err(Refusal::Unavailable { .. } | Refusal::LoginNeeded { .. }) = &ready {
            // A refused start is a failure of the call; those who waited for it share one.
            let generation = self.instance.window.borrow().generation.max(seen.generation);
            self.strike(generation, self.clock.now(), true);
        }
        ready
    }

    /// The call's own limit has ended its wait for a session.
    fn out_of_time(&self, clock: &Clock) -> Refusal {
        Refusal::TimedOut {
            server: self.server.name.clone(),
            deadline: Deadline::CallAbsolute,
            after: clock.absolute,
        }
    }

    /// A request refused as "session unknown" was not executed: once more, on a new session. The
    /// refusal counts only against the generation that was refused.
    pub(super) fn replays(&mut self, failure: &Failure, generation: u64) -> bool {
        let unknown =
            matches!(failure, Failure::Link { error: LinkError::SessionUnknown, sent: false });
        if unknown {
            self.instance.order(Input::SessionGone(generation));
        }
        unknown && self.again(generation)
    }

    /// A request that was surely not sent, or whose answer was lost and that may be repeated: once
    /// more, on a new session. What is lost is a strike all the same.
    pub(super) fn repeats(&mut self, failure: &Failure, sent: Sent, may_repeat: bool) -> bool {
        let Failure::Link { error, sent: seen } = failure else { return false };
        let lost = is_transport(error) && self.instance.has_lost(sent.generation);
        if !lost || (*seen && !may_repeat) || !self.again(sent.generation) {
            return false;
        }
        self.strike(sent.generation, sent.at, true);
        true
    }

    /// Once more on another generation, if this is the first time.
    fn again(&mut self, generation: u64) -> bool {
        if self.refused.is_some() {
            return false;
        }
        self.refused = Some(generation);
        true
    }

    /// The server answered: a trial has succeeded.
    pub(super) fn answered(&self) {
        if let Some(trial) = &self.trial {
            trial.answered();
        }
    }

    /// The call failed with the transport.
    pub(super) fn strike(&self, generation: u64, since: At, lost: bool) {
        self.instance.order(Input::Strike { generation, since, lost });
    }
}

/// Waits until the server is ready, or an attempt has failed.
pub(crate) async fn ready(
    context: &crate::context::Context,
    instance: &Instance,
    budget: Duration,
) -> Result<(Arc<Session>, u64), Refusal> {
    let seen = Seen::now(instance, None);
    if let Some(session) = seen.session {
        return Ok((session, seen.generation));
    }
    let wish = Wish { not: None, hold: HOLD, failed: seen.failed };
    waited_for(instance, &context.clock, wish, budget).await
}

/// What one look into the window of a server gives a call.
struct Seen {
    /// One that the call may go to.
    session: Option<Arc<Session>>,
    generation: u64,
    /// The last generation that failed by then.
    failed: u64,
}

impl Seen {
    fn of(window: &Published, not: Option<u64>) -> Self {
        Self { session: up(window, not), generation: window.generation, failed: window.failed }
    }

    fn now(instance: &Instance, not: Option<u64>) -> Self {
        Self::of(&instance.window.borrow(), not)
    }
}

/// The same for a call that must find its tool first: within the start budget, or within its caller's
/// `own` limit if that is shorter.
pub(crate) async fn ready_for_call(
    context: &crate::context::Context,
    instance: &Instance,
    own: Option<Duration>,
) -> Result<(Arc<Session>, u64), Refusal> {
    let start = instance.server().limits.start;
    let own = own.filter(|own| *own < start);
    match (ready(context, instance, own.unwrap_or(start)).await, own) {
        (Err(why), Some(own)) if is_late(&why) => Err(Refusal::TimedOut {
            server: instance.server().name.clone(),
            deadline: Deadline::CallAbsolute,
            after: own,
        }),
        (ready, _) => ready,
    }
}

/// What session is waited for, and how patiently.
#[derive(Clone, Copy)]
struct Wish {
    /// Any but that of this generation.
    not: Option<u64>,
    /// A back-off that is shorter is waited for.
    hold: Duration,
    /// An attempt after this one that fails ends the wait.
    failed: u64,
}

async fn waited_for(
    instance: &Instance,
    clock: &clock::Clock,
    Wish { not, hold, failed }: Wish,
    budget: Duration,
) -> Result<(Arc<Session>, u64), Refusal> {
    let look = |window: &Published| match up(window, not) {
        Some(session) => Look::Done(Ok((session, window.generation))),
        None if window.failed > failed => Look::Done(Err(failure(instance, window))),
        None => standing(instance, window, clock.now(), hold),
    };
    wait(instance, budget, look).await
}

/// Has the server started anew, whatever runs and whatever back-off says, and waits for the end of
/// that start.
pub(crate) async fn anew(
    instance: &Instance,
    budget: Duration,
) -> Result<(Arc<Session>, u64), Refusal> {
    let before = instance.window.borrow().generation;
    instance.insist(Input::Force).await;
    let look = |window: &Published| {
        if window.is_over {
            return Look::Done(Err(Refusal::Stopping));
        }
        if window.unkillable {
            return Look::Done(Err(failure(instance, window)));
        }
        match up(window, None) {
            Some(session) if window.generation > before => {
                Look::Done(Ok((session, window.generation)))
            }
            None if window.failed > before => Look::Done(Err(failure(instance, window))),
            _ => Look::Wait { ring: false },
        }
    };
    wait(instance, budget, look).await
}

/// What is seen in the window of a server.
enum Look {
    Done(Result<(Arc<Session>, u64), Refusal>),
    /// Something is on its way, or to be asked for.
    Wait {
        ring: bool,
    },
}

/// The session, if it is one that calls may go to.
fn up(window: &Published, not: Option<u64>) -> Option<Arc<Session>> {
    let session = window.session.as_ref()?;
    (Some(window.generation) != not && !session.peer.is_over()).then(|| Arc::clone(session))
}

/// Where nothing is tried now, waiting is no use.
fn standing(instance: &Instance, window: &Published, now: At, hold: Duration) -> Look {
    if window.is_over {
        return Look::Done(Err(Refusal::Stopping));
    }
    let wait = window.next.unwrap_or_default().saturating_sub(now);
    let forward = window.forward_at.is_some_and(|at| at <= now);
    match window.state {
        State::Connecting | State::Ready | State::Suspect => Look::Wait { ring: false },
        State::Backoff if wait > hold => Look::Done(Err(not_now(instance, window, now))),
        State::Parked | State::NeedsLogin if window.unkillable || (wait > hold && !forward) => {
            Look::Done(Err(not_now(instance, window, now)))
        }
        // A bell that rings while a lost session still ends is heard as "it runs": ring again with
        // each word of it.
        _ => Look::Wait { ring: true },
    }
}

/// The start budget is used up.
fn is_late(why: &Refusal) -> bool {
    let Refusal::Unavailable { cause, .. } = why else { return false };
    matches!(cause, Cause::TimedOut { deadline: Deadline::Start, .. })
}

fn not_now(instance: &Instance, window: &Published, now: At) -> Refusal {
    Refusal::NotNow {
        server: instance.server().name.clone(),
        state: window.state,
        failures: window.failures,
        retry_after: window.next.map(|next| next.saturating_sub(now)),
        why: window.reason.as_ref().map(|reason| Box::new(reason.1.clone())),
    }
}

/// Why the attempt failed that was waited for.
fn failure(instance: &Instance, window: &Published) -> Refusal {
    match &window.reason {
        Some(reason) => reason.1.clone(),
        None => unavailable(&instance.server(), Phase::Open, Cause::Stopped),
    }
}

/// Looks again with each word of the supervisor, until something is decided.
async fn wait(
    instance: &Instance,
    budget: Duration,
    look: impl Fn(&Published) -> Look,
) -> Result<(Arc<Session>, u64), Refusal> {
    let mut window: watch::Receiver<Published> = instance.window.subscribe();
    let settled = async {
        loop {
            let seen = look(&window.borrow_and_update());
            match seen {
                Look::Done(end) => return end,
                Look::Wait { ring } => {
                    if ring {
                        instance.wanted.notify_one();
                    }
                }
            }
            window.changed().await.map_err(|_| Refusal::Stopping)?;
        }
    };
    tokio::time::timeout(budget, settled).await.unwrap_or_else(|_| {
        let method = String::new(); // many things may be waited for
        let cause = Cause::TimedOut { deadline: Deadline::Start, after: budget, method };
        Err(unavailable(&instance.server(), Phase::Open, cause))
    })
}
