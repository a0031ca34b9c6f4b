//! What is remembered of a server's failures, beyond one session and one process.

use super::{At, Policy};

/// Failures, allowance and next attempt of one server.
///
/// One copy lives in the machine, one in the state folder of all hosts; both change by the same
/// [`Event`]s, so that five hosts start a dead server no oftener than one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// Unproven failures in a row.
    pub failures: u32,
    /// Self-probes since it was parked; 0: it is not parked.
    pub probes: u32,
    /// No unplanned attempt before.
    pub next: Option<At>,
    /// When a call last brought an attempt of the parked server forward.
    pub forwarded: Option<At>,
    /// Starts that were spent of the allowance, refills deducted; parts of one are parts of a refill.
    pub spent: f64,
    /// As of when.
    pub as_of: At,
    /// The next start follows the loss of an opened session, and costs one of the allowance.
    pub owes: bool,
    /// The last failure was that the server wants a login.
    pub login: bool,
    /// When the last failure was.
    pub failed: Option<At>,
}

/// What changes a ledger.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// An attempt failed, or a session was lost.
    Failed {
        /// When.
        at: At,
        /// When the attempt began.
        began: At,
        /// In 0 to 1.
        dice: f64,
        /// Trying again cannot help until somebody changes something.
        permanent: bool,
        /// That is a login.
        login: bool,
        /// The session was opened, so that the next start costs one of the allowance.
        opened: bool,
        /// How long the lost session had been one that answers.
        answering: At,
        /// The server named a time before which it wants to hear nothing.
        not_before: Option<At>,
    },
    /// The session has proved itself.
    Proven {
        /// When.
        at: At,
    },
    /// An attempt begins.
    Started {
        /// When.
        at: At,
        /// In 0 to 1.
        dice: f64,
        /// A call brings it forward.
        forward: bool,
        /// A person wants it, or it was planned: it spends nothing.
        free: bool,
    },
}

/// Why an attempt has to wait.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Wait {
    /// After a failure.
    Backoff(At),
    /// Parked after too many failures.
    Parked(At),
    /// The allowance is spent; the next start comes with the next refill.
    Allowance(At),
}

impl Wait {
    /// When it is over.
    #[must_use]
    pub fn until(self) -> At {
        match self {
            Self::Backoff(at) | Self::Parked(at) | Self::Allowance(at) => at,
        }
    }
}

impl Ledger {
    /// Notes what happened.
    pub fn note(&mut self, event: &Event, policy: &Policy) {
        match *event {
            Event::Failed { at, began, dice, permanent, login, opened, answering, not_before } => {
                self.login = login;
                self.refill(at, answering, policy);
                self.owes |= opened;
                // Five programs that start at once have met one failure, and not five in a row.
                if !opened && self.failed.is_some_and(|failed| began < failed && failed <= at) {
                    self.next = self.next.max(not_before);
                    return;
                }
                self.failed = Some(at);
                self.failures = self.failures.saturating_add(1);
                if permanent || login || self.failures >= policy.supervision.park_after {
                    self.probes = self.probes.saturating_add(1);
                }
                self.next = Some(at + self.pause(self.failures, dice, policy)).max(not_before);
            }
            Event::Proven { at } => {
                self.refill(at, At::ZERO, policy);
                self.failures = 0;
                self.probes = 0;
                self.next = None;
                self.forwarded = None;
                self.login = false;
            }
            Event::Started { at, dice, forward, free } => {
                self.refill(at, At::ZERO, policy);
                if forward {
                    self.forwarded = Some(at);
                }
                if self.owes {
                    self.owes = false;
                    self.spent += if free { 0.0 } else { 1.0 };
                }
                // Others wait until this attempt can have failed or shown itself.
                if self.failures > 0 {
                    self.next =
                        Some(at + self.pause(self.failures.saturating_add(1), dice, policy));
                }
            }
        }
    }

    fn pause(&self, failures: u32, dice: f64, policy: &Policy) -> At {
        match self.probes {
            0 => policy.backoff(failures, dice),
            probes => policy.park(probes, dice),
        }
    }

    /// What an unplanned attempt has to wait for at `now`.
    #[must_use]
    pub fn wait(&self, now: At, policy: &Policy) -> Option<Wait> {
        let next = self.next.filter(|next| *next > now);
        if let Some(until) = self.broke(now, policy) {
            return Some(Wait::Allowance(until.max(next.unwrap_or_default())));
        }
        next.map(|next| if self.probes > 0 { Wait::Parked(next) } else { Wait::Backoff(next) })
    }

    /// True if a call may bring forward the attempt of a parked server: once in `park_interval`, never
    /// past the allowance, and not before the back-off of the last failure.
    #[must_use]
    pub fn may_forward(&self, now: At, policy: &Policy) -> bool {
        self.forward_at(now, policy).is_some_and(|at| at <= now)
    }

    /// From when on a call may do that.
    #[must_use]
    pub fn forward_at(&self, now: At, policy: &Policy) -> Option<At> {
        if self.broke(now, policy).is_some() {
            return None;
        }
        let interval = policy.supervision.park_interval;
        let once = self.forwarded.map_or(At::ZERO, |last| last + interval);
        // The last word was a failure, or the start that ended in it.
        Some(once.max(self.as_of + policy.backoff(self.failures, 0.0)))
    }

    /// Starts that are left of the allowance.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
    pub fn allowance(&self, now: At, policy: &Policy) -> u32 {
        let whole = f64::from(policy.supervision.allowance);
        (whole - self.spent_at(now, policy)).clamp(0.0, whole).floor() as u32
    }

    /// True if there is nothing to remember.
    #[must_use]
    pub fn is_clean(&self, now: At, policy: &Policy) -> bool {
        self.failures == 0 && !self.owes && self.spent_at(now, policy) <= 0.0
    }

    /// When the allowance holds a whole start again, if the next start needs one and there is none.
    fn broke(&self, now: At, policy: &Policy) -> Option<At> {
        let over = self.spent_at(now, policy) + 1.0 - f64::from(policy.supervision.allowance);
        (self.owes && over > 1e-6).then(|| now + policy.supervision.allowance_refill.mul_f64(over))
    }

    fn spent_at(&self, now: At, policy: &Policy) -> f64 {
        let refill = policy.supervision.allowance_refill.as_secs_f64();
        (self.spent - now.saturating_sub(self.as_of).as_secs_f64() / refill).max(0.0)
    }

    fn refill(&mut self, now: At, answering: At, policy: &Policy) {
        let earned = answering.as_secs_f64() / policy.supervision.allowance_earn.as_secs_f64();
        self.spent = (self.spent_at(now, policy) - earned).max(0.0);
        self.as_of = now.max(self.as_of);
    }
}
