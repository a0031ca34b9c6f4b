//! What the cases of broken servers have in common: a host, the server under test, a good one beside
//! it, and `herm status` as the observer.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use herm_testkit::{Running, Sandbox, fake, fake_http, fake_log, wait_until};
use serde_json::{Value, json};

use crate::client::{Client, SOON, is_notice};
use crate::control::document;
use crate::serve::entry;
use crate::sibling::Sibling;

/// The numbers of the cases, as keys of an entry.
pub(crate) const SCALED: &str = "connect_timeout: 3, list_timeout: 3, timeout: 5, \
    max_timeout: 12, keepalive_interval: 1, breaker: {threshold: 3, cooldown_seconds: 2}, \
    supervision: {backoff_initial: 0.2, backoff_max: 2, park_interval: 3, park_max: 3, \
    probe_timeout: 3, stop_grace: 1, term_grace: 1, allowance: 1000}";

/// A host with the server `case`, and `sibling`, which is called all the time.
pub(crate) struct Story {
    pub(crate) sandbox: Sandbox,
    pub(crate) client: Client,
    pub(crate) log: PathBuf,
    sibling: Option<Sibling>,
    /// The server, where it is none of the host's children.
    _site: Option<Running>,
}

/// What is left of a story.
pub(crate) struct Ended {
    /// What was said and not asked for.
    pub(crate) rest: Vec<Value>,
    pub(crate) stderr: String,
    pub(crate) log: PathBuf,
    /// The log lives as long as this.
    pub(crate) sandbox: Sandbox,
}

impl Story {
    /// A script of the fake over stdio, with these keys of its entry after those of all.
    pub(crate) fn stdio(script: &str, more: &str) -> Self {
        Self::with(&[script], SCALED, more)
    }

    /// A script and words for it, and the keys.
    pub(crate) fn with(script: &[&str], scaled: &str, more: &str) -> Self {
        let sandbox = Sandbox::new();
        let mut command = fake(script[0], &sandbox.root().join("log"));
        command.extend(script[1..].iter().map(|word| (*word).to_owned()));
        let case = entry("case", &command, &format!(", {scaled}{more}"));
        Self::of(sandbox, &case, None)
    }

    /// A script over HTTP.
    pub(crate) fn http(script: &str, set: &[&str], more: &str) -> Self {
        let sandbox = Sandbox::new();
        let site = fake_http(&sandbox, script, set, &sandbox.root().join("log"));
        let case = format!("  case: {{url: '{}', {SCALED}{more}}}\n", site.url());
        Self::of(sandbox, &case, Some(site))
    }

    /// These entries of a configuration, and the sibling after them.
    pub(crate) fn of(sandbox: Sandbox, cases: &str, site: Option<Running>) -> Self {
        let (log, sibling) = (sandbox.root().join("log"), sandbox.root().join("sibling"));
        sandbox.config(&format!("mcp_servers:\n{cases}{}", Self::good(&sandbox)));
        let mut command = sandbox.herm();
        command.arg("serve");
        let mut client = Client::open(command);
        client.tools(&["mcp__sibling__echo"]);
        let sibling = Some(Sibling::start(&client, &sibling));
        Self { sandbox, client, log, sibling, _site: site }
    }

    /// The sibling's entry.
    pub(crate) fn good(sandbox: &Sandbox) -> String {
        entry("sibling", &fake("good", &sandbox.root().join("sibling")), "")
    }

    /// The first server in `herm status --json`.
    pub(crate) fn status(&self) -> Value {
        self.statuses()[0].clone()
    }

    pub(crate) fn statuses(&self) -> Vec<Value> {
        let (status, _) = document(&self.sandbox, &["status"]);
        let servers = status["hosts"][0]["servers"].as_array();
        servers.unwrap_or_else(|| panic!("{status}")).clone()
    }

    /// Waits until the server is in this state.
    pub(crate) fn reaches(&self, state: &str) -> Value {
        wait_until(SOON, &format!("it is {state}"), || {
            Some(self.status()).filter(|status| status["state"] == state)
        })
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.client.call(&format!("mcp__case__{tool}"), arguments)
    }

    pub(crate) fn echo(&mut self, said: &str) -> Value {
        self.call("echo", &json!({ "s": said }))
    }

    /// Starts a call whose answer is found later, under this id.
    pub(crate) fn begin(&mut self, id: &str, tool: &str, arguments: &Value) {
        let params = json!({"name": format!("mcp__case__{tool}"), "arguments": arguments});
        self.client.request(&Value::from(id).to_string(), "tools/call", &params);
    }

    /// The answer to what was begun.
    pub(crate) fn answer(&mut self, id: &str) -> Value {
        self.client.find(&format!("the answer to {id}"), |message| message["id"] == id)
    }

    /// Waits until the fake's log shows this many messages with this part.
    pub(crate) fn seen(&self, part: &str, count: usize) {
        wait_until(SOON, &format!("{count} times {part}"), || {
            (came(&self.log, part) >= count).then_some(())
        });
    }

    /// Ends the calls of the sibling, and sees that it noticed nothing.
    pub(crate) fn quiet(&mut self) {
        if let Some(sibling) = self.sibling.take() {
            sibling.end();
        }
    }

    /// The same, and ends the host.
    pub(crate) fn end(mut self) -> Ended {
        self.quiet();
        drop(self.client.stdin.take());
        let rest = self.client.rest();
        assert_eq!(self.client.wait().code(), Some(0));
        Ended { rest, stderr: self.client.stderr(), log: self.log, sandbox: self.sandbox }
    }
}

impl Ended {
    /// Notices of a changed list among the rest.
    pub(crate) fn notices(&self) -> usize {
        self.rest.iter().filter(|message| is_notice(message)).count()
    }
}

#[expect(clippy::disallowed_methods, reason = "tests of other processes wait in real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// A pause that is part of a case, such as the time at which it calls.
#[expect(clippy::disallowed_methods, reason = "the case has this time in it")]
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// The text of an answer, or of what is wrong with it.
pub(crate) fn text(answer: &Value) -> &str {
    let text = &answer["result"]["content"][0]["text"];
    text.as_str().or(answer["error"]["message"].as_str()).unwrap_or_else(|| panic!("{answer}"))
}

pub(crate) fn fails(answer: &Value) -> bool {
    answer.get("error").is_some() || answer["result"]["isError"] == true
}

/// Why a call was refused, in a word.
pub(crate) fn kind(answer: &Value) -> &str {
    answer["result"]["_meta"]["herm/refusal"]["kind"].as_str().unwrap_or_default()
}

/// The messages with this part that came to the fake, over stdio or HTTP, in order.
pub(crate) fn incoming(log: &Path, part: &str) -> Vec<(f64, String)> {
    messages(log, "in", part)
}

/// The messages with this part that the fake sent over stdio.
pub(crate) fn outgoing(log: &Path, part: &str) -> Vec<(f64, String)> {
    messages(log, "out", part)
}

pub(crate) fn came(log: &Path, part: &str) -> usize {
    incoming(log, part).len()
}

fn messages(log: &Path, way: &str, part: &str) -> Vec<(f64, String)> {
    let message = |entry: &fake_log::Entry| {
        let text = match entry.event.as_str() {
            event if event == way => entry.data["text"].as_str(),
            "request" if way == "in" => entry.data["body"].as_str(),
            _ => None,
        }?;
        text.contains(part).then(|| (entry.ms, text.to_owned()))
    };
    fake_log::read(log).iter().filter_map(message).collect()
}

/// When the fake's processes were started, in milliseconds of the machine's clock.
pub(crate) fn starts(log: &Path) -> Vec<f64> {
    let entries = fake_log::read(log).into_iter();
    entries.filter(|entry| entry.event == "spawn").map(|entry| entry.ms).collect()
}

/// What the fake's checks of this name say, in order.
pub(crate) fn details(log: &Path, check: &str) -> Vec<String> {
    let entries = fake_log::read(log).into_iter();
    entries
        .filter(|entry| entry.event == "check" && entry.data["name"] == check)
        .map(|entry| entry.data["detail"].as_str().unwrap_or_default().to_owned())
        .collect()
}
