//! The client, seen from a stdio script.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use herm_testkit::fake_log::{self, Writer};
use serde_json::json;

use crate::message::Message;
use crate::options::Options;

pub(crate) struct Peer {
    log: Arc<Writer>,
    options: Options,
    messages: Receiver<Message>,
}

/// What came within a time.
pub(crate) enum Turn {
    Message(Box<Message>),
    Nothing,
    /// The end of standard input.
    End,
}

impl Peer {
    /// Reads standard input from now on, also while the script is busy.
    pub(crate) fn start(log: Arc<Writer>, options: Options) -> Self {
        let (to, messages) = sync_channel(64);
        let reader_log = Arc::clone(&log);
        drop(std::thread::spawn(move || read(&reader_log, &to)));
        Self { log, options, messages }
    }

    /// Which process of this log it is, from 1. Only to be asked before others can start.
    pub(crate) fn generation(&self) -> usize {
        self.options.log.as_deref().map_or(1, fake_log::spawns)
    }

    /// The value of `--set NAME=VALUE`.
    pub(crate) fn choice<'a>(&'a self, name: &str, default: &'a str) -> &'a str {
        self.options.get(name, default)
    }

    /// The next message; none at the end of standard input.
    pub(crate) fn next(&mut self) -> Option<Message> {
        self.messages.recv().ok()
    }

    /// The next message, if it comes in time.
    pub(crate) fn next_within(&mut self, milliseconds: u64) -> Option<Message> {
        self.messages.recv_timeout(Duration::from_millis(milliseconds)).ok()
    }

    /// The next message, the end, or nothing in this time.
    pub(crate) fn turn(&mut self, milliseconds: u64) -> Turn {
        match self.messages.recv_timeout(Duration::from_millis(milliseconds)) {
            Ok(message) => Turn::Message(Box::new(message)),
            Err(RecvTimeoutError::Timeout) => Turn::Nothing,
            Err(RecvTimeoutError::Disconnected) => Turn::End,
        }
    }

    /// Writes a line.
    pub(crate) fn send(&self, text: &str) {
        self.send_bytes(format!("{text}\n").as_bytes());
    }

    /// Writes bytes as they are, in one write. A client that has gone away is no reason to fail:
    /// the end of standard input follows.
    pub(crate) fn send_bytes(&self, bytes: &[u8]) {
        self.log.add_bytes("out", bytes);
        Self::send_unlogged(bytes);
    }

    /// The same for what would only fill the log.
    pub(crate) fn send_unlogged(bytes: &[u8]) {
        let mut stdout = std::io::stdout().lock();
        drop(stdout.write_all(bytes).and_then(|()| stdout.flush()));
    }

    /// Logs what the client should have done, and whether it has.
    pub(crate) fn check(&self, name: &str, ok: bool, detail: &str) {
        self.log.add("check", json!({"name": name, "ok": ok, "detail": detail}));
    }
}

fn read(log: &Writer, to: &SyncSender<Message>) {
    for line in std::io::stdin().lock().split(b'\n') {
        let Ok(line) = line else { break };
        log.add_bytes("in", &line);
        let Some(message) = Message::read(&line) else { continue };
        if to.send(message).is_err() {
            return;
        }
    }
    log.add("in", json!({"end": true}));
}
