//! Whether a quiet server lives: asked only when idle, in two kinds, one at a time.

use std::time::Duration;

use super::{At, Policy};

/// What is asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Probe {
    /// `ping`; `server/discover` on the stateless revision.
    Ping,
    /// The cheapest list that the server has advertised.
    List,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// A result, or an error: life.
    Answered,
    /// -32601: life, and the lesson that this question is none for it.
    NotKnown,
    /// Nothing in time, or it could not be asked.
    Silent,
}

/// A list probe may be the whole list: at most once in so many intervals.
const LIST_EVERY: u32 = 20;

/// How much later than its deadline a probe is taken for lost.
const OVERDUE: Duration = Duration::from_secs(5);

/// The probes of one generation.
#[derive(Clone, Debug, Default)]
pub(super) struct Life {
    /// What is outstanding, and since when.
    asked: Option<(Probe, At)>,
    /// Silence to the first kind since then; the second kind decides.
    doubt: Option<At>,
    /// `ping` has taught us nothing: no more of them.
    lesson: bool,
    /// The first kind was answered, with -32601: silence to the second is no silence to both.
    excused: bool,
    listed: Option<At>,
    /// Not before: something else was pending when one was due, or sleep is over.
    not_before: At,
}

/// What a probe's end means.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Means {
    /// It lives, as far as can be told.
    Life,
    /// Ask in another kind.
    Ask(Probe),
    /// It is dead.
    Death,
}

impl Life {
    pub(super) fn new(ready: At) -> Self {
        Self { not_before: ready, ..Self::default() }
    }

    /// True while the second kind of probe decides.
    pub(super) fn in_doubt(&self) -> bool {
        self.doubt.is_some()
    }

    /// The next probe that is due, if one is. `last` is when the server last showed life.
    pub(super) fn due(&self, last: At, policy: &Policy) -> Option<(Probe, At)> {
        if self.asked.is_some() {
            return None;
        }
        let quiet = last.max(self.not_before) + policy.upkeep.keepalive;
        if !self.lesson {
            return Some((Probe::Ping, quiet));
        }
        let spacing = policy.upkeep.keepalive.saturating_mul(LIST_EVERY);
        let after = self.listed.map_or(At::ZERO, |listed| listed + spacing);
        Some((Probe::List, quiet.max(after)))
    }

    /// When the outstanding probe has ended without a word of it: a probe has a deadline of its own,
    /// and nothing here leans on it.
    pub(super) fn overdue(&self, policy: &Policy) -> Option<(Probe, At)> {
        let (probe, since) = self.asked?;
        Some((probe, since + policy.supervision.probe_timeout + OVERDUE))
    }

    /// Something is pending: that has its own deadline, and its answer is life.
    pub(super) fn busy(&mut self, now: At) {
        self.not_before = now;
    }

    /// The next probe is due at this time.
    pub(super) fn due_at(&mut self, at: At, policy: &Policy) {
        self.not_before = at.saturating_sub(policy.upkeep.keepalive);
    }

    pub(super) fn asked(&mut self, probe: Probe, now: At) {
        self.asked = Some((probe, now));
        if probe == Probe::List {
            self.listed = Some(now);
        }
    }

    /// What the end of a probe means; `last` is when the server last showed life.
    pub(super) fn ended(&mut self, probe: Probe, outcome: Outcome, last: At, now: At) -> Means {
        let Some((asked, since)) = self.asked.filter(|(asked, _)| *asked == probe) else {
            return Means::Life; // of an older question
        };
        self.asked = None;
        self.not_before = now;
        let doubt = self.doubt.take();
        let excused = std::mem::take(&mut self.excused);
        let silent = outcome == Outcome::Silent;
        match asked {
            Probe::Ping if outcome == Outcome::Answered => Means::Life,
            Probe::Ping => {
                // The lesson, -32601 or silence: this server has no use for the question.
                self.lesson = true;
                if silent && last > since {
                    return Means::Life;
                }
                self.doubt = silent.then_some(since);
                self.excused = !silent;
                Means::Ask(Probe::List)
            }
            Probe::List if !silent || excused => Means::Life,
            Probe::List => {
                let since = doubt.unwrap_or(since);
                if last > since { Means::Life } else { Means::Death }
            }
        }
    }
}
