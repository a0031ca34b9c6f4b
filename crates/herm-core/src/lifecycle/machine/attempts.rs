//! From demand to an attempt, from its end to the wait for the next one.

use super::{Lifecycle, Then};
use crate::lifecycle::policy::QUIET_MAX;
use crate::lifecycle::{Close, Effect, End, Event, Failure, Ledger, Parked, State, Step, Wait};

impl Lifecycle {
    pub(super) fn want(&mut self, now: &Step) -> Option<Effect> {
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

    pub(super) fn force(&mut self, now: &Step) -> Option<Effect> {
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

    pub(super) fn stop(&mut self) -> Option<Effect> {
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

    pub(super) fn close(&mut self, why: Close, then: Then) -> Option<Effect> {
        self.state = State::Closing;
        self.then = then;
        Some(Effect::Close(why))
    }

    pub(super) fn stuck(&mut self) {
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
    pub(super) fn attempt(&mut self, now: &Step) -> Option<Effect> {
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

    pub(super) fn ended(&mut self, end: End, now: &Step) -> Option<Effect> {
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
    pub(super) fn prove(&mut self, now: &Step) {
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
    pub(super) fn forgive(&mut self, now: &Step) {
        self.note(Event::Proven { at: now.at });
    }

    /// Another program of this home has found it well: what failed here is tried again, within the
    /// allowance.
    pub(super) fn proven_elsewhere(&mut self, now: &Step) -> Option<Effect> {
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

    pub(super) fn adopt(&mut self, mut ledger: Ledger, now: &Step) {
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
