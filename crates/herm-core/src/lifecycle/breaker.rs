//! The breaker: three transport-class failures of calls in a row, and calls are refused for a while.

use super::At;
use crate::config;

/// How calls stand with a server.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Gate {
    /// They pass.
    #[default]
    Closed,
    /// They are refused until then.
    Open {
        /// When one may try.
        until: At,
    },
    /// One may pass, to see.
    HalfOpen,
}

impl Gate {
    /// True if calls pass without a second look.
    #[must_use]
    pub fn is_closed(self) -> bool {
        self == Self::Closed
    }
}

/// Counts strikes of one server.
#[derive(Clone, Debug, Default)]
pub struct Breaker {
    gate: Gate,
    strikes: u32,
    /// When the last one was.
    struck: At,
    /// The generation whose loss, or failed start, was a strike already.
    lost: Option<u64>,
}

impl Breaker {
    /// How calls stand.
    #[must_use]
    pub fn gate(&self) -> Gate {
        self.gate
    }

    /// Strikes in a row.
    #[must_use]
    pub fn strikes(&self) -> u32 {
        self.strikes
    }

    /// A call failed; `lost`: with its generation. True if the gate opens with it.
    pub(super) fn strike(&mut self, lost: Option<u64>, at: At, rules: &config::Breaker) -> bool {
        // A lost session is one failure, however many calls it takes with it.
        if lost.is_some() && self.lost == lost {
            return false;
        }
        self.lost = lost.or(self.lost);
        self.struck = at;
        self.strikes = self.strikes.saturating_add(1);
        let opens = match self.gate {
            Gate::Open { .. } => false,
            Gate::HalfOpen => true,
            Gate::Closed => self.strikes >= rules.threshold,
        };
        if opens {
            self.gate = Gate::Open { until: at + rules.cooldown };
        }
        opens
    }

    /// A call was answered at this time: strikes before it are no row.
    pub(super) fn interrupted(&mut self, answered: At) {
        if self.gate == Gate::Closed && answered > self.struck {
            self.strikes = 0;
        }
    }

    /// The one call that was let through was answered.
    pub(super) fn answered(&mut self) {
        if self.gate == Gate::HalfOpen {
            *self = Self { lost: self.lost, ..Self::default() };
        }
    }

    /// A rebuilt server is ready: see at once.
    pub(super) fn rebuilt(&mut self) {
        if matches!(self.gate, Gate::Open { .. }) {
            self.gate = Gate::HalfOpen;
        }
    }

    /// Time has passed.
    pub(super) fn tick(&mut self, now: At) {
        if matches!(self.gate, Gate::Open { until } if until <= now) {
            self.gate = Gate::HalfOpen;
        }
    }

    pub(super) fn deadline(&self) -> Option<At> {
        match self.gate {
            Gate::Open { until } => Some(until),
            Gate::Closed | Gate::HalfOpen => None,
        }
    }
}
