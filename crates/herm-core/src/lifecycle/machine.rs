//! The machine itself.

use std::time::Duration;

use super::life::{Life, Means};
use super::policy::QUIET_MAX;
use super::{
    At, Breaker, Close, Effect, End, Event, Failure, Input, Ledger, Outcome, Parked, Policy, Probe,
    Seen, State, Step, Wait,
};

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

    fn want(&mut self, now: &Step) -> Option<Effect> {
        match self.state {
            State::Idle | State::Backoff => {
                self.wanted = true;
                self.attempt(now).or_else(|| self.forward(now))
            }
            State::Parked(_) | State::NeedsLogin => {
                if self.ledger.wait(now.at, &self.policy).is_none() {
                    return self.attempt(now);
                }
                self.forward(now)
            }
            State::Closing => {
                if self.then == Then::Rest {
                    self.then = Then::Again;
                }
                self.wanted = true;
                None
            }
            // Demand is met, or cannot be.
            State::Connecting
            | State::Ready
            | State::Unkillable
            | State::Stopping
            | State::Stopped => None,
        }
    }

    /// A call brings a parked server's attempt forward, if it may.
    fn forward(&mut self, now: &Step) -> Option<Effect> {
        let parked = matches!(self.state, State::Parked(_) | State::NeedsLogin);
        let may = parked && self.ledger.may_forward(now.at, &self.policy);
        may.then(|| self.open(now, true, false))
    }

    fn force(&mut self, now: &Step) -> Option<Effect> {
        self.forced = true;
        match self.state {
            State::Idle | State::Backoff | State::Parked(_) | State::NeedsLogin => {
                Some(self.open(now, false, true))
            }
            State::Connecting | State::Ready => self.close(Close::Restart, Then::Again),
            State::Closing => {
                self.then = Then::Again;
                None
            }
            State::Unkillable | State::Stopping | State::Stopped => None,
        }
    }

    fn stop(&mut self) -> Option<Effect> {
        let (state, effect) = match self.state {
            State::Idle | State::Backoff | State::Parked(_) | State::NeedsLogin => {
                (State::Stopped, None)
            }
            State::Connecting | State::Ready => (State::Stopping, Some(Effect::Close(Close::Stop))),
            State::Closing => (State::Stopping, None),
            // It has been waited for long enough.
            State::Unkillable => (State::Stopped, None),
            State::Stopping | State::Stopped => (self.state, None),
        };
        self.state = state;
        effect
    }

    fn close(&mut self, why: Close, then: Then) -> Option<Effect> {
        self.state = State::Closing;
        self.then = then;
        Some(Effect::Close(why))
    }

    fn stuck(&mut self) {
        self.state = match self.state {
            State::Stopping => State::Stopped, // the host does not wait for it for ever
            State::Closing => State::Unkillable,
            _ => {
                self.then = Then::Fail; // nobody asked
                State::Unkillable
            }
        };
    }

    /// An attempt, as soon as back-off and allowance let it.
    fn attempt(&mut self, now: &Step) -> Option<Effect> {
        match self.ledger.wait(now.at, &self.policy) {
            None => Some(self.open(now, false, false)),
            Some(wait) => {
                self.rest(wait);
                None
            }
        }
    }

    fn rest(&mut self, wait: Wait) {
        self.ledger.next = Some(wait.until());
        self.state = match wait {
            Wait::Backoff(_) => State::Backoff,
            Wait::Parked(_) if self.ledger.login => State::NeedsLogin,
            Wait::Parked(_) => State::Parked(Parked::Failures),
            Wait::Allowance(_) => State::Parked(Parked::Allowance),
        };
    }

    fn open(&mut self, now: &Step, forward: bool, free: bool) -> Effect {
        self.ledger
            .note(&Event::Started { at: now.at, dice: now.dice, forward, free }, &self.policy);
        self.state = State::Connecting;
        self.generation += 1;
        self.started = true;
        self.began = now.at;
        self.opened = false;
        self.ready = None;
        self.then = Then::Rest;
        Effect::Open { generation: self.generation, forward, free }
    }

    fn ended(&mut self, end: End, now: &Step) -> Option<Effect> {
        let failure = match (self.state, end) {
            // It fell before anybody stopped it: who lives for one call tells the next one so.
            (State::Stopping, End::Failed(failure)) => {
                self.lost(failure, now);
                self.state = State::Stopped;
                return None;
            }
            (State::Stopping, end) => {
                // It answered, and did not fall: a program that lives for one call has no better proof.
                if end == End::Asked
                    && self.ready.is_some_and(|ready| now.seen.answered > ready.answered)
                {
                    self.forgive(now);
                }
                self.state = State::Stopped;
                return None;
            }
            (_, End::Denied(ledger)) => {
                self.state = State::Idle;
                self.adopt(ledger, now);
                // Whoever waits may bring it forward by what is known now.
                return if self.wanted { self.want(now) } else { self.attempt(now) };
            }
            (State::Closing | State::Unkillable, _) => match self.then {
                Then::Rest => return self.planned(now, false),
                Then::Again => return self.planned(now, true),
                Then::Fail => Failure::default(),
            },
            (_, End::Failed(failure)) => failure,
            // Nobody asked: as lost as any other.
            (_, End::Asked) => Failure::default(),
        };
        self.lost(failure, now);
        None
    }

    /// A close that was planned has ended.
    fn planned(&mut self, now: &Step, again: bool) -> Option<Effect> {
        self.prove(now);
        self.state = State::Idle;
        again.then(|| self.open(now, false, true))
    }

    fn lost(&mut self, failure: Failure, now: &Step) {
        self.prove(now);
        self.forced = false;
        let answering = self.ready.map(|ready| now.seen.life.saturating_sub(ready.at));
        if self.grace.is_some_and(|grace| now.at < grace) {
            let next = now.at + self.policy.backoff(1, now.dice);
            self.ledger.next = self.ledger.next.max(Some(next));
        } else {
            let event = Event::Failed {
                at: now.at,
                began: self.began,
                dice: now.dice,
                permanent: failure.permanent,
                login: failure.login,
                opened: self.opened,
                answering: answering.unwrap_or_default(),
                not_before: failure.retry_after.map(|after| now.at + after.min(QUIET_MAX)),
            };
            if failure.local {
                self.ledger.note(&event, &self.policy);
            } else {
                self.note(event);
            }
        }
        self.ready = None;
        match self.ledger.wait(now.at, &self.policy) {
            Some(wait) => self.rest(wait),
            None => self.state = State::Backoff, // its time is now
        }
    }

    fn note(&mut self, event: Event) {
        self.ledger.note(&event, &self.policy);
        self.notes.push(event);
    }

    /// Failures are forgotten only after proof.
    fn prove(&mut self, now: &Step) {
        let Some(ready) = &mut self.ready else { return };
        let seen = &now.seen;
        let lasted = now.at.saturating_sub(ready.at) >= self.policy.supervision.proof
            && seen.life > ready.at;
        let completed = ready.connectionless && seen.answered > ready.answered;
        if !ready.proven && (lasted || completed) {
            ready.proven = true;
            self.forgive(now);
        }
    }

    /// Said even where nothing is known against the server: what other programs of the home have met
    /// meanwhile is over too.
    fn forgive(&mut self, now: &Step) {
        self.note(Event::Proven { at: now.at });
    }

    /// Another program of this home has found it well: what failed here is tried again, within the
    /// allowance.
    fn proven_elsewhere(&mut self, now: &Step) -> Option<Effect> {
        if !matches!(self.state, State::Backoff | State::Parked(_) | State::NeedsLogin) {
            return None;
        }
        self.ledger.note(&Event::Proven { at: now.at }, &self.policy);
        if self.wanted || self.keeps() {
            return self.attempt(now);
        }
        self.state = State::Idle;
        None
    }

    fn tick(&mut self, now: &Step) -> Option<Effect> {
        self.breaker.tick(now.at);
        match self.state {
            State::Ready => self.tend(now),
            State::Backoff | State::Parked(_) | State::NeedsLogin
                if self.wanted || self.keeps() =>
            {
                self.attempt(now)
            }
            _ => None, // nothing is due
        }
    }

    /// Keepalive and recycling of a ready server.
    fn tend(&mut self, now: &Step) -> Option<Effect> {
        self.prove(now);
        let ready = self.ready?;
        if let Some((probe, at)) = self.life.overdue(&self.policy)
            && at <= now.at
        {
            return self.probed(probe, Outcome::Silent, now);
        }
        if now.seen.pending > 0 {
            self.life.busy(now.at);
            return None;
        }
        let upkeep = &self.policy.upkeep;
        if upkeep.idle.is_some_and(|idle| now.at >= now.seen.call.max(ready.at) + idle) {
            return self.close(Close::Idle, Then::Rest);
        }
        if upkeep.lifetime.is_some_and(|lifetime| now.at >= ready.at + lifetime) {
            return self.close(Close::Lifetime, Then::Rest);
        }
        match self.life.due(now.seen.life, &self.policy) {
            Some((probe, at)) if at <= now.at => {
                self.life.asked(probe, now.at);
                Some(Effect::Probe(probe))
            }
            _ => None,
        }
    }

    fn probed(&mut self, probe: Probe, outcome: Outcome, now: &Step) -> Option<Effect> {
        match self.life.ended(probe, outcome, now.seen.life, now.at) {
            Means::Life => None,
            Means::Ask(next) => {
                self.life.asked(next, now.at);
                Some(Effect::Probe(next))
            }
            Means::Death => self.close(Close::Silent, Then::Fail),
        }
    }

    fn strike(&mut self, generation: u64, since: At, lost: bool, now: &Step) -> Option<Effect> {
        if generation != self.generation {
            return None;
        }
        self.breaker.interrupted(now.seen.answered_at);
        if now.seen.answered_at > since {
            return None; // it answers others
        }
        let lost = lost.then_some(generation);
        let opens = self.breaker.strike(lost, now.at, &self.policy.breaker);
        // One rebuild in this cycle; what is lost already is being rebuilt.
        let rebuild = opens && self.state == State::Ready;
        if rebuild { self.close(Close::Breaker, Then::Fail) } else { None }
    }

    fn adopt(&mut self, mut ledger: Ledger, now: &Step) {
        // What lies beyond any wait of ours is a clock that was set.
        let latest = now.at + self.policy.longest();
        ledger.next = ledger.next.map(|next| next.min(latest));
        ledger.forwarded = ledger.forwarded.filter(|forwarded| *forwarded <= now.at);
        ledger.as_of = ledger.as_of.min(now.at);
        ledger.failed = ledger.failed.map(|failed| failed.min(now.at));
        self.ledger = ledger;
        if matches!(self.state, State::Backoff | State::Parked(_) | State::NeedsLogin)
            && let Some(wait) = self.ledger.wait(now.at, &self.policy)
        {
            self.rest(wait);
        }
    }
}
