//! The task itself: the only owner of its link and its pending requests.
//!
//! A loop in three phases: `select!` makes an input, a synchronous step changes the table, what is
//! to be sent goes to the link, which never waits. The task reads and writes in one place, so a
//! server can make neither wait for the other.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use herm_core::config::Revision;
use herm_core::wire::{self, Incoming, PeerError, Raw, codes, view};
use tokio::time::Instant;

use super::{COMMANDS, Command, PeerConfig, Shared};
use crate::queue::Receiver;
use crate::session::inbound::{Inbound, Question, Taken};
use crate::session::{call::Failure, pending::Pending};
use crate::transport::{Graces, Link, LinkError, LinkEvent, NotSent, OutKind, Outgoing};

/// How long the requests of a session that the server has forgotten may take to be refused.
const REFUSALS: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Task {
    link: Link,
    pending: Pending,
    inbound: Inbound,
    shared: Arc<Shared>,
    limit: usize,
    modern: bool,
    /// Requests that came when the link was over already, and its reason was not known yet.
    unsent: Vec<u64>,
    /// When the timer is set to ring; never later than the earliest deadline.
    armed: Option<Instant>,
}

/// How a peer task ended its loop.
enum End {
    Asked(Graces),
    Lost(LinkError),
}

impl Task {
    /// Boxed: its future would have room for it twice.
    pub(super) fn new(link: Link, config: &PeerConfig, shared: Arc<Shared>) -> Box<Self> {
        Box::new(Self {
            link,
            pending: Pending::new(config.places, config.queue),
            inbound: Inbound::new(config),
            shared,
            limit: config.limit,
            modern: false,
            unsent: Vec::new(),
            armed: None,
        })
    }

    pub(super) async fn run(mut self: Box<Self>, mut commands: Receiver<Command>) -> LinkError {
        let end = self.turn(&mut commands).await;
        if let End::Lost(error) = &end {
            // Before the queue closes, so that a request that comes too late learns why. There is
            // one end, so nothing is there yet.
            drop(self.shared.lost.set(error.clone()));
        }
        drop(commands);
        match end {
            End::Asked(graces) => {
                for id in self.pending.sweep() {
                    self.cancel(id);
                }
                if self.link.is_forgotten() {
                    drop(tokio::time::timeout(REFUSALS, Box::pin(self.refusals())).await);
                }
                self.pending.fail_all(&LinkError::Closed);
                // Boxed, here and below: room for an end is not kept while the session lives.
                Box::pin(self.link.close(graces)).await
            }
            End::Lost(error) => {
                // Callers first: their answer does not wait for the teardown.
                for id in std::mem::take(&mut self.unsent) {
                    let failure = Failure::Link { error: error.clone(), sent: false };
                    self.pending.settle(id, Err(failure));
                }
                self.pending.fail_all(&error);
                let graces = Graces { stop: Duration::ZERO, term: Duration::from_secs(1) };
                match Box::pin(self.link.close(graces)).await {
                    // Worse than whatever ended the session.
                    left @ LinkError::Unkillable { .. } => left,
                    _ => error,
                }
            }
        }
    }

    async fn turn(&mut self, commands: &mut Receiver<Command>) -> End {
        let shared = Arc::clone(&self.shared);
        // Both outlive a turn: to enter and leave the lists of the runtime costs more than the rest
        // of one.
        let mut abandoned = pin!(shared.abandoned.notified());
        let mut timer = pin!(tokio::time::sleep_until(Instant::now()));
        loop {
            if let Some(at) = self.armed
                && at != timer.deadline()
            {
                timer.as_mut().reset(at);
            }
            tokio::select! {
                command = commands.recv() => match command {
                    Some(command) => {
                        if let Some(graces) = self.obey(command) {
                            return End::Asked(graces);
                        }
                        // What else has come is sent in the same write.
                        for _ in 0..COMMANDS {
                            let Some(command) = commands.try_recv() else { break };
                            if let Some(graces) = self.obey(command) {
                                return End::Asked(graces);
                            }
                        }
                    }
                    // Every handle is gone: nobody can ask anything any more.
                    None => return End::Asked(Graces::default()),
                },
                event = self.link.next() => {
                    if let Some(error) = self.event(event) {
                        return End::Lost(error);
                    }
                    self.refill();
                }
                () = &mut timer, if self.armed.is_some() => self.expire(),
                () = &mut abandoned => {
                    abandoned.set(shared.abandoned.notified());
                    for id in self.pending.sweep() {
                        self.cancel(id);
                    }
                    self.refill();
                }
                Some(answered) = self.inbound.answered() => {
                    for id in answered.calls {
                        self.pending.resume(Instant::now(), id);
                        self.arm(self.pending.deadline_of(id));
                    }
                    self.send(answered.message);
                }
            }
        }
    }

    /// What was asked on a session that is gone is refused by the server, each request by itself: one
    /// whose refusal is heard was surely not executed, and is sent again on the next session.
    async fn refusals(&mut self) {
        while self.pending.awaits() {
            let event = self.link.next().await;
            if self.event(event).is_some() {
                return;
            }
        }
    }

    fn obey(&mut self, command: Command) -> Option<Graces> {
        match command {
            Command::Call(call) => {
                let id = call.id;
                if let Some(message) = self.pending.take(Instant::now(), call) {
                    self.arm(self.pending.deadline_of(id));
                    self.send(message);
                } else {
                    self.arm(self.pending.deadline());
                }
                None
            }
            Command::Notify(message) => {
                self.send(*message);
                None
            }
            Command::Opened(revision) => {
                self.inbound.opened(revision);
                self.modern = revision == Revision::V2026_07_28;
                self.link.opened(revision);
                let connectionless = self.link.is_connectionless();
                self.shared.connectionless.store(connectionless, Ordering::Relaxed);
                None
            }
            Command::Close(graces) => Some(graces),
        }
    }

    fn event(&mut self, event: LinkEvent) -> Option<LinkError> {
        match event {
            LinkEvent::Frame { bytes, of } => self.frame(&bytes, of),
            LinkEvent::Oversized { head, of } => self.oversized(&head, of),
            LinkEvent::Failed { id, error } => self.failed(id, error),
            LinkEvent::Closed(error) => return Some(error),
        }
        None
    }

    fn frame(&mut self, bytes: &[u8], of: Option<u64>) {
        let read = wire::read(bytes, &mut |message| self.message(message, of));
        if let Err(bad) = read {
            self.skip(bytes);
            if let Some(id) = bad.names.or(of) {
                let why = format!("its answer is {}", bad.why);
                self.settle(id, Err(Failure::BadReply(why)), of);
            }
        }
    }

    /// Settles a request by what came on the exchange of `of`. One of its own, on which nothing came,
    /// is closed: nobody waits for what it may still bring.
    fn settle(&mut self, id: u64, answer: Result<Raw, Failure>, of: Option<u64>) -> bool {
        let waited = self.pending.settle(id, answer);
        if waited && of != Some(id) {
            self.link.abandon(id);
        }
        waited
    }

    fn message(&mut self, message: Incoming, of: Option<u64>) {
        match message {
            Incoming::Reply { id, reply } => {
                let answer = reply.map_err(Failure::Peer);
                if !self.settle(id, answer, of) {
                    // Late, and life all the same.
                    self.shared.lives();
                    self.shared.late.fetch_add(1, Ordering::Relaxed);
                }
            }
            Incoming::Unaddressed(error) => self.unaddressed(error, of),
            Incoming::Request { id, method, params } => {
                let asked = self.pending.askable(of);
                match self.inbound.request(Question { id, method, params }, asked, &mut self.link) {
                    Taken::Asking(calls) => {
                        for call in calls {
                            self.pending.pause(Instant::now(), call);
                        }
                    }
                    Taken::Replied => {}
                    Taken::Dropped => {
                        self.shared.dropped.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
            Incoming::Notification { method, params } => self.notification(&method, params, of),
            // A reply to nothing of ours, or a kind of message that came after this was written.
            _ => {
                self.shared.late.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// An error that names no request means the one whose stream carried it. Where there are no
    /// streams it can mean the only one that waits, if it says that a request could not be read
    /// (B-2): that is what costs an error its id.
    fn unaddressed(&mut self, error: PeerError, of: Option<u64>) {
        let unread = matches!(error.code, codes::PARSE_ERROR | codes::INVALID_REQUEST);
        match of.or_else(|| self.pending.only().filter(|_| unread)) {
            Some(id) => {
                self.pending.settle(id, Err(Failure::Peer(error)));
            }
            None => {
                self.shared.late.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn notification(&mut self, method: &str, params: Option<Raw>, of: Option<u64>) {
        match method {
            "notifications/progress" => {
                if let Some((token, params)) = params.and_then(progress_token)
                    && self.pending.progress(Instant::now(), token, params)
                {
                    self.shared.lives();
                }
            }
            "notifications/tools/list_changed"
            | "notifications/resources/list_changed"
            | "notifications/prompts/list_changed" => self.shared.changed.notify_one(),
            "notifications/subscriptions/acknowledged" => {
                if let Some(params) = params
                    && let Some(id) = view::subscription(&params).or(of)
                    && self.pending.stands(id)
                {
                    self.pending.progress(Instant::now(), id, params);
                }
            }
            "notifications/cancelled" => {
                if let Some(params) = params {
                    self.cancelled(&params);
                }
            }
            _ => {} // B-3: unknown notifications are ignored
        }
    }

    /// The server no longer wants an answer, or has ended a subscription of ours (U-4).
    fn cancelled(&mut self, params: &Raw) {
        match view::cancelled(params).filter(|id| self.modern && self.pending.stands(*id)) {
            Some(id) => {
                let why = "the server ended it".to_owned();
                self.pending.settle(id, Err(Failure::BadReply(why)));
            }
            None => self.inbound.cancelled(params),
        }
    }

    fn oversized(&mut self, head: &[u8], of: Option<u64>) {
        self.skip(head);
        let named = wire::read(head, &mut |_| {}).err().and_then(|bad| bad.names);
        // One that names nobody, but is an answer, is that of the only request there is.
        let only = || is_reply(head).then(|| self.pending.only()).flatten();
        if let Some(id) = of.or(named).or_else(only) {
            let error = LinkError::TooLarge { limit: self.limit };
            self.pending.settle(id, Err(Failure::Link { error, sent: true }));
        }
    }

    /// A request failed on its own exchange. A JSON-RPC error in the body of an HTTP failure is the
    /// server's answer; authorization and outages stay what they are.
    fn failed(&mut self, id: u64, error: LinkError) {
        let mut answer = None;
        if let LinkError::Http { status: 429 | 503, retry_after: Some(after), .. } = &error {
            let held = self.shared.hold(*after);
            self.pending.refuse_queued(&held);
        } else if let LinkError::Http { status, body, rpc: true, .. } = &error
            && !matches!(status, 401 | 403)
        {
            let read = wire::read(body.as_bytes(), &mut |message| {
                if let Incoming::Reply { reply: Err(error), .. } | Incoming::Unaddressed(error) =
                    message
                {
                    answer = Some(Failure::Peer(error));
                }
            });
            drop(read);
        }
        // A refusal for want of a session is the one that says: not executed.
        let sent = !matches!(error, LinkError::SessionUnknown);
        let failure = answer.unwrap_or(Failure::Link { error, sent });
        self.pending.settle(id, Err(failure));
    }

    fn expire(&mut self) {
        let now = Instant::now();
        for id in self.pending.expire(now) {
            self.cancel(id);
        }
        self.armed = self.pending.deadline();
        self.refill();
    }

    /// One cancellation, best effort and without waiting (X-1).
    fn cancel(&mut self, id: u64) {
        self.link.abandon(id);
        // H-25: on stateless HTTP the closed stream is the cancel.
        if self.modern && matches!(self.link, Link::Http(_)) {
            return;
        }
        let method = "notifications/cancelled";
        let params = format!(r#"{{"requestId":{id},"reason":"herm no longer waits for it"}}"#);
        let body = wire::notification(method, Some(&params));
        let kind = OutKind::Notification;
        self.send(Outgoing { kind, method: method.to_owned(), body, headers: Vec::new() });
    }

    fn refill(&mut self) {
        if self.pending.load().1 == 0 {
            return;
        }
        for message in self.pending.refill(Instant::now()) {
            self.send(message);
        }
        self.armed = self.pending.deadline();
    }

    fn send(&mut self, message: Outgoing) {
        let kind = message.kind;
        let Err(refused) = self.link.send(message) else { return };
        match kind {
            OutKind::Request(id) => {
                let (running, queued) = self.pending.load();
                match refused {
                    NotSent::Full => {
                        self.pending.settle(id, Err(Failure::Busy { running, queued }));
                    }
                    // The link's last event, which says why, is on its way.
                    NotSent::Closed => self.unsent.push(id),
                }
            }
            OutKind::Notification | OutKind::Reply => {
                self.shared.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn arm(&mut self, at: Option<Instant>) {
        if let Some(at) = at
            && self.armed.is_none_or(|armed| at < armed)
        {
            self.armed = Some(at);
        }
    }

    fn skip(&mut self, frame: &[u8]) {
        self.shared.skipped.fetch_add(1, Ordering::Relaxed);
        self.shared.first_skipped.get_or_init(|| {
            let head = &frame[..frame.len().min(800)];
            herm_core::gate::clean::line(&String::from_utf8_lossy(head), 200)
        });
    }
}

/// The token of a progress notification, if it is a number as ours are.
fn progress_token(params: Raw) -> Option<(u64, Raw)> {
    #[derive(serde::Deserialize)]
    struct Token {
        #[serde(rename = "progressToken")]
        token: u64,
    }
    let token = serde_json::from_str::<Token>(params.get()).ok()?.token;
    Some((token, params))
}

/// Whether this start of a message is that of an answer: some servers write its id last.
fn is_reply(head: &[u8]) -> bool {
    let at = |key: &str| head.windows(key.len()).position(|part| part == key.as_bytes());
    let reply = at("\"result\":").or_else(|| at("\"error\":"));
    reply.is_some_and(|reply| at("\"method\":").is_none_or(|method| reply < method))
}
