//! One server of a host: its configuration, and the bells and the window of its supervisor.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use herm_core::config::Server;
use herm_core::lifecycle::{At, Gate, Input, Policy};
use tokio::sync::{Notify, watch};

use super::attempt::Heard;
use crate::queue::{self, queue};
use crate::refusal::{Phase, Refusal};
use crate::session::Session;
use crate::status::State;
use crate::transport::Graces;

/// What may wait for a supervisor.
const WORDS: usize = 256;

/// What is known of one server, published by its supervisor and read by everyone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Published {
    /// Its state.
    pub(crate) state: State,
    /// Since when.
    pub(crate) since: At,
    /// The last generation.
    pub(crate) generation: u64,
    /// The last generation that failed before it was ready.
    pub(crate) failed: u64,
    /// Unproven failures in a row.
    pub(crate) failures: u32,
    /// When the next attempt comes.
    pub(crate) next: Option<At>,
    /// From when on a call brings it forward.
    pub(crate) forward_at: Option<At>,
    /// How calls stand.
    pub(crate) gate: Gate,
    /// Failures of calls in a row.
    pub(crate) strikes: u32,
    /// Why the last one ended, if it failed or was lost.
    pub(crate) reason: Option<Arc<(Phase, Refusal)>>,
    /// The session of a ready server.
    pub(crate) session: Option<Arc<Session>>,
    /// Phases of the last start, with their time.
    pub(crate) phases: Arc<[(Phase, Duration)]>,
    /// Sessions that were lost.
    pub(crate) losses: u64,
    /// Its process tree does not end.
    pub(crate) unkillable: bool,
    /// Its supervisor has ended: stopped, or replaced.
    pub(crate) is_over: bool,
}

impl Published {
    /// True if nobody who watches would see a difference.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        let session = |of: &Self| of.session.as_ref().map(Arc::as_ptr);
        self.state == other.state
            && self.since == other.since
            && self.generation == other.generation
            && self.failed == other.failed
            && self.failures == other.failures
            && self.next == other.next
            && self.forward_at == other.forward_at
            && self.gate == other.gate
            && self.strikes == other.strikes
            && self.losses == other.losses
            && self.unkillable == other.unkillable
            && self.is_over == other.is_over
            && self.reason.is_some() == other.reason.is_some()
            && session(self) == session(other)
    }
}

/// What a supervisor is told.
#[derive(Debug)]
pub(crate) enum Word {
    /// By whoever calls.
    Order(Input),
    /// By its attempt.
    Heard(Heard),
}

/// The other end of an instance's bells. Boxed: room for some is kept once there was use for it.
pub(crate) type Words = queue::Receiver<Box<Word>>;

/// One server of a host.
#[derive(Debug)]
pub(crate) struct Instance {
    server: ArcSwap<Server>,
    /// It is brought back after a loss without a call.
    keep: bool,
    /// What is known of it.
    pub(crate) window: watch::Sender<Published>,
    /// Rung by demand.
    pub(crate) wanted: Notify,
    words: queue::Sender<Box<Word>>,
    /// The configuration was changed in place.
    changed: AtomicBool,
    /// The one call that a half-open breaker lets through is on its way.
    trial: AtomicBool,
    /// Calls that ended by a deadline.
    pub(crate) timeouts: AtomicU64,
}

impl Instance {
    pub(crate) fn new(server: Arc<Server>, keep: bool, since: At) -> (Self, Words) {
        let state = if server.enabled { State::Idle } else { State::Disabled };
        let window = watch::Sender::new(Published { state, since, ..Published::default() });
        let (words, receiver) = queue(WORDS);
        let instance = Self {
            server: ArcSwap::new(server),
            keep,
            window,
            wanted: Notify::new(),
            words,
            changed: AtomicBool::new(false),
            trial: AtomicBool::new(false),
            timeouts: AtomicU64::new(0),
        };
        (instance, receiver)
    }

    /// True if its host supervises it for longer than one call.
    pub(super) fn keeps(&self) -> bool {
        self.keep
    }

    /// As configured now.
    pub(crate) fn server(&self) -> Arc<Server> {
        self.server.load_full()
    }

    /// True if the session of this generation is over.
    pub(crate) fn has_lost(&self, generation: u64) -> bool {
        let window = self.window.borrow();
        let lives = window.session.as_ref().is_some_and(|session| !session.peer.is_over());
        window.generation != generation || !lives
    }

    /// Other settings, from now on; what defines the connection stays.
    pub(crate) fn update(&self, server: Arc<Server>) {
        self.server.store(server);
        self.changed.store(true, Ordering::Release);
        self.order(Input::Tick);
    }

    pub(super) fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::AcqRel)
    }

    pub(crate) fn policy(&self) -> Policy {
        Policy::of(&self.server.load(), self.keep)
    }

    pub(super) fn graces(&self) -> Graces {
        let server = self.server.load();
        Graces { stop: server.supervision.stop_grace, term: server.supervision.term_grace }
    }

    /// Tells the supervisor what happened. Where hundreds wait already, one more says nothing new.
    pub(crate) fn order(&self, input: Input) {
        drop(self.words.try_send(Box::new(Word::Order(input))));
    }

    /// Tells the supervisor what must not be lost.
    pub(crate) async fn insist(&self, input: Input) {
        self.words.send(Box::new(Word::Order(input))).await;
    }

    /// The word of an attempt.
    pub(super) async fn hear(&self, heard: Heard) {
        self.words.send(Box::new(Word::Heard(heard))).await;
    }

    /// The place of the one call that a half-open breaker lets through, if it is free.
    pub(crate) fn trial(&self) -> Option<Trial<'_>> {
        (!self.trial.swap(true, Ordering::AcqRel)).then_some(Trial(self))
    }
}

/// The one call of a half-open breaker; its place is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Trial<'a>(&'a Instance);

impl Trial<'_> {
    /// The server answered it.
    pub(crate) fn answered(&self) {
        self.0.order(Input::TrialAnswered);
    }
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        self.0.trial.store(false, Ordering::Release);
    }
}
