//! `herm serve`: an MCP server on a pair of streams, in the handshake era.
//!
//! One task owns the client: it reads, answers, writes. Calls are tasks of its set and send what
//! they have to say through one bounded queue. A client that does not read is not read from: what
//! waits for it is bounded, and no server is ever kept waiting.

mod calls;
mod cut;
mod list;
mod outbox;
mod session;

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use herm_core::wire::lines::{Line, Lines};
use herm_core::wire::{self, Incoming, Raw, codes};
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::watch;
use tokio::time::Instant;

use self::calls::{Calls, Event};
use self::outbox::Outbox;
use self::session::{Answer, Session};
use crate::gate::Gate;

/// Running calls have so much time when the client, or herm, ends.
pub const DRAIN: Duration = Duration::from_secs(5);
/// A line of the client has no more bytes than this.
const MAX_LINE: usize = 16 << 20;
/// A client that reads nothing for this long, and has left besides, is waited for no longer.
const STUCK: Duration = Duration::from_secs(2);
/// Changes of the catalogue within this time are one notice.
const COALESCE: Duration = Duration::from_millis(100);

/// Why serving ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ended {
    /// The client closed its end.
    Eof,
    /// We were told to stop.
    Stopped,
    /// Nobody reads what we write any more.
    Gone,
}

/// Serves one client until it leaves or the gate stops; then the gate is stopped, and running calls
/// have [`DRAIN`]. Gives why it ended, and how many lines of the client were no message.
///
/// `left` ends once the client has closed its end, whether what it wrote is read or not: a client that
/// reads nothing is not read from.
pub async fn stdio<R, W, L>(gate: &Arc<Gate>, input: R, output: W, left: L) -> (Ended, u64)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
    L: Future<Output = ()>,
{
    let mut client = Client::new(Arc::clone(gate), input, output, Box::pin(left));
    let ended = client.run().await;
    gate.stop();
    let deadline = Instant::now() + DRAIN;
    if ended == Ended::Gone {
        client.calls.abandon();
        gate.drained(deadline).await;
    } else {
        tokio::join!(client.drain(deadline), gate.drained(deadline));
    }
    (ended, client.skipped)
}

/// One connected client.
struct Client<R, W, L> {
    gate: Arc<Gate>,
    input: R,
    lines: Lines,
    /// Messages of a line that are not answered yet: a batch has many.
    waiting: VecDeque<Incoming>,
    output: W,
    left: Pin<Box<L>>,
    /// Since when there is no room, and nothing was taken.
    stuck: Option<Instant>,
    out: Outbox,
    session: Session,
    calls: Calls,
    notices: Notices,
    /// There may be something that was read and not yet looked at.
    more: bool,
    /// Lines that were no message.
    skipped: u64,
}

/// When the client is told that the list changed.
struct Notices {
    changes: watch::Receiver<u64>,
    /// A change that the client was not told of yet is told of then.
    at: Option<Instant>,
    /// What the client knows: a digest of the list.
    known: u64,
}

/// What happened.
enum Turn {
    Stop,
    Wrote(io::Result<usize>),
    Heard(Event),
    Changed,
    Tell,
    More,
    Left,
    Read(io::Result<usize>),
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin, L: Future<Output = ()>> Client<R, W, L> {
    fn new(gate: Arc<Gate>, input: R, output: W, left: Pin<Box<L>>) -> Self {
        let changes = gate.host.changes();
        let known = list::digest(&gate.host.catalogue());
        Self {
            calls: Calls::new(Arc::clone(&gate)),
            gate,
            input,
            lines: Lines::new(MAX_LINE),
            waiting: VecDeque::new(),
            output,
            left,
            stuck: None,
            out: Outbox::default(),
            session: Session::default(),
            notices: Notices { changes, at: None, known },
            more: false,
            skipped: 0,
        }
    }

    async fn run(&mut self) -> Ended {
        loop {
            match self.turn().await {
                Turn::Stop => return Ended::Stopped,
                Turn::Wrote(Ok(count)) if count > 0 => {
                    self.stuck = None;
                    self.out.advance(count);
                }
                Turn::Left => return Ended::Eof,
                Turn::Wrote(_) => return Ended::Gone,
                Turn::Heard(event) => self.calls.take(event, &mut self.out),
                Turn::Changed => {
                    self.notices.at.get_or_insert_with(|| Instant::now() + COALESCE);
                }
                Turn::Tell => self.tell(),
                Turn::More => self.read(),
                Turn::Read(Ok(count)) if count > 0 => self.read(),
                Turn::Read(_) => {
                    self.last_line();
                    return Ended::Eof;
                }
            }
        }
    }

    /// Waits for the next thing to happen. Each arm can be dropped half-way without losing
    /// anything.
    async fn turn(&mut self) -> Turn {
        let room = self.out.has_room();
        self.stuck = if room { None } else { self.stuck.or_else(|| Some(Instant::now())) };
        let left = left(self.stuck, self.left.as_mut());
        let tell_at = self.notices.at.unwrap_or_else(Instant::now);
        tokio::select! {
            biased;
            () = self.gate.stopping() => Turn::Stop,
            wrote = self.output.write(self.out.front()), if !self.out.is_empty() => Turn::Wrote(wrote),
            event = self.calls.next(), if room && !self.calls.is_idle() => Turn::Heard(event),
            Ok(()) = self.notices.changes.changed() => Turn::Changed,
            () = tokio::time::sleep_until(tell_at), if room && self.notices.at.is_some() => Turn::Tell,
            () = std::future::ready(()), if room && self.more => Turn::More,
            () = left, if !room => Turn::Left,
            read = self.input.read_buf(self.lines.room()), if room && !self.more => Turn::Read(read),
        }
    }

    /// The client is told once, of whatever changed meanwhile; not before it is ready to hear.
    fn tell(&mut self) {
        self.notices.at = None;
        let now = list::digest(&self.gate.host.catalogue());
        if self.session.is_ready() && now != self.notices.known {
            self.notices.known = now;
            self.out.push(wire::notification("notifications/tools/list_changed", None));
        }
    }

    /// Answers message by message while there is room: a short one may have a long answer.
    fn read(&mut self) {
        self.more = true;
        while self.out.has_room() {
            if let Some(message) = self.waiting.pop_front() {
                self.message(message);
                continue;
            }
            match self.lines.cut() {
                Some(line) => self.take(line),
                None => {
                    self.more = false;
                    return;
                }
            }
        }
    }

    fn last_line(&mut self) {
        if let Some(line) = self.lines.rest() {
            self.take(line);
        }
        while self.out.has_room()
            && let Some(message) = self.waiting.pop_front()
        {
            self.message(message);
        }
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Whole(line) => self.line(&line),
            Line::Oversized(head) => self.refuse(&head),
        }
    }

    /// A message over the bound: whoever sent it as a request hears so, if its start tells its id.
    fn refuse(&mut self, head: &[u8]) {
        self.skipped += 1;
        if let Some(id) = wire::request_id(head) {
            let why = format!("the message is over the limit of {MAX_LINE} bytes");
            self.out.push(wire::error_reply(&id, codes::INVALID_REQUEST, &why));
        }
    }

    fn line(&mut self, line: &[u8]) {
        self.waiting.shrink_to(16); // after a large batch
        let waiting = &mut self.waiting;
        if wire::read(line, &mut |message| waiting.push_back(message)).is_err() {
            self.skipped += 1; // what is no JSON-RPC is never answered
        }
    }

    fn message(&mut self, message: Incoming) {
        match message {
            Incoming::Request { id, method, params } => {
                self.request(&id, &method, params.as_deref());
            }
            Incoming::Notification { method, params } => {
                self.notified(&method, params.as_deref());
            }
            // We ask nothing, so nothing can be an answer.
            _ => self.skipped += 1,
        }
    }

    fn request(&mut self, id: &Raw, method: &str, params: Option<&RawValue>) {
        let safe_mode = self.gate.host.is_safe_mode();
        let reply = match self.session.answer(id, method, params, safe_mode) {
            Answer::Result(result) => wire::ok_reply(id, &result),
            Answer::Error(code, message) => wire::error_reply(id, code, &message),
            Answer::Tools => {
                let catalogue = self.gate.host.catalogue();
                self.notices.known = list::digest(&catalogue);
                list::reply(id, &catalogue, &self.gate.host.freshness())
            }
            Answer::Call(call) => match self.calls.start(id, call) {
                Some(refused) => refused,
                None => return,
            },
        };
        self.out.push(reply);
    }

    fn notified(&mut self, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/initialized" => {
                self.session.initialized();
                // What changed since the handshake is told now.
                self.notices.at.get_or_insert_with(Instant::now);
            }
            "notifications/cancelled" => self.calls.cancel(params),
            _ => {} // B-3: unknown notifications are ignored
        }
    }

    /// Lets running calls end and their answers arrive, until `deadline`.
    async fn drain(&mut self, deadline: Instant) {
        let drained = tokio::time::timeout_at(deadline, async {
            while !(self.calls.is_idle() && self.out.is_empty()) {
                let wrote = tokio::select! {
                    wrote = self.output.write(self.out.front()), if !self.out.is_empty() => wrote,
                    event = self.calls.next(), if !self.calls.is_idle() => {
                        self.calls.take(event, &mut self.out);
                        continue;
                    }
                };
                match wrote {
                    Ok(count) if count > 0 => self.out.advance(count),
                    _ => return, // nobody reads any more
                }
            }
            drop(self.output.flush().await); // the same
        });
        drop(drained.await); // what is not over by then is cancelled
        self.calls.abandon();
    }
}

/// Ends when nothing was taken for a while by a client that has left.
async fn left(stuck: Option<Instant>, left: Pin<&mut impl Future<Output = ()>>) {
    if let Some(stuck) = stuck {
        tokio::time::sleep_until(stuck + STUCK).await;
    }
    left.await;
}

#[cfg(test)]
mod tests;
