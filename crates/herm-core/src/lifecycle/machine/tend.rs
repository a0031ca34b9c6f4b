//! A ready server: keepalive, recycling, time-outs of calls.

use super::{Lifecycle, Then};
use crate::lifecycle::life::Means;
use crate::lifecycle::{At, Close, Effect, Outcome, Probe, State, Step};

impl Lifecycle {
    pub(super) fn tick(&mut self, now: &Step) -> Option<Effect> {
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

    pub(super) fn probed(&mut self, probe: Probe, outcome: Outcome, now: &Step) -> Option<Effect> {
        match self.life.ended(probe, outcome, now.seen.life, now.at) {
            Means::Life => None,
            Means::Ask(next) => {
                self.life.asked(next, now.at);
                Some(Effect::Probe(next))
            }
            Means::Death => self.close(Close::Silent, Then::Fail),
        }
    }

    pub(super) fn strike(
        &mut self,
        generation: u64,
        since: At,
        lost: bool,
        now: &Step,
    ) -> Option<Effect> {
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
}
