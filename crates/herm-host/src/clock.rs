//! The host's clock: monotonic, and comparable with what other hosts wrote down.

use std::time::{Duration, SystemTime};

use herm_core::lifecycle::At;
use tokio::sync::watch;
use tokio::time::Instant;

/// How often the two clocks are compared.
const COMPARE: Duration = Duration::from_secs(5);
/// How far they may part before that is a sleep, or a clock that was set.
const PART: Duration = Duration::from_secs(5);

/// A monotonic clock that began with the wall clock's time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    base: Instant,
    began: At,
}

impl Clock {
    /// Begins now.
    pub(crate) fn start() -> Self {
        Self { base: Instant::now(), began: since_epoch() }
    }

    /// Now.
    pub(crate) fn now(&self) -> At {
        self.at(Instant::now())
    }

    /// An instant, on this clock.
    pub(crate) fn at(&self, instant: Instant) -> At {
        self.began + instant.saturating_duration_since(self.base)
    }

    /// A time of this clock, as an instant.
    pub(crate) fn instant(&self, at: At) -> Instant {
        self.base + at.saturating_sub(self.began)
    }

    /// A time of this clock, as a person's clock shows it now.
    pub(crate) fn wall(&self, at: At) -> SystemTime {
        let now = self.now();
        if at >= now { SystemTime::now() + (at - now) } else { SystemTime::now() - (now - at) }
    }

    /// A time that a person's clock shows, as one of this clock.
    pub(crate) fn of_wall(&self, wall: SystemTime) -> At {
        let (now, here) = (self.now(), SystemTime::now());
        match wall.duration_since(here) {
            Ok(ahead) => now + ahead,
            Err(error) => now.saturating_sub(error.duration()),
        }
    }

    /// How far the two clocks are apart, in either direction, from what they were at the start.
    fn parted(&self) -> Duration {
        since_epoch().abs_diff(self.now())
    }
}

fn since_epoch() -> At {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// Rings when the machine has slept, was stopped, or its clock was set. Never ends.
pub(crate) async fn watch_for_sleep(clock: Clock, resumed: watch::Sender<u64>) {
    let mut known = clock.parted();
    loop {
        let before = Instant::now();
        tokio::time::sleep(COMPARE).await;
        let parted = clock.parted();
        let late = before.elapsed().saturating_sub(COMPARE);
        if parted.abs_diff(known) > PART || late > PART {
            known = parted;
            resumed.send_modify(|count| *count += 1);
        }
    }
}
