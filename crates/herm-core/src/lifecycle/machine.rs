//! The machine itself.

mod attempts;
mod tend;

use std::time::Duration;

use super::life::Life;
use super::{At, Breaker, Close, Effect, Event, Input, Ledger, Policy, Seen, State, Step};

/// After a sleep, losses of this long are no failures: the network comes back when it likes.
const RESUME_GRACE: Duration = Duration::from_secs(30);
/// After a sleep, idle servers are probed within this time, each at a random moment of it.
const RESUME_SPREAD: Duration = Duration::from_secs(5);

/// What follows a close of ours.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Then {
    /// Rest until it is wanted.
    #[default]
    Rest,
    /// Open again at once.
    Again,
    /// As after a loss.
    Fail,
}

/// Since when a session is ready, and how it was then.
#[derive(Clone, Copy, Debug)]
struct Ready {
    at: At,
    answered: u64,
    connectionless: bool,
    proven: bool,
}

/// One server's machine.
#[derive(Debug)]
pub struct Lifecycle {
    policy: Policy,
    state: State,
    since: At,
    generation: u64,
    ledger: Ledger,
    breaker: Breaker,
    life: Life,
    ready: Option<Ready>,
    /// When this generation began.
    began: At,
    /// The session of this generation was opened.
    opened: bool,
    then: Then,
    /// It was started once, so that it is kept up if the policy says so.
    started: bool,
    /// Demand came while an attempt had to wait.
    wanted: bool,
    /// A person wants the attempt that runs, or the next one.
    forced: bool,
    grace: Option<At>,
    notes: Vec<Event>,
}

impl Lifecycle {
    /// A server that rests, with what is known of it.
    #[must_use]
    pub fn new(policy: Policy, ledger: Ledger) -> Self {
        Self {
            policy,
            state: State::Idle,
            since: At::ZERO,
            generation: 0,
            ledger,
            breaker: Breaker::default(),
            life: Life::default(),
            ready: None,
            began: At::ZERO,
            opened: false,
            then: Then::Rest,
            started: false,
            wanted: false,
            forced: false,
            grace: None,
            notes: Vec::new(),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// Since when; zero before the first step.
    #[must_use]
    pub fn since(&self) -> At {
        self.since
    }

    /// True while a second kind of probe decides whether a ready server lives.
    #[must_use]
    pub fn is_suspect(&self) -> bool {
        self.state == State::Ready && self.life.in_doubt()
    }

    /// The last generation that was opened; 0 before the first.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// What is remembered of its failures.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Its breaker.
    #[must_use]
    pub fn breaker(&self) -> &Breaker {
        &self.breaker
    }

    /// Other numbers, from now on.
    pub fn set_policy(&mut self, policy: Policy) {
        self.policy = policy;
    }

    /// What changed in the ledger since this was last asked, for the copy of all hosts.
    pub fn take_notes(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.notes)
    }

    /// True if word that this generation is ready is still news: it is on its way, and not over,
    /// closed or replaced meanwhile.
    #[must_use]
    pub fn awaits(&self, generation: u64) -> bool {
        self.state == State::Connecting && self.generation == generation
    }

    /// When the next attempt comes, or a call may start one.
    #[must_use]
    pub fn next_attempt(&self) -> Option<At> {
        match self.state {
            State::Backoff | State::Parked(_) | State::NeedsLogin => self.ledger.next,
            _ => None, // it runs, or demand starts it
        }
    }

    /// From when on a call starts a server that is parked or wants a login; none while its allowance
    /// is spent.
    #[must_use]
    pub fn forward_at(&self, now: At) -> Option<At> {
        self.ledger.forward_at(now, &self.policy)
    }

    /// When [`Input::Tick`] is due; `seen` as in a step.
    #[must_use]
    pub fn deadline(&self, seen: &Seen) -> Option<At> {
        let own = match self.state {
            State::Ready => self.ready_deadline(seen),
            State::Backoff | State::Parked(_) | State::NeedsLogin
                if self.wanted || self.keeps() =>
            {
                Some(self.ledger.next.unwrap_or_default())
            }
            _ => None, // attempts and closes have deadlines of their own
        };
        [own, self.breaker.deadline()].into_iter().flatten().min()
    }

    fn ready_deadline(&self, seen: &Seen) -> Option<At> {
        let ready = self.ready?;
        let proof = (!ready.proven).then(|| {
            (ready.at + self.policy.supervision.proof).max(
                // An answer is missing: it is looked for again with the next probe.
                if seen.life > ready.at { At::ZERO } else { At::MAX },
            )
        });
        let life = self.life.due(seen.life, &self.policy).or(self.life.overdue(&self.policy));
        let life = life.map(|(_, at)| at);
        let quiet = seen.pending == 0;
        let upkeep = &self.policy.upkeep;
        let idle = upkeep.idle.filter(|_| quiet).map(|idle| seen.call.max(ready.at) + idle);
        let lifetime = upkeep.lifetime.filter(|_| quiet).map(|lifetime| ready.at + lifetime);
        [proof.filter(|at| *at < At::MAX), life, idle, lifetime].into_iter().flatten().min()
    }

    fn keeps(&self) -> bool {
        self.policy.keep && self.started
    }

    /// Moves to the next state and says what to do about it.
    #[must_use]
    pub fn step(&mut self, input: Input, now: &Step) -> Option<Effect> {
        let before = self.state;
        let first = self.since == At::ZERO;
        let effect = self.react(input, now);
        if first || self.state != before {
            self.since = now.at;
        }
        effect
    }

    fn react(&mut self, input: Input, now: &Step) -> Option<Effect> {
        match input {
            Input::Want => self.want(now),
            Input::Force => self.force(now),
            Input::Stop => self.stop(),
            Input::Tick => self.tick(now),
            Input::Ended { generation, end } if self.runs(generation) => self.ended(end, now),
            Input::Stuck(generation) if self.runs(generation) => {
                self.stuck();
                None
            }
            Input::Opened(generation) if self.awaits(generation) => {
                self.opened = true;
                None
            }
            Input::Ready { generation, connectionless } if self.awaits(generation) => {
                self.state = State::Ready;
                self.wanted = false;
                self.breaker.rebuilt();
                self.life = Life::new(now.at);
                let (at, answered) = (now.at, now.seen.answered);
                self.ready = Some(Ready { at, answered, connectionless, proven: false });
                // Whoever wanted it has looked after it: the streak is over, the allowance is not.
                if std::mem::take(&mut self.forced) {
                    self.forgive(now);
                }
                None
            }
            Input::SessionGone(generation) if self.lives(generation) => {
                // It was of use, so that a new one is no repetition of a failure.
                let useful = self.ready.is_some_and(|ready| now.seen.answered > ready.answered);
                self.close(Close::SessionGone, if useful { Then::Again } else { Then::Fail })
            }
            Input::RefreshFailed(generation) if self.lives(generation) => {
                self.close(Close::Refresh, Then::Fail)
            }
            Input::Probed { generation, probe, outcome } if self.lives(generation) => {
                self.probed(probe, outcome, now)
            }
            Input::Strike { generation, since, lost } => self.strike(generation, since, lost, now),
            Input::TrialAnswered => {
                self.breaker.answered();
                None
            }
            Input::Resumed => {
                self.grace = Some(now.at + RESUME_GRACE);
                self.life.due_at(now.at + RESUME_SPREAD.mul_f64(now.dice), &self.policy);
                None
            }
            Input::Adopt(ledger) => {
                self.adopt(ledger, now);
                None
            }
            Input::Proven => self.proven_elsewhere(now),
            // Word of an old generation, or of one that is closed already.
            Input::Opened(_)
            | Input::Ready { .. }
            | Input::Ended { .. }
            | Input::Stuck(_)
            | Input::SessionGone(_)
            | Input::RefreshFailed(_)
            | Input::Probed { .. } => None,
        }
    }

    /// This generation has not ended.
    fn runs(&self, generation: u64) -> bool {
        let running = matches!(
            self.state,
            State::Connecting | State::Ready | State::Closing | State::Unkillable | State::Stopping
        );
        running && self.generation == generation
    }

    fn lives(&self, generation: u64) -> bool {
        self.state == State::Ready && self.generation == generation
    }
}
