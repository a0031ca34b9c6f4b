//! The numbers of one server's supervision.

use std::time::Duration;

use crate::config::{Breaker, Server, Supervision, Upkeep};

/// The numbers of one server's supervision, as configured.
#[derive(Clone, Debug)]
pub struct Policy {
    /// `supervision.*`.
    pub supervision: Supervision,
    /// `breaker.*`.
    pub breaker: Breaker,
    /// `keepalive_interval`, `idle_timeout_seconds`, `max_lifetime_seconds`.
    pub upkeep: Upkeep,
    /// After a loss the server is brought back without a call: it was started, and is not `lazy`.
    pub keep: bool,
}

/// Most of a random stretch that a back-off is multiplied with: 1.0 to 1.5.
const JITTER: f64 = 0.5;
/// Half the width of a parked server's jitter: ± 10 %.
const PARK_JITTER: f64 = 0.1;
/// Longest time that a server may ask to be left alone for (`Retry-After`).
pub(super) const QUIET_MAX: Duration = Duration::from_secs(3600);

impl Policy {
    /// Of a server; `keep` if its host supervises it for longer than one call.
    #[must_use]
    pub fn of(server: &Server, keep: bool) -> Self {
        Self {
            supervision: server.supervision.clone(),
            breaker: server.breaker.clone(),
            upkeep: server.upkeep.clone(),
            keep: keep && !server.lazy && server.enabled,
        }
    }

    /// How long to wait after the `failures`th unproven failure in a row. `dice` is in 0 to 1.
    #[must_use]
    pub fn backoff(&self, failures: u32, dice: f64) -> Duration {
        let doubled = doubled(self.supervision.backoff_initial, failures);
        doubled.min(self.supervision.backoff_max).mul_f64(1.0 + JITTER * dice)
    }

    /// How long a parked server is left alone before its `probes`th self-probe.
    #[must_use]
    pub fn park(&self, probes: u32, dice: f64) -> Duration {
        let doubled = doubled(self.supervision.park_interval, probes);
        doubled.min(self.supervision.park_max).mul_f64(1.0 - PARK_JITTER + 2.0 * PARK_JITTER * dice)
    }

    /// The longest time that any wait of ours can last; what a record says beyond it is a clock that
    /// was set.
    #[must_use]
    pub fn longest(&self) -> Duration {
        let rules = &self.supervision;
        let ours = rules.park_max.max(rules.backoff_max).max(rules.allowance_refill);
        ours.mul_f64(1.0 + JITTER).max(QUIET_MAX)
    }
}

/// `first`, doubled for each time after the first.
fn doubled(first: Duration, times: u32) -> Duration {
    // 2^24 of the least interval (50 ms) is more than a week: far over every cap.
    first.saturating_mul(1 << times.saturating_sub(1).min(24))
}
