//! One task a server: it owns the lifecycle and publishes how the server is.
//!
//! A loop in three phases: `select!` only makes an input, a synchronous step of the machine names an
//! effect, and the effect is carried out without awaiting. Whatever has to wait (an attempt, a probe,
//! a note on disk) is a task of its own whose end is an input again.

mod attempt;
mod instance;
mod probe;
mod reason;

use std::sync::Arc;
use std::time::Duration;

use herm_core::lifecycle::{
    Close, Effect, End, Input, Ledger, Lifecycle, Seen, State as Stage, Step,
};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::attempt::{Attempt, Ended, Heard};
use self::probe::Probed;
use crate::context::Context;
use crate::event::Event;
use crate::refusal::{Cause, Phase, Refusal};
use crate::session::Session;
use crate::status::State;

pub(crate) use instance::{Instance, Published, Trial};
use instance::{Word, Words};
pub(crate) use reason::unavailable;

/// Runs until `stop` is cancelled and the last session has ended.
pub(crate) async fn supervise(
    context: Arc<Context>,
    instance: Arc<Instance>,
    words: Words,
    stop: CancellationToken,
) {
    let resumed = context.resumed.subscribe();
    // Boxed: a future has room for what it is given, and for what it makes of it.
    Box::new(Supervisor::new(context, instance)).run(words, resumed, stop).await;
}

struct Supervisor {
    context: Arc<Context>,
    instance: Arc<Instance>,
    machine: Lifecycle,
    attempts: JoinSet<Ended>,
    probes: JoinSet<Probed>,
    notes: JoinSet<Option<Ledger>>,
    close: CancellationToken,
    session: Option<Arc<Session>>,
    /// What was last seen of it.
    seen: Seen,
    /// Why the session that runs is closed by us.
    closing: Option<Close>,
    reason: Option<Arc<(Phase, Refusal)>>,
    phases: Arc<[(Phase, Duration)]>,
    /// The last generation that failed before it was ready.
    failed: u64,
    /// A person started the generation that runs.
    forced: bool,
    losses: u64,
}

impl Supervisor {
    fn new(context: Arc<Context>, instance: Arc<Instance>) -> Self {
        let server = instance.server();
        let known = context.ledgers.recall(&context.world().entry(Arc::clone(&server)));
        let known = known.unwrap_or_default();
        let reason = known.why.map(|why| Arc::new(reason::remembered(&server, why)));
        let mut machine = Lifecycle::new(instance.policy(), Ledger::default());
        let now = Step { at: context.clock.now(), dice: 0.0, seen: Seen::default() };
        let _nothing = machine.step(Input::Adopt(known.ledger), &now);
        Self {
            context,
            instance,
            machine,
            attempts: JoinSet::new(),
            probes: JoinSet::new(),
            notes: JoinSet::new(),
            close: CancellationToken::new(),
            session: None,
            seen: Seen::default(),
            closing: None,
            reason,
            phases: Arc::default(),
            failed: 0,
            forced: false,
            losses: 0,
        }
    }

    async fn run(
        mut self: Box<Self>,
        mut words: Words,
        mut resumed: watch::Receiver<u64>,
        stop: CancellationToken,
    ) {
        let instance = Arc::clone(&self.instance);
        self.publish();
        while self.machine.state() != Stage::Stopped {
            let stopping = self.machine.state() == Stage::Stopping;
            let seen = self.look();
            let due = self.machine.deadline(&seen);
            let due = due.map(|at| self.context.clock.instant(at));
            // Each arm can be dropped half-way without losing anything; none awaits in its body.
            let input = tokio::select! {
                biased;
                // The guard matters: a cancelled token stays ready, and the loop would spin.
                () = stop.cancelled(), if !stopping => Input::Stop,
                Ok(()) = resumed.changed() => Input::Resumed,
                // The words of an attempt before its end.
                Some(word) = words.recv() => match *word {
                    Word::Order(order) => self.obey(order),
                    Word::Heard(heard) => self.hear(heard),
                },
                Some(ended) = self.attempts.join_next() => self.ended(ended),
                Some(Ok(probed)) = self.probes.join_next() => probed.input(),
                Some(noted) = self.notes.join_next() => match noted {
                    Ok(Some(ledger)) => Input::Adopt(ledger),
                    _ => Input::Tick, // nothing is kept, or it could not be
                },
                () = instance.wanted.notified() => Input::Want,
                () = sleep_until(due) => Input::Tick,
            };
            self.take(input);
        }
        // What is not written yet is bounded by the lock of its file.
        while self.notes.join_next().await.is_some() {}
    }

    /// An order, as an input.
    fn obey(&self, order: Input) -> Input {
        match order {
            // What was on disk before our own note; with the note comes what is there after it.
            Input::Adopt(_) | Input::Proven if !self.notes.is_empty() => Input::Tick,
            order => order,
        }
    }

    fn take(&mut self, input: Input) {
        let policy_changed = self.instance.take_changed();
        if policy_changed {
            self.machine.set_policy(self.instance.policy());
        }
        let at = self.context.clock.now();
        let now = Step { at, dice: fastrand::f64(), seen: self.look() };
        match self.machine.step(input, &now) {
            Some(Effect::Open { generation, forward, free }) => {
                self.open(generation, forward, free);
            }
            Some(Effect::Close(why)) => self.shut(why),
            Some(Effect::Probe(probe)) => {
                if let Some(session) = &self.session {
                    let limit = self.instance.server().supervision.probe_timeout;
                    let generation = self.machine.generation();
                    self.probes.spawn(Probed::ask(Arc::clone(session), generation, probe, limit));
                }
            }
            _ => {} // nothing to do, or an effect of a later machine
        }
        self.write_notes();
        self.publish();
    }

    /// What is to be seen of the session, or was when it was closed.
    fn look(&mut self) -> Seen {
        if let Some(session) = &self.session {
            self.seen = session.peer.shared.seen();
        }
        self.seen
    }

    fn open(&mut self, generation: u64, forward: bool, free: bool) {
        self.close = CancellationToken::new();
        self.session = None;
        self.seen = Seen::default();
        self.closing = None;
        self.forced = free;
        let attempt = Attempt {
            context: Arc::clone(&self.context),
            instance: Arc::clone(&self.instance),
            generation,
            forward,
            free,
            close: self.close.clone(),
        };
        self.attempts.spawn(attempt.run());
    }

    fn shut(&mut self, why: Close) {
        self.closing = Some(why);
        if let Some(reason) = reason::of_close(&self.instance.server(), why) {
            if why == Close::Silent {
                let server = self.instance.server().name.clone();
                let reason = self.context.shown(&self.instance.server(), &reason.1);
                self.context.emit(Event::KeepaliveFailed { server, reason });
            }
            self.reason = Some(Arc::new(reason));
        }
        self.close.cancel();
    }

    /// The word of a running attempt, as an input.
    fn hear(&mut self, heard: Heard) -> Input {
        match heard {
            Heard::Opened { generation } => Input::Opened(generation),
            Heard::Ready { generation, session, phases } => {
                let connectionless = session.peer.shared.is_connectionless();
                // The end of a session may be seen before the word that it was ready: published
                // then, a dead session would keep its callers waiting.
                if self.machine.awaits(generation) {
                    self.session = Some(session);
                    self.phases = phases.into();
                    self.reason = None;
                }
                Input::Ready { generation, connectionless }
            }
            Heard::RefreshFailed { generation, cause } => {
                if self.machine.generation() == generation && self.session.is_some() {
                    let why = unavailable(&self.instance.server(), Phase::List, cause);
                    self.reason = Some(Arc::new((Phase::List, why)));
                }
                Input::RefreshFailed(generation)
            }
            Heard::SessionGone { generation } => Input::SessionGone(generation),
            Heard::Stuck { generation, error } => {
                let cause = Cause::Link(error);
                let why = unavailable(&self.instance.server(), Phase::Call, cause);
                self.reason = Some(Arc::new((Phase::Call, why)));
                Input::Stuck(generation)
            }
        }
    }

    /// The end of an attempt, as an input.
    fn ended(&mut self, ended: Result<Ended, tokio::task::JoinError>) -> Input {
        let generation = self.machine.generation();
        let ended = ended.unwrap_or_else(|panic| Ended::crashed(generation, &panic));
        let was_ready = self.session.is_some();
        let (end, why) = (ended.end, ended.why);
        if let Some(denied) = &why
            && matches!(end, End::Denied(_))
        {
            self.reason = Some(Arc::new(denied.clone()));
        } else if let (Some(why), None | Some(Close::Stop)) = (why, self.closing) {
            // An end that we asked for is no failure: whoever waits, waits for what follows it. Nobody
            // waits for a stop: what it tells of came before it, and is for the next host.
            self.reason = Some(Arc::new(why));
            if !was_ready {
                self.phases = ended.phases.into();
                self.failed = generation;
            }
        }
        let lost = match self.closing {
            None => was_ready,
            Some(why) => matches!(why, Close::Silent | Close::Breaker | Close::Refresh),
        };
        self.losses += u64::from(lost);
        Input::Ended { generation, end }
    }

    /// What changed in the ledger goes to the copy of all hosts.
    fn write_notes(&mut self) {
        let events = self.machine.take_notes();
        if events.is_empty() {
            return;
        }
        let context = Arc::clone(&self.context);
        let (server, policy) = (self.instance.server(), self.instance.policy());
        let why = self.reason.as_ref().map(|why| context.shown(&server, &why.1));
        let entry = context.world().entry(server);
        let forced = self.forced;
        self.notes.spawn(async move {
            let noted = context.with_ledgers(move |known| {
                known.note(&entry, &policy, (&events, why.as_deref()), forced)
            });
            noted.await.flatten()
        });
    }

    fn publish(&mut self) {
        let machine = &self.machine;
        let server = self.instance.server();
        let stage = machine.state();
        if stage != Stage::Ready {
            self.session = None; // no call goes to one that is to end
        }
        let now = self.context.clock.now();
        let next = Published {
            state: reason::state(stage, machine.is_suspect(), &server),
            since: machine.since(),
            generation: machine.generation(),
            failed: self.failed,
            failures: machine.ledger().failures,
            next: machine.next_attempt(),
            forward_at: machine.forward_at(now),
            gate: machine.breaker().gate(),
            strikes: machine.breaker().strikes(),
            reason: self.reason.clone(),
            session: self.session.clone(),
            phases: self.phases.clone(),
            losses: self.losses,
            unkillable: stage == Stage::Unkillable,
            is_over: stage == Stage::Stopped,
        };
        let before = {
            let before = self.instance.window.borrow();
            if before.says_the_same(&next) {
                return;
            }
            before.state
        };
        if before != next.state {
            self.tell(next.state);
        }
        self.instance.window.send_replace(next);
    }

    fn tell(&self, state: State) {
        let server = self.instance.server();
        let reason = match state {
            State::Backoff | State::Parked | State::NeedsLogin | State::Stopping => {
                self.reason.as_ref().map(|why| self.context.shown(&server, &why.1))
            }
            _ => None, // it was, or comes to be, well
        };
        let next = self.machine.next_attempt().map(|at| self.context.clock.wall(at));
        let failures = self.machine.ledger().failures;
        let server = server.name.clone();
        self.context.emit(Event::State { server, state, failures, reason, next });
    }
}

async fn sleep_until(at: Option<tokio::time::Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
