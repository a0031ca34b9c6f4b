//! The good server beside one that is broken: it is called all the time, and its callers must notice
//! nothing.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use herm_testkit::fake_log;
use serde_json::{Value, json};

use crate::client::{Client, SOON};

/// Between two calls.
const PASS: Duration = Duration::from_millis(100);
/// What 95 of 100 calls take at most, and every call.
const MOST: Duration = Duration::from_millis(300);
const EVERY: Duration = Duration::from_secs(1);

/// Calls `sibling` on the client's own pipes until it is ended.
pub(crate) struct Sibling {
    log: PathBuf,
    stop: SyncSender<()>,
    calls: JoinHandle<Result<Vec<Duration>, String>>,
}

impl Sibling {
    /// Starts now; `log` is that of the fake behind the entry `sibling`.
    pub(crate) fn start(client: &Client, log: &Path) -> Self {
        let (stdin, lines) = client.aside(r#""id":"sibling-"#);
        let (stop, stopped) = sync_channel(1);
        let calls = std::thread::spawn(move || call_on(stdin, &lines, &stopped));
        Self { log: log.to_owned(), stop, calls }
    }

    /// Sees that nothing was noticed: each call was answered, and soon; one process.
    pub(crate) fn end(self) {
        drop(self.stop);
        let mut took = self.calls.join().unwrap().unwrap_or_else(|why| panic!("{why}"));
        took.sort_unstable();
        let count = took.len();
        let most = took[(count * 95 / 100).min(count - 1)];
        assert!(most < MOST, "95 % of {count} calls took up to {most:?}: {:?}", late(&took));
        assert!(took[count - 1] < EVERY, "of {count} calls: {:?}", late(&took));
        assert_eq!(fake_log::spawns(&self.log), 1, "the good sibling was started again");
    }
}

/// The longest ones.
fn late(took: &[Duration]) -> &[Duration] {
    &took[took.len().saturating_sub(20)..]
}

fn call_on(
    mut stdin: File,
    lines: &Receiver<String>,
    stopped: &Receiver<()>,
) -> Result<Vec<Duration>, String> {
    let mut took = Vec::new();
    loop {
        let id = format!("sibling-{}", took.len());
        let params = json!({"name": "mcp__sibling__echo", "arguments": {"s": "unmoved"}});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let started = now();
        stdin.write_all(format!("{call}\n").as_bytes()).map_err(|why| why.to_string())?;
        let answer = lines.recv_timeout(SOON).map_err(|why| format!("no answer: {why}"))?;
        took.push(started.elapsed());
        let answer: Value = serde_json::from_str(&answer).map_err(|why| why.to_string())?;
        if answer["id"] != id || answer["result"]["content"][0]["text"] != "unmoved" {
            return Err(format!("the sibling noticed something: {answer}"));
        }
        if stopped.recv_timeout(PASS) != Err(RecvTimeoutError::Timeout) {
            return Ok(took);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "tests of other processes wait in real time")]
fn now() -> Instant {
    Instant::now()
}
