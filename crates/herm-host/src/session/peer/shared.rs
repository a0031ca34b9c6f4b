//! What is to be seen of a session from outside its task: counters, times, and two bells.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use herm_core::lifecycle::{At, Seen};
use herm_core::wire::Raw;
use tokio::sync::Notify;

use crate::clock::Clock;
use crate::session::listen;
use crate::session::pending::{Ask, Failure};
use crate::status::Skipped;
use crate::transport::LinkError;

/// Longest time that nothing is sent to a server because it asked for that.
const HELD_MAX: Duration = Duration::from_secs(60);

/// What outlives the task's loop: counters, and two bells.
#[derive(Debug)]
pub(crate) struct Shared {
    clock: Clock,
    /// The last answer to a request, or progress for one, in nanoseconds of the clock.
    life: AtomicU64,
    /// When the last call came, likewise.
    called: AtomicU64,
    /// Until then nothing is asked of the server: it wants to be left alone. Likewise.
    held: AtomicU64,
    /// Requests that wait for an answer or their turn; a subscription is none.
    waiting: AtomicUsize,
    /// Calls among them.
    calls: AtomicUsize,
    /// Calls that were answered.
    answered: AtomicU64,
    /// When the last of them was.
    answered_at: AtomicU64,
    /// Nothing is lost with a connection: HTTP without a session.
    pub(super) connectionless: AtomicBool,
    /// Why the link was lost, once it was.
    pub(super) lost: OnceLock<LinkError>,
    pub(super) next_id: AtomicU64,
    /// A caller went away.
    pub(super) abandoned: Notify,
    /// A list changed: one permit, so that a burst is one refresh.
    pub(crate) changed: Notify,
    pub(super) skipped: AtomicU64,
    pub(super) first_skipped: OnceLock<String>,
    /// Answers that nobody waited for.
    pub(crate) late: AtomicU64,
    /// Requests and notifications of the server that were dropped at a bound.
    pub(crate) dropped: AtomicU64,
}

impl Shared {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            clock,
            life: AtomicU64::new(0),
            called: AtomicU64::new(0),
            held: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
            calls: AtomicUsize::new(0),
            answered: AtomicU64::new(0),
            answered_at: AtomicU64::new(0),
            connectionless: AtomicBool::new(false),
            lost: OnceLock::new(),
            next_id: AtomicU64::new(0),
            abandoned: Notify::new(),
            changed: Notify::new(),
            skipped: AtomicU64::new(0),
            first_skipped: OnceLock::new(),
            late: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        }
    }

    /// What the lifecycle wants to see of the session.
    pub(crate) fn seen(&self) -> Seen {
        let time = |at: &AtomicU64| At::from_nanos(at.load(Ordering::Relaxed));
        Seen {
            life: time(&self.life),
            pending: self.waiting.load(Ordering::Relaxed),
            call: time(&self.called),
            answered: self.answered.load(Ordering::Relaxed),
            answered_at: time(&self.answered_at),
        }
    }

    /// True if nothing is lost with a connection; known once the session is open.
    pub(crate) fn is_connectionless(&self) -> bool {
        self.connectionless.load(Ordering::Relaxed)
    }

    /// Answers that nobody waited for.
    pub(crate) fn late_answers(&self) -> u64 {
        self.late.load(Ordering::Relaxed)
    }

    /// Calls that run or wait.
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// An answer to a request of ours, or progress for one.
    pub(super) fn lives(&self) {
        self.life.store(self.nanos(), Ordering::Relaxed);
    }

    /// The server wants to be left alone for so long (`Retry-After`): what is asked meanwhile is
    /// refused.
    pub(super) fn hold(&self, seconds: u64) -> LinkError {
        let hold = Duration::from_secs(seconds).min(HELD_MAX);
        self.held.fetch_max(nanos(self.clock.now() + hold), Ordering::Relaxed);
        self.held().unwrap_or(LinkError::Held { seconds: 1 })
    }

    /// Why nothing may be asked now, if that is so.
    pub(super) fn held(&self) -> Option<LinkError> {
        let held = At::from_nanos(self.held.load(Ordering::Relaxed));
        let left = held.saturating_sub(self.clock.now());
        // Rounded up: who comes back then finds it open.
        (!left.is_zero()).then(|| LinkError::Held { seconds: left.as_secs() + 1 })
    }

    fn nanos(&self) -> u64 {
        nanos(self.clock.now())
    }

    /// Frames that were no message.
    pub(crate) fn skipped(&self) -> Skipped {
        Skipped {
            count: self.skipped.load(Ordering::Relaxed),
            first: self.first_skipped.get().cloned(),
        }
    }
}

fn nanos(at: At) -> u64 {
    // Centuries fit.
    u64::try_from(at.as_nanos()).unwrap_or(u64::MAX)
}

/// A request that waits: counted, and its bell rings when its caller goes away before the answer.
pub(super) struct Waiting<'a> {
    shared: &'a Shared,
    is_call: bool,
    /// It is a subscription: nothing is pending while it stands.
    stands: bool,
    answered: bool,
}

impl<'a> Waiting<'a> {
    pub(super) fn new(shared: &'a Shared, ask: &Ask) -> Self {
        let (is_call, stands) = (ask.takes_place, ask.method == listen::METHOD);
        shared.waiting.fetch_add(usize::from(!stands), Ordering::Relaxed);
        if is_call {
            shared.calls.fetch_add(1, Ordering::Relaxed);
            shared.called.store(shared.nanos(), Ordering::Relaxed);
        }
        Self { shared, is_call, stands, answered: false }
    }

    /// The answer is there; one of the server's own is life.
    pub(super) fn ended(&mut self, outcome: &Result<Raw, Failure>) {
        self.answered = true;
        if !matches!(outcome, Ok(_) | Err(Failure::Peer(_))) {
            return;
        }
        let now = self.shared.nanos();
        self.shared.life.store(now, Ordering::Relaxed);
        if self.is_call {
            self.shared.answered_at.store(now, Ordering::Relaxed);
            self.shared.answered.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.shared.waiting.fetch_sub(usize::from(!self.stands), Ordering::Relaxed);
        if self.is_call {
            self.shared.calls.fetch_sub(1, Ordering::Relaxed);
        }
        if !self.answered {
            self.shared.abandoned.notify_one();
        }
    }
}
