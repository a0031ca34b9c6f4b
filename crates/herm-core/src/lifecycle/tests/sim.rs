//! One machine, one simulated server, one simulated clock.

use std::time::Duration;

use crate::config::{Breaker, Supervision, Upkeep};
use crate::lifecycle::{
    At, Close, Effect, End, Failure, Input, Ledger, Lifecycle, Outcome, Policy, Probe, Seen, State,
    Step,
};

pub(super) const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(super) fn policy() -> Policy {
    Policy {
        supervision: Supervision::default(),
        breaker: Breaker::default(),
        upkeep: Upkeep::default(),
        keep: true,
    }
}

/// How a simulated server behaves.
#[derive(Clone, Debug)]
pub(super) struct Server {
    /// From start to `ready`.
    pub(super) opens_in: Duration,
    /// The list is never answered.
    pub(super) wedged_from: u64,
    /// How long a session lasts.
    pub(super) lives: Option<Duration>,
    /// A call comes this often, and is answered.
    pub(super) calls: Option<Duration>,
    /// Calls end after so many sessions.
    pub(super) called_in: u64,
    /// It answers probes.
    pub(super) answers: bool,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            opens_in: Duration::from_millis(200),
            wedged_from: u64::MAX,
            lives: None,
            calls: None,
            called_in: u64::MAX,
            answers: true,
        }
    }
}

/// What happens when.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Event {
    Ready,
    Fails,
    Dies,
    Call,
    Tick,
}

pub(super) struct Sim {
    pub(super) machine: Lifecycle,
    pub(super) now: At,
    pub(super) seen: Seen,
    pub(super) starts: Vec<At>,
    pub(super) closes: Vec<Close>,
    pub(super) probes: Vec<Probe>,
    server: Server,
    dice: fastrand::Rng,
    /// The generation that runs: when it is ready, when it ends.
    ready: Option<At>,
    end: Option<(At, Event)>,
    call: Option<At>,
}

impl Sim {
    pub(super) fn new(policy: Policy, server: Server, seed: u64) -> Self {
        Self {
            machine: Lifecycle::new(policy, Ledger::default()),
            now: s(1),
            seen: Seen::default(),
            starts: Vec::new(),
            closes: Vec::new(),
            probes: Vec::new(),
            server,
            dice: fastrand::Rng::with_seed(seed),
            ready: None,
            end: None,
            call: None,
        }
    }

    /// Feeds one input, and carries out what follows of it.
    pub(super) fn feed(&mut self, input: Input) {
        let step = Step { at: self.now, dice: self.dice.f64(), seen: self.seen };
        let effect = self.machine.step(input, &step);
        match effect {
            Some(Effect::Open { generation, .. }) => self.opened(generation),
            Some(Effect::Close(why)) => {
                self.closes.push(why);
                self.finish(End::Asked);
            }
            Some(Effect::Probe(probe)) => {
                self.probes.push(probe);
                let outcome = if self.server.answers { Outcome::Answered } else { Outcome::Silent };
                self.now += if self.server.answers { Duration::ZERO } else { s(30) };
                if self.server.answers {
                    self.seen.life = self.now;
                }
                let generation = self.machine.generation();
                self.feed(Input::Probed { generation, probe, outcome });
            }
            _ => {}
        }
    }

    fn opened(&mut self, generation: u64) {
        self.starts.push(self.now);
        let ready = self.now + self.server.opens_in;
        if generation >= self.server.wedged_from {
            self.end = Some((self.now + s(60), Event::Fails));
            self.ready = None;
        } else {
            self.ready = Some(ready);
            self.end = self.server.lives.map(|lives| (ready + lives, Event::Dies));
        }
        let called = generation <= self.server.called_in;
        self.call = self.server.calls.filter(|_| called).map(|every| ready + every);
    }

    fn finish(&mut self, end: End) {
        let generation = self.machine.generation();
        self.ready = None;
        self.end = None;
        self.call = None;
        self.feed(Input::Ended { generation, end });
    }

    fn next(&self) -> Option<(At, Event)> {
        [
            self.ready.map(|at| (at, Event::Ready)),
            self.end,
            self.call.map(|at| (at, Event::Call)),
            self.machine.deadline(&self.seen).map(|at| (at.max(self.now), Event::Tick)),
        ]
        .into_iter()
        .flatten()
        .min_by_key(|(at, _)| *at)
    }

    /// Runs until `until`.
    pub(super) fn run(&mut self, until: At) {
        let mut turns = 0;
        while let Some((at, event)) = self.next().filter(|(at, _)| *at <= until) {
            turns += 1;
            assert!(turns < 2_000_000, "the machine spins: {:?}", self.machine);
            self.now = self.now.max(at);
            let generation = self.machine.generation();
            match event {
                Event::Ready => {
                    self.ready = None;
                    self.seen.life = self.now;
                    self.feed(Input::Opened(generation));
                    self.feed(Input::Ready { generation, connectionless: false });
                }
                Event::Fails => {
                    self.feed(Input::Opened(generation));
                    self.finish(End::Failed(Failure::default()));
                }
                Event::Dies => self.finish(End::Failed(Failure::default())),
                Event::Call => {
                    self.seen.life = self.now;
                    self.seen.call = self.now;
                    self.seen.answered += 1;
                    self.seen.answered_at = self.now;
                    self.call = self.server.calls.map(|every| self.now + every);
                }
                Event::Tick => self.feed(Input::Tick),
            }
        }
        self.now = until;
    }

    /// The server works from now on.
    pub(super) fn mend(&mut self) {
        self.server = Server::default();
    }

    /// The session that runs is lost.
    pub(super) fn end_now(&mut self) {
        self.finish(End::Failed(Failure::default()));
    }

    pub(super) fn is_ready(&self) -> bool {
        self.machine.state() == State::Ready
    }
}
