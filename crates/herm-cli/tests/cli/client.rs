//! An MCP client over the pipes of `herm serve`.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::{Child, ChildStderr, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use herm_testkit::wait_until;
use serde_json::{Value, json};

pub(crate) const SOON: Duration = Duration::from_secs(20);
/// Lines that wait for the test; a reader that is over it waits itself.
const LINES: usize = 4096;

/// Most of standard error that is kept.
const STDERR: usize = 1 << 20;

/// Where lines go that somebody else waits for: those that hold the mark.
type Aside = Arc<Mutex<Option<(String, SyncSender<String>)>>>;

/// `herm serve`, and what it said so far.
pub(crate) struct Client {
    pub(crate) child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    aside: Aside,
    /// What came on standard error so far.
    stderr: Arc<Mutex<Vec<u8>>>,
    /// Messages that were read and not yet wanted.
    seen: VecDeque<Value>,
    next: u64,
}

impl Client {
    /// Starts a command; its standard output is read by a thread.
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = sync_channel(LINES);
        let (aside, stderr) = (Aside::default(), Arc::<Mutex<Vec<u8>>>::default());
        let marked = Arc::clone(&aside);
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let to = marked.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let to = to.filter(|(mark, _)| line.contains(mark)).map(|(_, to)| to);
                if to.as_ref().unwrap_or(&sender).send(line).is_err() && to.is_none() {
                    break;
                }
            }
        });
        keep(child.stderr.take().unwrap(), Arc::clone(&stderr));
        let stdin = child.stdin.take();
        Self { child, stdin, lines, aside, stderr, seen: VecDeque::new(), next: 1 }
    }

    /// A second way to write lines, each of less than 4,000 bytes, and the lines that hold `mark` for
    /// whoever uses it. The client is not closed before that is dropped.
    pub(crate) fn aside(&self, mark: &str) -> (File, Receiver<String>) {
        let (to, lines) = sync_channel(LINES);
        let old = self.aside.lock().unwrap().replace((mark.to_owned(), to));
        assert!(old.is_none(), "there is one already");
        let stdin = self.stdin.as_ref().unwrap().as_fd().try_clone_to_owned();
        (File::from(stdin.unwrap()), lines)
    }

    /// Everything on standard error so far.
    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr.lock().unwrap()).into_owned()
    }

    /// How many notices of a changed list of tools have come that were not counted before.
    pub(crate) fn notices(&mut self) -> usize {
        while let Ok(line) = self.lines.try_recv() {
            self.seen.push_back(serde_json::from_str(&line).unwrap());
        }
        let before = self.seen.len();
        self.seen.retain(|message| !is_notice(message));
        before - self.seen.len()
    }

    /// Starts one and shakes hands.
    pub(crate) fn open(command: Command) -> Self {
        let mut client = Self::start(command);
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "0"}});
        let opened = client.ask("initialize", &params);
        assert_eq!(opened["result"]["protocolVersion"], "2025-06-18", "{opened}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        client
    }

    /// Writes a line.
    pub(crate) fn send(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        // In one piece: somebody else may write too.
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Writes a request under this id, which is any JSON.
    pub(crate) fn request(&mut self, id: &str, method: &str, params: &Value) {
        let method = Value::from(method);
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#);
        self.send(&line);
    }

    /// A request and its answer.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.next;
        self.next += 1;
        self.request(&id.to_string(), method, params);
        self.find(&format!("the answer to {method}"), |message| message["id"] == id)
    }

    /// A call and its answer.
    pub(crate) fn call(&mut self, name: &str, arguments: &Value) -> Value {
        self.ask("tools/call", &json!({"name": name, "arguments": arguments}))
    }

    /// The first message that is wanted, whatever comes before it.
    pub(crate) fn find(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.seen.iter().position(&wanted) {
            return self.seen.remove(at).unwrap();
        }
        loop {
            let line = match self.lines.recv_timeout(SOON) {
                Ok(line) => line,
                Err(why) => panic!("{what} did not come ({why}); unread: {:?}", self.seen),
            };
            let message: Value = serde_json::from_str(&line)
                .unwrap_or_else(|why| panic!("not of the protocol: {why}: {line}"));
            if wanted(&message) {
                return message;
            }
            self.seen.push_back(message);
        }
    }

    /// Waits until the list has all of these tools.
    pub(crate) fn tools(&mut self, names: &[&str]) -> Value {
        wait_until(SOON, "the tools are listed", || {
            let tools = self.ask("tools/list", &json!({}))["result"]["tools"].take();
            let has = |name: &&str| tools.as_array().unwrap().iter().any(|t| t["name"] == **name);
            names.iter().all(has).then_some(tools)
        })
    }

    /// Everything else that was said, up to the end.
    pub(crate) fn rest(&mut self) -> Vec<Value> {
        let mut rest: Vec<Value> = self.seen.drain(..).collect();
        while let Ok(line) = self.lines.recv_timeout(SOON) {
            rest.push(serde_json::from_str(&line).unwrap());
        }
        rest
    }

    /// Closes its input and waits for its end.
    pub(crate) fn close(mut self) -> (ExitStatus, Vec<Value>) {
        drop(self.stdin.take());
        let rest = self.rest();
        (self.wait(), rest)
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        wait_until(SOON, "herm ends", || self.child.try_wait().unwrap())
    }
}

pub(crate) fn is_notice(message: &Value) -> bool {
    message["method"] == "notifications/tools/list_changed"
}

/// Reads to the end, so that nobody blocks on it.
fn keep(mut stderr: ChildStderr, to: Arc<Mutex<Vec<u8>>>) {
    std::thread::spawn(move || {
        let mut piece = [0; 4096];
        while let Ok(count @ 1..) = stderr.read(&mut piece) {
            let mut kept = to.lock().unwrap_or_else(PoisonError::into_inner);
            let room = STDERR.saturating_sub(kept.len());
            kept.extend_from_slice(&piece[..count.min(room)]);
        }
    });
}

impl Drop for Client {
    fn drop(&mut self) {
        // A test that failed half-way: nothing of it may be left.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
