//! The running calls of one client: side by side, each in a task of its own.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use herm_core::wire::{self, Raw, codes, compact};
use herm_host::{Caller, Outcome, Progress, Refusal, Request, Target};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use super::cut;
use super::outbox::Outbox;
use super::session::{Called, short};
use crate::gate::Gate;
use crate::object::Object;
use crate::words;

/// So many calls of one client run at once; more are refused as busy.
pub(super) const MAX_CALLS: usize = 256;
/// What calls have to say waits in a queue of this length.
const QUEUE: usize = 64;
/// Words of progress of one call that wait; more are dropped.
const PROGRESS: usize = 16;

/// What a call has to say.
#[derive(Debug)]
pub(super) enum Event {
    /// A word of progress, a whole message.
    Progress(Key, String),
    /// Its answer, a whole message.
    Done(Key, String),
    /// A task ended; if it panicked, its answer is still owed.
    Over(Option<tokio::task::Id>),
}

/// A call: its id as the client wrote it, and a number that no other call of this client has.
type Key = (Arc<str>, u64);

#[derive(Debug)]
struct Running {
    number: u64,
    id: Raw,
    task: AbortHandle,
}

/// The calls.
#[derive(Debug)]
pub(super) struct Calls {
    gate: Arc<Gate>,
    tasks: JoinSet<()>,
    running: HashMap<Arc<str>, Running>,
    sender: mpsc::Sender<Event>,
    events: mpsc::Receiver<Event>,
    number: u64,
}

impl Calls {
    pub(super) fn new(gate: Arc<Gate>) -> Self {
        let (sender, events) = mpsc::channel(QUEUE);
        let (tasks, running) = (JoinSet::new(), HashMap::new());
        Self { gate, tasks, running, sender, events, number: 0 }
    }

    /// True if nothing runs and nothing is left to be said.
    pub(super) fn is_idle(&self) -> bool {
        self.tasks.is_empty() && self.events.is_empty()
    }

    /// The next thing that a call has to say; pending for ever when [`Self::is_idle`].
    pub(super) async fn next(&mut self) -> Event {
        tokio::select! {
            biased;
            Some(event) = self.events.recv() => event,
            Some(over) = self.tasks.join_next_with_id() => Event::Over(over.err().map(|e| e.id())),
            else => std::future::pending().await,
        }
    }

    /// Starts a call. Gives the reply if it is refused at once.
    pub(super) fn start(&mut self, id: &Raw, called: Called) -> Option<String> {
        let written: Arc<str> = compact(id.get()).into();
        if self.running.contains_key(&written) {
            let why = "a call with this id runs already";
            return Some(wire::error_reply(id, codes::INVALID_REQUEST, why));
        }
        if self.running.len() >= MAX_CALLS {
            return Some(result_or_fault(id, words::too_many(self.running.len())));
        }
        self.number += 1;
        let call = Call {
            gate: Arc::clone(&self.gate),
            key: (Arc::clone(&written), self.number),
            id: id.clone(),
            events: self.sender.clone(),
        };
        let task = self.tasks.spawn(Box::pin(call.run(called)));
        self.running.insert(written, Running { number: self.number, id: id.clone(), task });
        None
    }

    /// `notifications/cancelled`: the call is dropped, which cancels it towards its server, and is
    /// not answered. What names no running call is ignored.
    pub(super) fn cancel(&mut self, params: Option<&RawValue>) {
        let id = params.and_then(|params| Object::read(params.get())?.get("requestId"));
        let Some(id) = id else { return };
        if let Some(running) = self.running.remove(&*compact(id.get())) {
            running.task.abort();
        }
    }

    /// Puts what a call said into the outbox; a call that was cancelled says nothing more.
    pub(super) fn take(&mut self, event: Event, out: &mut Outbox) {
        let runs = |(id, number): &Key| {
            self.running.get(id).is_some_and(|running| running.number == *number)
        };
        match event {
            Event::Progress(key, message) if runs(&key) => out.push(message),
            Event::Done(key, message) if runs(&key) => {
                self.running.remove(&key.0);
                out.push(message);
            }
            Event::Over(Some(task)) => {
                let owed = self.running.iter().find(|(_, running)| running.task.id() == task);
                let Some(key) = owed.map(|(key, _)| Arc::clone(key)) else { return };
                if let Some(running) = self.running.remove(&key) {
                    let why = "a fault of herm ended the call";
                    out.push(wire::error_reply(&running.id, codes::INTERNAL_ERROR, why));
                }
            }
            // Of a call that was cancelled, or of a task that said all it had to say.
            Event::Progress(..) | Event::Done(..) | Event::Over(None) => {}
        }
    }

    /// Cancels whatever runs.
    pub(super) fn abandon(&mut self) {
        self.running.clear();
        self.tasks.abort_all();
    }
}

/// One call.
struct Call {
    gate: Arc<Gate>,
    key: Key,
    id: Raw,
    events: mpsc::Sender<Event>,
}

impl Call {
    async fn run(self, called: Called) {
        let name = called.name.clone();
        let mut request = Request::new(Target::Exposed(called.name));
        request.caller = Caller { id: "stdio".to_owned(), ..Caller::default() };
        request.arguments = called.arguments;
        request.meta = called.meta;
        let (sender, mut words) = mpsc::channel(PROGRESS);
        request.progress = called.token.is_some().then_some(sender);
        let token = called.token.as_deref();
        let mut call = std::pin::pin!(self.gate.host.call(request));
        let outcome = loop {
            tokio::select! {
                outcome = &mut call => break outcome,
                Some(word) = words.recv() => self.progress(token, &word),
            }
        };
        while let Ok(word) = words.try_recv() {
            self.progress(token, &word); // before the answer, not after it
        }
        let reply = self.reply(&name, outcome);
        // Only a client that is gone has no receiver.
        drop(self.events.send(Event::Done(self.key, reply)).await);
    }

    /// A word under the caller's token; dropped where the client does not keep up.
    fn progress(&self, token: Option<&RawValue>, word: &Progress) {
        let params = Object::read(word.params.get());
        let (Some(token), Some(mut params)) = (token, params) else { return };
        params.set("progressToken", token.get());
        let message = wire::notification("notifications/progress", Some(&params.to_json()));
        drop(self.events.try_send(Event::Progress(self.key.clone(), message)));
    }

    fn reply(&self, name: &str, outcome: Result<Outcome, Refusal>) -> String {
        match outcome {
            Ok(Outcome::Done(done)) => {
                let max = self.gate.result_chars(&done.server);
                wire::ok_reply(&self.id, &cut::result(done.result.get(), max))
            }
            Ok(_) => {
                let why = "the tool ended in a way that this herm does not know";
                wire::error_reply(&self.id, codes::INTERNAL_ERROR, why)
            }
            Err(Refusal::Unknown { .. } | Refusal::UnknownServer { .. }) => {
                let why = format!("unknown tool: {}", short(name));
                wire::error_reply(&self.id, codes::INVALID_PARAMS, &why)
            }
            Err(refusal) => {
                let status = self.gate.host.status();
                let status = refusal
                    .server()
                    .and_then(|server| status.iter().find(|status| status.name == *server));
                result_or_fault(&self.id, words::result(&refusal, status, SystemTime::now()))
            }
        }
    }
}

fn result_or_fault(id: &RawValue, result: serde_json::Result<String>) -> String {
    match result {
        Ok(result) => wire::ok_reply(id, &result),
        Err(error) => wire::error_reply(id, codes::INTERNAL_ERROR, &error.to_string()),
    }
}
