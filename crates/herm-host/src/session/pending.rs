//! The requests of one session that wait: for their turn, or for their answer.
//!
//! Owned by the peer task alone. It knows time only as an argument.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use herm_core::wire::{PeerError, Raw};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::listen;
use crate::refusal::Deadline;
use crate::request::{Caller, Progress};
use crate::transport::{LinkError, OutKind, Outgoing};

/// Calls that wait for their turn.
pub(crate) const QUEUE: usize = 256;

/// As good as never; time can still be added to it.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// Why a request of ours got no result.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The server's error.
    Peer(PeerError),
    /// The link. `sent`: the server may have seen the request.
    Link { error: LinkError, sent: bool },
    /// An answer that is none.
    BadReply(String),
    /// A deadline.
    TimedOut { deadline: Deadline, after: Duration },
    /// No place.
    Busy { running: usize, queued: usize },
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

/// One request on its way.
#[derive(Debug)]
pub(crate) struct Call {
    /// Its id, from the session's counter.
    pub(crate) id: u64,
    /// The whole message.
    pub(crate) body: String,
    /// What it asks, and within which limits.
    pub(crate) ask: Ask,
    /// Where the answer goes; closed when nobody waits any more.
    pub(crate) answer: oneshot::Sender<Result<Raw, Failure>>,
}

impl Call {
    /// It stands for as long as the session does: nobody waits for its answer.
    fn stands(&self) -> bool {
        self.ask.method == listen::METHOD
    }
}

#[derive(Debug)]
struct Waiting {
    call: Box<Call>,
    idle_at: Instant,
    absolute_at: Instant,
    /// A person is being asked on its behalf: its clocks stand still since then.
    paused: Option<(Instant, u32)>,
}

/// The table.
#[derive(Debug)]
pub(crate) struct Pending {
    waiting: HashMap<u64, Waiting>,
    queue: VecDeque<(Instant, Box<Call>)>,
    running: usize,
    places: usize,
    queue_limit: Duration,
}

impl Pending {
    pub(crate) fn new(places: usize, queue_limit: Duration) -> Self {
        Self {
            waiting: HashMap::new(),
            queue: VecDeque::new(),
            running: 0,
            places: places.max(1),
            queue_limit,
        }
    }

    /// Takes a call: gives the message to send now, or keeps it for later, or refuses it.
    pub(crate) fn take(&mut self, now: Instant, call: Box<Call>) -> Option<Outgoing> {
        if call.answer.is_closed() {
            // Dropped on its way here: its bell may have rung already, and nobody would cancel it.
            return None;
        }
        if call.ask.takes_place && self.running >= self.places {
            if self.queue.len() >= QUEUE {
                let busy = Failure::Busy { running: self.running, queued: self.queue.len() };
                settle(*call, Err(busy));
            } else {
                self.queue.push_back((after(now, self.queue_limit), call));
            }
            return None;
        }
        Some(self.start(now, call))
    }

    fn start(&mut self, now: Instant, mut call: Box<Call>) -> Outgoing {
        let message = Outgoing {
            kind: OutKind::Request(call.id),
            method: call.ask.method.to_owned(),
            body: std::mem::take(&mut call.body),
            headers: std::mem::take(&mut call.ask.headers),
        };
        self.running += usize::from(call.ask.takes_place);
        let (idle_at, absolute_at) = (after(now, call.ask.idle), after(now, call.ask.absolute));
        self.waiting.insert(call.id, Waiting { call, idle_at, absolute_at, paused: None });
        message
    }

    fn remove(&mut self, id: u64) -> Option<Box<Call>> {
        let waiting = self.waiting.remove(&id)?;
        self.running -= usize::from(waiting.call.ask.takes_place);
        Some(waiting.call)
    }

    /// Settles a request; false if none of that id waits (a late or foreign answer).
    pub(crate) fn settle(&mut self, id: u64, answer: Result<Raw, Failure>) -> bool {
        match self.remove(id) {
            Some(call) => {
                settle(*call, answer);
                true
            }
            None => false,
        }
    }

    /// Requests whose turn has come.
    pub(crate) fn refill(&mut self, now: Instant) -> Vec<Outgoing> {
        let mut out = Vec::new();
        while self.running < self.places
            && let Some((_, call)) = self.queue.pop_front()
        {
            if !call.answer.is_closed() {
                out.push(self.start(now, call));
            }
        }
        out
    }

    /// The only request that waits, if it is the only one.
    pub(crate) fn only(&self) -> Option<u64> {
        let mut ids = self.awaited();
        ids.next().filter(|_| ids.next().is_none())
    }

    /// True while a request that was sent has no answer; a subscription has none while it lasts.
    pub(crate) fn awaits(&self) -> bool {
        self.awaited().next().is_some()
    }

    fn awaited(&self) -> impl Iterator<Item = u64> {
        self.waiting.values().filter(|w| !w.call.stands()).map(|w| w.call.id)
    }

    /// True if a subscription has this id.
    pub(crate) fn stands(&self, id: u64) -> bool {
        self.waiting.get(&id).is_some_and(|waiting| waiting.call.stands())
    }

    /// Refuses what waits for its turn: nothing is to be sent now.
    pub(crate) fn refuse_queued(&mut self, error: &LinkError) {
        for (_, call) in self.queue.drain(..) {
            settle(*call, Err(Failure::Link { error: error.clone(), sent: false }));
        }
    }

    /// Progress for a request: it is alive. False if the token is none of ours.
    pub(crate) fn progress(&mut self, now: Instant, token: u64, params: Raw) -> bool {
        let Some(waiting) = self.waiting.get_mut(&token) else { return false };
        waiting.idle_at = after(now, waiting.call.ask.idle);
        if let Some(progress) = &waiting.call.ask.progress {
            // A full channel drops: progress is a picture of now, not a record.
            drop(progress.try_send(Progress { params }));
        }
        true
    }

    /// The calls on whose behalf the server may ask, and who is asked: the one on whose stream the
    /// question came, else any that waits, and of those the newest caller.
    pub(crate) fn askable(&self, of: Option<u64>) -> Option<(Vec<u64>, Arc<Caller>)> {
        let asked = |w: &Waiting| Some((w.call.id, w.call.ask.caller.clone()?));
        if let Some((id, caller)) = of.and_then(|id| self.waiting.get(&id)).and_then(asked) {
            return Some((vec![id], caller));
        }
        let all: Vec<(u64, Arc<Caller>)> = self.waiting.values().filter_map(asked).collect();
        let (_, newest) = all.iter().max_by_key(|(id, _)| *id)?;
        Some((all.iter().map(|(id, _)| *id).collect(), Arc::clone(newest)))
    }

    /// Stops the clocks of a call while a person is asked on its behalf.
    pub(crate) fn pause(&mut self, now: Instant, id: u64) {
        if let Some(waiting) = self.waiting.get_mut(&id) {
            let (since, depth) = waiting.paused.unwrap_or((now, 0));
            waiting.paused = Some((since, depth + 1));
        }
    }

    /// Starts them again.
    pub(crate) fn resume(&mut self, now: Instant, id: u64) {
        let Some(waiting) = self.waiting.get_mut(&id) else { return };
        waiting.paused = match waiting.paused {
            Some((since, 1)) => {
                waiting.idle_at += now - since;
                waiting.absolute_at += now - since;
                None
            }
            Some((since, depth)) => Some((since, depth - 1)),
            None => None,
        };
    }

    /// Ends what is past its time. Each ended request is to be cancelled towards the server once,
    /// `initialize` excepted.
    pub(crate) fn expire(&mut self, now: Instant) -> Vec<u64> {
        let mut cancel = Vec::new();
        let over: Vec<(u64, Deadline, Duration)> = self
            .waiting
            .values()
            .filter(|w| w.paused.is_none())
            .filter_map(|w| {
                if w.absolute_at <= now {
                    Some((w.call.id, w.call.ask.absolute_is, w.call.ask.absolute))
                } else if w.idle_at <= now {
                    Some((w.call.id, Deadline::CallIdle, w.call.ask.idle))
                } else {
                    None
                }
            })
            .collect();
        for (id, deadline, after) in over {
            let Some(call) = self.remove(id) else { continue };
            // The openings are not cancelled: X-1, and a probe's silence is an answer.
            if !matches!(call.ask.method, "initialize" | "server/discover") {
                cancel.push(id);
            }
            settle(*call, Err(Failure::TimedOut { deadline, after }));
        }
        while self.queue.front().is_some_and(|(until, _)| *until <= now) {
            let Some((_, call)) = self.queue.pop_front() else { break };
            let after = self.queue_limit;
            settle(*call, Err(Failure::TimedOut { deadline: Deadline::Queue, after }));
        }
        cancel
    }

    /// Forgets calls whose caller has gone away; gives the ids to cancel.
    pub(crate) fn sweep(&mut self) -> Vec<u64> {
        self.queue.retain(|(_, call)| !call.answer.is_closed());
        let gone: Vec<u64> = self
            .waiting
            .values()
            .filter(|w| w.call.answer.is_closed())
            .map(|w| w.call.id)
            .collect();
        for id in &gone {
            self.remove(*id);
        }
        gone
    }

    /// When [`Pending::expire`] is next worth calling.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let waiting = self
            .waiting
            .values()
            .filter(|w| w.paused.is_none())
            .map(|w| w.idle_at.min(w.absolute_at))
            .min();
        let queued = self.queue.front().map(|(until, _)| *until);
        waiting.into_iter().chain(queued).min()
    }

    /// The earliest deadline of a request that was just taken.
    pub(crate) fn deadline_of(&self, id: u64) -> Option<Instant> {
        self.waiting.get(&id).map(|w| w.idle_at.min(w.absolute_at))
    }

    /// Fails everything: the link is over.
    pub(crate) fn fail_all(&mut self, error: &LinkError) {
        for (_, waiting) in self.waiting.drain() {
            settle(*waiting.call, Err(Failure::Link { error: error.clone(), sent: true }));
        }
        self.refuse_queued(error);
        self.running = 0;
    }

    /// How many calls run and wait.
    pub(crate) fn load(&self) -> (usize, usize) {
        (self.running, self.queue.len())
    }
}

/// A limit may be any length: a caller that wants none gives the longest.
fn after(now: Instant, limit: Duration) -> Instant {
    now.checked_add(limit).unwrap_or(now + FAR)
}

fn settle(call: Call, answer: Result<Raw, Failure>) {
    // Nobody waits any more: the answer is late, which is no fault.
    drop(call.answer.send(answer));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: u64) -> (Call, oneshot::Receiver<Result<Raw, Failure>>) {
        let (answer, answered) = oneshot::channel();
        let second = Duration::from_secs(1);
        let caller = Caller { id: id.to_string(), ..Caller::default() };
        let ask = Ask {
            takes_place: true,
            caller: Some(Arc::new(caller)),
            ..Ask::own("tools/call", second, Deadline::CallAbsolute)
        };
        (Call { id, body: String::new(), ask, answer }, answered)
    }

    #[tokio::test(start_paused = true)]
    async fn question_goes_to_the_caller_on_whose_stream_it_came() {
        let mut pending = Pending::new(4, Duration::ZERO);
        let mut waiting = Vec::new();
        for id in 1..=3 {
            let (call, answered) = call(id);
            assert!(pending.take(Instant::now(), Box::new(call)).is_some());
            waiting.push(answered);
        }
        let asked = |of| {
            let (mut ids, caller) = pending.askable(of).unwrap();
            ids.sort_unstable();
            (ids, caller.id.clone())
        };
        assert_eq!(asked(Some(1)), (vec![1], "1".to_owned()));
        // Without a stream it may be for any of them: no clock of theirs may run.
        assert_eq!(asked(None), (vec![1, 2, 3], "3".to_owned()));
        assert_eq!(asked(Some(9)), (vec![1, 2, 3], "3".to_owned()));
    }

    #[tokio::test(start_paused = true)]
    async fn call_without_a_limit_is_taken_and_lives_on() {
        let mut pending = Pending::new(1, Duration::MAX);
        for id in [1, 2] {
            let (mut call, answered) = call(id);
            (call.ask.idle, call.ask.absolute) = (Duration::MAX, Duration::MAX);
            assert_eq!(pending.take(Instant::now(), Box::new(call)).is_some(), id == 1);
            std::mem::forget(answered);
        }
        assert!(pending.progress(Instant::now(), 1, Raw::default()));
        pending.pause(Instant::now(), 1);
        pending.resume(Instant::now() + Duration::from_secs(9), 1);
        let years = Duration::from_secs(10 * 365 * 24 * 3600);
        assert!(pending.deadline().is_some_and(|at| at > Instant::now() + years));
        assert_eq!((pending.expire(Instant::now()).len(), pending.load()), (0, (1, 1)));
    }

    #[tokio::test(start_paused = true)]
    async fn call_that_nobody_waits_for_takes_no_place() {
        let mut pending = Pending::new(1, Duration::ZERO);
        let (gone, answered) = call(1);
        drop(answered);
        assert!(pending.take(Instant::now(), Box::new(gone)).is_none());
        assert_eq!(pending.load(), (0, 0));
    }
}
