//! The cases of broken servers, against `herm serve`, with `herm status` as the observer.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use herm_testkit::{Sandbox, fake, fake_http, fake_log, wait_until};
use serde_json::{Value, json};

use crate::client::{Client, SOON};
use crate::serve::entry;

/// The numbers of the cases, as keys of an entry.
const SCALED: &str = "connect_timeout: 3, list_timeout: 3, timeout: 5, max_timeout: 12, \
    keepalive_interval: 1, breaker: {threshold: 3, cooldown_seconds: 2}, \
    supervision: {backoff_initial: 0.2, backoff_max: 2, park_interval: 3, park_max: 3, \
    probe_timeout: 3, stop_grace: 1, term_grace: 1, allowance: 1000}";

/// A host with the server under test and a good one.
struct Story {
    sandbox: Sandbox,
    client: Client,
    log: std::path::PathBuf,
    sibling: std::path::PathBuf,
}

impl Story {
    fn stdio(script: &str, more: &str) -> Self {
        let sandbox = Sandbox::new();
        let log = sandbox.root().join("log");
        let more = format!(", {}{more}", SCALED);
        Self::of(sandbox, &entry("case", &fake(script, &log), &more))
    }

    fn of(sandbox: Sandbox, case: &str) -> Self {
        let (log, sibling) = (sandbox.root().join("log"), sandbox.root().join("sibling"));
        let good = entry("sibling", &fake("good", &sibling), "");
        sandbox.config(&format!("mcp_servers:\n{case}{good}"));
        let mut command = sandbox.herm();
        command.arg("serve");
        let mut client = Client::open(command);
        client.tools(&["mcp__sibling__echo"]);
        Self { sandbox, client, log, sibling }
    }

    /// The entry of a server in `herm status --json`.
    fn status(&self) -> Value {
        let output = self.sandbox.herm().args(["--json", "status"]).stdin(Stdio::null()).output();
        let status: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
        status["hosts"][0]["servers"][0].clone()
    }

    /// A call of the sibling, which must notice nothing.
    fn beside(&mut self) {
        let started = now();
        let answer = self.client.call("mcp__sibling__echo", &json!({"s": "unmoved"}));
        assert_eq!(text(&answer), "unmoved");
        assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    }

    fn echo(&mut self, said: &str) -> Value {
        self.client.call("mcp__case__echo", &json!({ "s": said }))
    }

    /// Gives what was said and not asked for.
    fn end(self) -> Vec<Value> {
        assert_eq!(fake_log::spawns(&self.sibling), 1);
        let (status, rest) = self.client.close();
        assert_eq!(status.code(), Some(0));
        rest
    }
}

#[expect(clippy::disallowed_methods, reason = "tests of other processes wait in real time")]
fn now() -> Instant {
    Instant::now()
}

/// The text of an answer, or of what is wrong with it.
fn text(answer: &Value) -> &str {
    let text = &answer["result"]["content"][0]["text"];
    text.as_str().or(answer["error"]["message"].as_str()).unwrap_or_else(|| panic!("{answer}"))
}

fn fails(answer: &Value) -> bool {
    answer.get("error").is_some() || answer["result"]["isError"] == true
}

fn came(log: &Path, part: &str) -> usize {
    let holds = |entry: &&fake_log::Entry| {
        let text = entry.data["text"].as_str().or(entry.data["body"].as_str());
        matches!(entry.event.as_str(), "in" | "request") && text.is_some_and(|t| t.contains(part))
    };
    fake_log::read(log).iter().filter(holds).count()
}

#[test]
fn b02_dead_on_arrival_is_told_by_status_and_started_rarely() {
    let mut story = Story::stdio("b02", "");
    let begin = now();
    while begin.elapsed() < Duration::from_secs(10) {
        let tools = story.client.ask("tools/list", &json!({}))["result"]["tools"].take();
        assert_eq!(tools.as_array().unwrap().len(), 1, "{tools}");
        story.beside();
        let answer = story.echo("anybody?");
        assert!(fails(&answer), "{answer}");
    }
    let starts = fake_log::spawns(&story.log);
    assert!((5..=10).contains(&starts), "{starts} starts");
    let status = story.status();
    assert_eq!(status["state"], "parked", "{status}");
    assert!(status["next_attempt_at"].is_string(), "{status}");
    let reason = status["reason"]["text"].as_str().unwrap();
    for part in ["exit code 3", "cfg missing"] {
        assert!(reason.contains(part), "no `{part}`: {reason}");
    }
    story.end();
}

#[test]
fn b03_eight_first_calls_share_one_start() {
    let mut story = Story::stdio("b03", ", lazy: true");
    for id in 0..8 {
        let params = json!({"name": "mcp__case__echo", "arguments": {"s": id.to_string()}});
        story.client.request(&format!("\"b{id}\""), "tools/call", &params);
    }
    wait_until(SOON, "the start is seen", || {
        (story.status()["state"] == "connecting").then_some(())
    });
    let reload = story.sandbox.herm().arg("reload").output().unwrap();
    assert_eq!(reload.status.code(), Some(0), "{reload:?}");
    for id in 0..8 {
        let answer = story.client.find("the answer", |m| m["id"] == format!("b{id}"));
        assert_eq!(text(&answer), id.to_string());
    }
    assert_eq!((fake_log::spawns(&story.log), came(&story.log, "\"initialize\"")), (1, 1));
    story.end();
}

#[test]
fn b04_an_outage_ends_by_itself_and_is_announced_once() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    let site = fake_http(&sandbox, "b04", &["blip=500", "outage=6000"], &log);
    let case = format!("  case: {{url: '{}', {}}}\n", site.url(), SCALED);
    let mut story = Story::of(sandbox, &case);
    story.client.tools(&["mcp__case__echo"]);
    let mut open = 0;
    for fall in 1..=8 {
        let begin = now();
        loop {
            let started = now();
            let answer = story.echo("there");
            if !fails(&answer) {
                break;
            }
            let said = text(&answer).to_owned();
            assert!(said.contains("case"), "{said}");
            if said.contains("unreachable after") {
                open += 1;
                assert!(started.elapsed() < Duration::from_secs(1), "{said}");
            }
            let limit = if fall == 8 { 6 + 6 } else { 4 };
            assert!(begin.elapsed() < Duration::from_secs(limit), "fall {fall}: {said}");
            story.beside();
        }
    }
    assert!(open > 0, "the breaker never opened");
    assert_eq!(story.status()["state"], "ready");
    let rest = story.end();
    let is_notice = |m: &&Value| m["method"] == "notifications/tools/list_changed";
    let notices = rest.iter().filter(is_notice).count();
    // The tools of both servers; a list that is read again, and is the same, is no change.
    assert!(notices <= 2, "{notices} notices");
}

#[test]
fn b06_a_black_hole_is_named_by_status_and_costs_one_rebuild() {
    let mut story = Story::stdio("b06", "");
    story.client.tools(&["mcp__case__echo"]);
    assert_eq!(text(&story.echo("last words")), "last words");
    let begin = now();
    let mut named = false;
    loop {
        let started = now();
        let answer = story.echo("there");
        assert!(started.elapsed() < Duration::from_secs(6), "{answer}");
        let through = !fails(&answer) && fake_log::spawns(&story.log) == 3;
        named |= text(&answer).contains("tools/list")
            || story.status()["reason"]["text"].as_str().unwrap_or_default().contains("tools/list");
        if through {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(9), "{answer}");
        story.beside();
    }
    assert!(named, "`tools/list` was never named");
    let status = story.status();
    assert_eq!((&status["state"], &status["breaker"]), (&json!("ready"), &json!("closed")));
    assert_eq!(status["generation"], 3);
    story.end();
}

#[test]
fn b07_endless_progress_ends_at_the_absolute_limit() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    let case = entry("case", &fake("calls", &log), ", timeout: 1, max_timeout: 3");
    let mut story = Story::of(sandbox, &case);
    story.client.tools(&["mcp__case__chatty"]);
    let started = now();
    let answer = story.client.call("mcp__case__chatty", &json!({"count": "1000000"}));
    let took = started.elapsed().as_millis();
    assert!(fails(&answer) && text(&answer).contains("call absolute"), "{answer}");
    assert!((2500..4500).contains(&took), "{took} ms");
    let log = story.log.clone();
    wait_until(SOON, "the cancel arrives", || {
        (came(&log, "notifications/cancelled") == 1).then_some(())
    });
    // Late words and the late answer belong to nobody.
    assert_eq!(text(&story.echo("later")), "later");
    assert_eq!(came(&story.log, "notifications/cancelled"), 1);
    assert_eq!(fake_log::spawns(&story.log), 1);
    story.end();
}

#[test]
fn a_loop_of_calls_starts_a_dying_server_no_oftener_than_a_host() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    let more = format!(", {}", SCALED);
    sandbox.config(&format!("mcp_servers:\n{}", entry("case", &fake("b02", &log), &more)));
    let begin = now();
    let mut calls = 0;
    while begin.elapsed() < Duration::from_secs(8) {
        let call =
            sandbox.herm().args(["call", "case.echo"]).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&call.stderr).into_owned();
        assert_eq!(call.status.code(), Some(7), "{said}");
        assert!(said.contains("exit code 3"), "{said}");
        calls += 1;
    }
    let starts = fake_log::spawns(&log);
    assert!((4..=9).contains(&starts), "{starts} starts in {calls} calls");
    assert!(calls >= starts, "{calls} calls");
}
