//! Case B05, the server that will not say pong, with `herm status` as the observer.

use std::path::{Path, PathBuf};
use std::time::Duration;

use herm_testkit::{Sandbox, fake, fake_log, wait_until};
use serde_json::json;

use crate::client::SOON;
use crate::serve::entry;
use crate::story::{SCALED, Story, came, now, outgoing, pause, starts, text};

/// Half of the case's numbers; a list takes 3 s from the second time on.
const HALVED: &str = "connect_timeout: 3, list_timeout: 1.5, timeout: 2.5, max_timeout: 6, \
    keepalive_interval: 0.5, breaker: {threshold: 3, cooldown_seconds: 1}, \
    supervision: {backoff_initial: 0.1, backoff_max: 1, park_interval: 1.5, park_max: 1.5, \
    probe_timeout: 1.5, stop_grace: 0.5, term_grace: 0.5, allowance: 1000}";
const ODD: [&str; 4] = ["b05a", "b05b", "b05c", "b05d"];

#[test]
fn who_does_not_say_pong_is_not_dead() {
    let sandbox = Sandbox::new();
    let root = sandbox.root().to_owned();
    let log = |name: &str| -> PathBuf { root.join(name) };
    let more = format!(", {HALVED}");
    let entries = ODD.map(|name| entry(name, &fake(name, &log(name)), &more));
    let mut story = Story::of(sandbox, &entries.concat(), None);
    story.client.tools(&ODD.map(|name| format!("mcp__{name}__echo")).each_ref().map(|s| &**s));
    let begin = now();
    for round in 1..=3 {
        pause((round * Duration::from_millis(2500)).saturating_sub(begin.elapsed()));
        for name in ODD {
            let answer = story.client.call(&format!("mcp__{name}__echo"), &json!({"s": name}));
            assert_eq!(text(&answer), name);
        }
        for (name, status) in ODD.iter().zip(story.statuses()) {
            assert_eq!(status["name"], *name);
            // Silence raises a doubt, until the next answer; an answer of any kind raises none.
            let fine =
                status["state"] == "ready" || (status["state"] == "suspect" && *name == "b05a");
            assert!(fine, "{status}");
            assert_eq!((&status["generation"], &status["freshness"]), (&json!(1), &json!("live")));
        }
    }
    pause(Duration::from_secs(10).saturating_sub(begin.elapsed()));
    let _ended = story.end();
    for name in ODD {
        let log = log(name);
        assert_eq!(fake_log::spawns(&log), 1, "{name} was started again");
        let lists = came(&log, r#""method":"tools/list""#);
        assert!(lists <= 2, "{name} was listed {} times after its start", lists - 1);
        assert!(came(&log, r#""method":"ping""#) >= 1, "{name} was never pinged");
        assert_eq!(came(&log, r#""method":"initialize""#), 1, "{name}");
    }
}

/// When the fake's input was closed, on the machine's clock.
fn closed(log: &Path) -> Option<f64> {
    let entries = fake_log::read(log);
    entries.iter().find(|entry| entry.data["end"] == true).map(|entry| entry.ms)
}

#[test]
fn who_answers_nothing_any_more_is_declared_dead_in_time_and_replaced() {
    let mut story = Story::with(&["b05e"], SCALED, "");
    story.client.tools(&["mcp__case__echo"]);
    assert_eq!(text(&story.echo("last words")), "last words");
    let status = story.reaches("suspect");
    assert_eq!(status["generation"], 1, "{status}");
    wait_until(SOON, "it is replaced", || (fake_log::spawns(&story.log) == 2).then_some(()));
    let status = story.reaches("ready");
    assert_eq!((&status["generation"], &status["counters"]["losses"]), (&json!(2), &json!(1)));
    let last = outgoing(&story.log, "last words")[0].0;
    let dead = closed(&story.log).unwrap() - last;
    // The interval and the time of each of two probes, and no later than the case allows.
    assert!((6900.0..8000.0).contains(&dead), "declared dead after {dead} ms");
    let replaced = starts(&story.log)[1] - last;
    assert!(replaced < dead + 1000.0 + 300.0 + 1000.0, "replaced after {replaced} ms");
    assert!(came(&story.log, r#""method":"ping""#) >= 1);
    assert_eq!(text(&story.echo("there")), "there");
    let ended = story.end();
    let log = std::fs::read_to_string(ended.sandbox.home().join("logs/herm.log")).unwrap();
    assert!(log.contains("MCP server 'case' keepalive failed, triggering reconnect: "), "{log}");
}
