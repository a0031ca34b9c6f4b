//! The way to the task that speaks with one server.

mod task;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use herm_core::config::Revision;
use herm_core::lifecycle::{At, Seen};
use herm_core::name::ServerName;
use herm_core::wire::{self, Raw};
use tokio::sync::{Notify, mpsc, oneshot};

use self::task::Task;
use super::listen;
use super::pending::{Call, Failure};
use crate::answer::Answerer;
use crate::clock::Clock;
use crate::refusal::Deadline;
use crate::request::{Caller, Progress};
use crate::status::Skipped;
use crate::transport::{Graces, Link, LinkError, OutKind, Outgoing};

/// Longest time that nothing is sent to a server because it asked for that.
const HELD_MAX: Duration = Duration::from_secs(60);

/// Commands that may wait for the task.
const COMMANDS: usize = 1_024;

/// What the task is told.
#[derive(Debug)]
enum Command {
    // Boxed: a channel keeps room for some dozens of these even while nothing waits.
    Call(Box<Call>),
    Notify(Box<Outgoing>),
    Opened(Revision),
    Close(Graces),
}

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
    connectionless: AtomicBool,
    /// Why the link was lost, once it was.
    lost: OnceLock<LinkError>,
    next_id: AtomicU64,
    /// A caller went away.
    abandoned: Notify,
    /// A list changed: one permit, so that a burst is one refresh.
    pub(crate) changed: Notify,
    skipped: AtomicU64,
    first_skipped: OnceLock<String>,
    /// Answers that nobody waited for.
    pub(crate) late: AtomicU64,
    /// Requests and notifications of the server that were dropped at a bound.
    pub(crate) dropped: AtomicU64,
}

impl Shared {
    fn new(clock: Clock) -> Self {
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
    fn hold(&self, seconds: u64) -> LinkError {
        let hold = Duration::from_secs(seconds).min(HELD_MAX);
        self.held.fetch_max(nanos(self.clock.now() + hold), Ordering::Relaxed);
        self.held().unwrap_or(LinkError::Held { seconds: 1 })
    }

    /// Why nothing may be asked now, if that is so.
    fn held(&self) -> Option<LinkError> {
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

/// What a peer task needs to know of its server.
#[derive(Clone, Debug)]
pub(crate) struct PeerConfig {
    /// Its name.
    pub(crate) server: ServerName,
    /// `max_concurrent_calls`.
    pub(crate) places: usize,
    /// `queue_timeout`.
    pub(crate) queue: Duration,
    /// `max_message_bytes`.
    pub(crate) limit: usize,
    /// Who answers the server when no call's caller does.
    pub(crate) answerer: Answerer,
    /// The host's clock.
    pub(crate) clock: Clock,
}

/// One request, before it has an id.
#[derive(Debug)]
pub(crate) struct Ask {
    /// Its method.
    pub(crate) method: &'static str,
    /// Mirrored headers.
    pub(crate) headers: Vec<(String, String)>,
    /// Without answer or progress.
    pub(crate) idle: Duration,
    /// From sending.
    pub(crate) absolute: Duration,
    /// Which deadline the absolute limit is.
    pub(crate) absolute_is: Deadline,
    /// Counts against `max_concurrent_calls`.
    pub(crate) takes_place: bool,
    /// Who may be asked back.
    pub(crate) caller: Option<Arc<Caller>>,
    /// Where progress goes.
    pub(crate) progress: Option<mpsc::Sender<Progress>>,
}

impl Ask {
    /// A request of the host's own (opening, lists): one deadline, no place taken.
    pub(crate) fn own(method: &'static str, within: Duration, is: Deadline) -> Self {
        Self {
            method,
            headers: Vec::new(),
            idle: within,
            absolute: within,
            absolute_is: is,
            takes_place: false,
            caller: None,
            progress: None,
        }
    }
}

/// The way to a peer task. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct PeerHandle {
    commands: mpsc::Sender<Command>,
    pub(crate) shared: Arc<Shared>,
}

/// A request that waits: counted, and its bell rings when its caller goes away before the answer.
struct Waiting<'a> {
    shared: &'a Shared,
    is_call: bool,
    /// It is a subscription: nothing is pending while it stands.
    stands: bool,
    answered: bool,
}

impl<'a> Waiting<'a> {
    fn new(shared: &'a Shared, ask: &Ask) -> Self {
        let (is_call, stands) = (ask.takes_place, ask.method == listen::METHOD);
        shared.waiting.fetch_add(usize::from(!stands), Ordering::Relaxed);
        if is_call {
            shared.calls.fetch_add(1, Ordering::Relaxed);
            shared.called.store(shared.nanos(), Ordering::Relaxed);
        }
        Self { shared, is_call, stands, answered: false }
    }

    /// The answer is there; one of the server's own is life.
    fn ended(&mut self, outcome: &Result<Raw, Failure>) {
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

impl PeerHandle {
    /// Sends a request and waits for its answer. `params` is given the request's id, which is also
    /// its progress token. Dropping the future cancels the request.
    pub(crate) async fn request(
        &self,
        ask: Ask,
        params: impl FnOnce(u64) -> String,
    ) -> Result<Raw, Failure> {
        if let Some(error) = self.shared.held() {
            return Err(Failure::Link { error, sent: false });
        }
        let id = self.shared.next_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (answer, answered) = oneshot::channel();
        let body = wire::request(id, ask.method, &params(id));
        let mut waiting = Waiting::new(&self.shared, &ask);
        let call = Box::new(Call {
            id,
            method: ask.method,
            body,
            headers: ask.headers,
            idle: ask.idle,
            absolute: ask.absolute,
            absolute_is: ask.absolute_is,
            takes_place: ask.takes_place,
            caller: ask.caller,
            progress: ask.progress,
            answer,
        });
        self.commands.try_send(Command::Call(call)).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => {
                Failure::Busy { running: COMMANDS, queued: COMMANDS }
            }
            mpsc::error::TrySendError::Closed(_) => self.not_sent(),
        })?;
        let outcome = answered.await.unwrap_or_else(|_| Err(self.not_sent()));
        waiting.ended(&outcome);
        outcome
    }

    /// Sends a notification, if there is room for it.
    pub(crate) fn notify(&self, method: &'static str, params: Option<&str>) {
        let message = Box::new(Outgoing {
            kind: OutKind::Notification,
            method: method.to_owned(),
            body: wire::notification(method, params),
            headers: Vec::new(),
        });
        if self.commands.try_send(Command::Notify(message)).is_err() {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Tells the link which revision was agreed.
    pub(crate) async fn opened(&self, revision: Revision) {
        // A closed channel means that the task is over; the next request finds that out.
        drop(self.commands.send(Command::Opened(revision)).await);
    }

    /// Ends the task and its link; the task's own end says when that is done.
    pub(crate) async fn close(&self, graces: Graces) {
        drop(self.commands.send(Command::Close(graces)).await);
    }

    /// True once the task is over.
    pub(crate) fn is_over(&self) -> bool {
        self.commands.is_closed()
    }

    /// The task was over before it took the request: why, as far as it was lost and not closed.
    fn not_sent(&self) -> Failure {
        let error = self.shared.lost.get().cloned().unwrap_or(LinkError::Closed);
        Failure::Link { error, sent: false }
    }
}

/// Makes a peer task; whoever spawns the future owns it. The future ends when the link is over and
/// its process reaped, with the reason.
pub(crate) fn peer(
    link: Link,
    config: &PeerConfig,
) -> (PeerHandle, impl Future<Output = LinkError> + Send + use<>) {
    let (commands, receiver) = mpsc::channel(COMMANDS);
    let shared = Arc::new(Shared::new(config.clock));
    let task = Task::new(link, config, Arc::clone(&shared));
    (PeerHandle { commands, shared }, task.run(receiver))
}
