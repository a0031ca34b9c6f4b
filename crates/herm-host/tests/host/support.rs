//! Small servers and calls, so that a test says only what is special about it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use herm_core::config::{Http, HttpKind, Server, Stdio, Template, Transport, Verify};
use herm_core::name::ServerName;
use herm_host::{Host, Listing, Outcome, Refusal, Request, ServerStatus, Setup, Target};
use herm_testkit::fake_log::{self, Entry};
use herm_testkit::{Running, Sandbox, fake, fake_http, processes_with, wait_until};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// For what another process does soon.
pub(crate) const SOON: Duration = Duration::from_secs(10);

/// A server that is a child process.
pub(crate) fn stdio(name: &str, command: &[&str]) -> Server {
    let template = |text: &&str| Template((*text).to_owned());
    let stdio = Stdio {
        command: template(&command[0]),
        args: command[1..].iter().map(template).collect(),
        ..Stdio::default()
    };
    Server::new(name.parse().unwrap(), Transport::Stdio(stdio))
}

/// The same, of a command line.
pub(crate) fn child(name: &str, command: &[String]) -> Server {
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    stdio(name, &command)
}

/// A server behind a URL.
pub(crate) fn http(name: &str, url: &str) -> Server {
    let http = Http {
        url: Template(url.to_owned()),
        headers: vec![("Authorization".to_owned(), Template("Bearer of-the-test".to_owned()))],
        kind: HttpKind::Auto,
        verify: Verify::default(),
        identity: None,
        proxy: None,
    };
    Server::new(name.parse().unwrap(), Transport::Http(http))
}

/// The same with every limit at so many seconds.
pub(crate) fn limited(mut server: Server, seconds: u64) -> Server {
    let limit = Duration::from_secs(seconds);
    server.limits.connect = limit;
    server.limits.list = limit;
    server.limits.start = 2 * limit;
    server.limits.call_idle = limit;
    server.limits.call_absolute = 3 * limit;
    server.supervision.stop_grace = Duration::from_millis(300);
    server.supervision.term_grace = Duration::from_millis(300);
    server
}

/// A call of a tool by its raw name.
pub(crate) fn call(server: &ServerName, tool: &str, arguments: &str) -> Request {
    let mut request = Request::new(Target::Tool(server.clone(), tool.to_owned()));
    request.arguments = Some(RawValue::from_string(arguments.to_owned()).unwrap());
    request
}

/// The raw result.
pub(crate) fn result(outcome: Result<Outcome, Refusal>) -> Result<String, Refusal> {
    outcome.map(|outcome| match outcome {
        Outcome::Done(done) => done.result.get().to_owned(),
        other => panic!("{other:?}"),
    })
}

/// The text of a result's first block.
pub(crate) fn text(result: &str) -> String {
    let value: Value = serde_json::from_str(result).unwrap();
    value["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result:.300}")).to_owned()
}

/// How often a message with this method came in, over stdio or HTTP.
pub(crate) fn came(log: &Path, method: &str) -> usize {
    incoming(log, method).len()
}

/// The messages with this method that came in, each as its text.
pub(crate) fn incoming(log: &Path, method: &str) -> Vec<String> {
    let method = format!(r#""method":"{method}""#);
    let text = |entry: &Entry| match entry.event.as_str() {
        "in" => entry.data["text"].as_str().map(str::to_owned),
        "request" => entry.data["body"].as_str().map(str::to_owned),
        _ => None,
    };
    fake_log::read(log).iter().filter_map(text).filter(|text| text.contains(&method)).collect()
}

/// A host with the server under test, and a good one beside it that must not notice anything.
pub(crate) struct Case {
    pub(crate) sandbox: Sandbox,
    pub(crate) host: Arc<Host>,
    pub(crate) name: ServerName,
    pub(crate) log: PathBuf,
    sibling: ServerName,
    sibling_log: PathBuf,
    /// The server, where it is none of the host's children.
    _running: Option<Running>,
}

impl Case {
    /// A script of the fake over stdio.
    pub(crate) fn stdio(script: &str) -> Self {
        Self::with(script, |_| {}, |_| {})
    }

    /// The same, with something changed about the server and the host.
    pub(crate) fn with(
        script: &str,
        change: impl FnOnce(&mut Server),
        setup: impl FnOnce(&mut Setup),
    ) -> Self {
        let sandbox = Sandbox::new();
        let log = sandbox.root().join("log");
        let mut server = child("case", &fake(script, &log));
        limits(&mut server);
        change(&mut server);
        Self::of(sandbox, server, log, None, setup)
    }

    /// A script over HTTP.
    pub(crate) fn http(script: &str, set: &[&str]) -> Self {
        Self::http_with(script, set, |_| {})
    }

    /// The same, with something changed about the server.
    pub(crate) fn http_with(script: &str, set: &[&str], change: impl FnOnce(&mut Server)) -> Self {
        let sandbox = Sandbox::new();
        let log = sandbox.root().join("log");
        let running = fake_http(&sandbox, script, set, &log);
        let mut server = http("case", running.url());
        limits(&mut server);
        change(&mut server);
        Self::of(sandbox, server, log, Some(running), |_| {})
    }

    fn of(
        sandbox: Sandbox,
        server: Server,
        log: PathBuf,
        running: Option<Running>,
        change: impl FnOnce(&mut Setup),
    ) -> Self {
        let name = server.name.clone();
        let sibling_log = sandbox.root().join("sibling");
        let sibling = child("sibling", &fake("good", &sibling_log));
        let mut setup = Setup::new(vec![server, sibling.clone()]);
        change(&mut setup);
        let host = Arc::new(Host::new(setup));
        Self { sandbox, host, name, log, sibling: sibling.name, sibling_log, _running: running }
    }

    pub(crate) async fn connect(&self) -> Result<(), Refusal> {
        self.host.connect(std::slice::from_ref(&self.name)).await.remove(0).1
    }

    /// The raw result of a call.
    pub(crate) async fn call(&self, tool: &str, arguments: &str) -> Result<String, Refusal> {
        result(self.host.call(call(&self.name, tool, arguments)).await)
    }

    /// Calls `echo` and sees that the text comes back.
    pub(crate) async fn echo(&self, said: &str) {
        let arguments = serde_json::json!({ "s": said }).to_string();
        let result = self.call("echo", &arguments).await;
        let result = result.unwrap_or_else(|why| panic!("no answer to {said}: {why}"));
        assert_eq!(text(&result), said);
    }

    pub(crate) fn listing(&self) -> Arc<Listing> {
        let catalogue = self.host.catalogue();
        catalogue.server(&self.name).expect("it was listed").clone()
    }

    /// Raw names of the server's tools that are offered.
    pub(crate) fn tools(&self) -> Vec<String> {
        let catalogue = self.host.catalogue();
        let listing = catalogue.server(&self.name);
        let tools = listing.into_iter().flat_map(|listing| listing.own());
        tools.map(|tool| tool.view.name.clone()).collect()
    }

    pub(crate) fn status(&self) -> ServerStatus {
        self.host.status().remove(0)
    }

    /// Waits for something that the fake's log shows.
    pub(crate) fn seen(&self, what: &str, count: impl Fn(&Path) -> usize, wanted: usize) {
        wait_until(SOON, what, || (count(&self.log) >= wanted).then_some(()));
    }

    /// Does something while the sibling is called each 50 ms, and sees that the sibling's callers
    /// noticed nothing of it.
    pub(crate) async fn beside<T>(&self, drive: impl Future<Output = T>) -> T {
        let mut callers = JoinSet::new();
        let (host, sibling) = (Arc::clone(&self.host), self.sibling.clone());
        // It is started before, as in a host that runs.
        let first = host.call(call(&sibling, "echo", r#"{"s":"first"}"#)).await;
        assert_eq!(text(&result(first).unwrap()), "first");
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        callers.spawn(sibling_calls(host, sibling, ended));
        let done = drive.await;
        drop(end);
        let took = callers.join_next().await.unwrap().unwrap();
        unnoticed(took);
        done
    }

    /// Sees that the sibling noticed nothing, and that nothing is left.
    pub(crate) async fn end(self) {
        let echo = self.host.call(call(&self.sibling, "echo", r#"{"s":"still here"}"#)).await;
        assert_eq!(text(&result(echo).unwrap()), "still here");
        assert_eq!(fake_log::spawns(&self.sibling_log), 1, "the good sibling was started again");
        self.host.stop().await;
        let sibling = self.sibling_log.to_string_lossy().into_owned();
        gone(&sibling);
        if self._running.is_none() {
            gone(&self.log.to_string_lossy());
        }
    }
}

/// Calls until it is told to end; gives how long each call took.
async fn sibling_calls(
    host: Arc<Host>,
    sibling: ServerName,
    mut ended: tokio::sync::oneshot::Receiver<()>,
) -> Vec<Duration> {
    let mut took = Vec::new();
    while matches!(ended.try_recv(), Err(tokio::sync::oneshot::error::TryRecvError::Empty)) {
        let started = Instant::now();
        let echo = host.call(call(&sibling, "echo", r#"{"s":"unmoved"}"#)).await;
        took.push(started.elapsed());
        assert_eq!(text(&result(echo).unwrap()), "unmoved");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    took
}

/// A machine that is busy with other tests delays a call now and then; a call that waits for another
/// server waits for one of its limits, and those are longer.
fn unnoticed(mut took: Vec<Duration>) {
    took.sort_unstable();
    let most = took.len() * 95 / 100;
    assert!(took[most.min(took.len() - 1)] < Duration::from_millis(300), "{took:?}");
    assert!(took[took.len() - 1] < Duration::from_secs(1), "{took:?}");
}

/// Sees that no process with this word is left. Stopping has waited for it.
pub(crate) fn gone(marker: &str) {
    let left = processes_with(marker);
    assert!(left.is_empty(), "left running: {left:?}");
}

/// The numbers of the cases about supervision, from the entry's own keys.
pub(crate) fn scaled(server: &mut Server) {
    let (s, ms) = (Duration::from_secs, Duration::from_millis);
    server.limits.start = s(6);
    server.upkeep.keepalive = s(1);
    server.breaker.threshold = 3;
    server.breaker.cooldown = s(2);
    let rules = &mut server.supervision;
    rules.backoff_initial = ms(200);
    rules.backoff_max = s(2);
    rules.park_interval = s(3);
    rules.park_max = s(3);
    rules.probe_timeout = s(3);
    rules.allowance = 1000;
}

/// When the fake's processes were started, in milliseconds of the machine's clock.
pub(crate) fn starts(log: &Path) -> Vec<f64> {
    let entries = fake_log::read(log).into_iter();
    entries.filter(|entry| entry.event == "spawn").map(|entry| entry.ms).collect()
}

/// The limits of the cases.
fn limits(server: &mut Server) {
    let s = Duration::from_secs;
    server.limits.connect = s(3);
    server.limits.list = s(3);
    server.limits.call_idle = s(5);
    server.limits.call_absolute = s(12);
    server.supervision.stop_grace = s(1);
    server.supervision.term_grace = s(1);
}
