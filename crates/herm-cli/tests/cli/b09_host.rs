//! Case B09, loud standard error and telling exits, in a host that goes on.

use std::time::Duration;

use herm_testkit::wait_until;
use serde_json::json;

use crate::client::SOON;
use crate::control::run;
use crate::story::{SCALED, Story, fails, kind, now, text};

const CANARY: &str = "hunter2-canary";
const KIB: u64 = 1024;

fn story() -> Story {
    // It waits for a call, so that the host's memory can be looked at before.
    let more = format!(", lazy: true, env: {{CANARY: {CANARY}}}");
    Story::with(&["b09"], SCALED, &more)
}

/// The most memory that the host has used so far, in KiB.
fn most_memory(story: &Story) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", story.client.child.id()));
    let status = status.unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    most.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_flood_costs_the_host_no_memory_and_reaches_no_terminal() {
    let mut story = story();
    let before = most_memory(&story);
    // The connect limit is 3 s, that of a call 5 s.
    let begin = now();
    assert_eq!(text(&story.echo("first")), "first");
    assert!(begin.elapsed() < Duration::from_secs(3 + 3), "{:?}", begin.elapsed());
    for _ in 0..3 {
        let begin = now();
        assert_eq!(text(&story.call("flood", &json!({}))), "flooded");
        assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    }
    let grown = most_memory(&story) - before;
    assert!(grown < 8 * KIB, "{grown} KiB more");
    let (kept, said, code) = run(&story.sandbox, &["logs", "case", "--lines", "1000000"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(kept.contains("flood") && kept.contains("[REDACTED]"), "{:.500}", kept);
    assert!(kept.len() < 16 << 20, "{} bytes are kept", kept.len());
    let status = story.status();
    assert_eq!((&status["generation"], &status["state"]), (&json!(1), &json!("ready")));
    let ended = story.end();
    let log = std::fs::read_to_string(ended.sandbox.home().join("logs/herm.log")).unwrap();
    for (what, text) in [("kept", &kept), ("standard error", &ended.stderr), ("the log", &log)] {
        for never in [CANARY, &CANARY[..9], "\u{1b}"] {
            assert!(!text.contains(never), "{never:?} is in what is {what}");
        }
    }
    for (what, text) in [("standard error", &ended.stderr), ("the log", &log)] {
        for never in ["flood  of", "flood of", "noise"] {
            assert!(!text.contains(never), "{never:?} is in {what}: {text}");
        }
    }
}

#[test]
fn an_exit_is_told_at_once_with_the_last_line_and_the_next_call_works() {
    let mut story = story();
    assert_eq!(text(&story.echo("first")), "first");
    for (generation, tool, ends, last) in
        [(1, "die7", "exit code 7", "db locked"), (2, "segv", "signal 11", "about to fall")]
    {
        let begin = now();
        let answer = story.call(tool, &json!({}));
        let took = begin.elapsed();
        assert!(took < Duration::from_secs(1), "{took:?}: {answer}");
        assert!(fails(&answer) && kind(&answer) == "outcome_unknown", "{answer}");
        for part in [ends, last] {
            assert!(text(&answer).contains(part), "no `{part}`: {answer}");
        }
        let reason = wait_until(SOON, "status tells it", || {
            Some(story.status()["reason"]["text"].as_str()?.to_owned())
        });
        assert!(reason.contains(ends) && reason.contains(last), "{reason}");
        // Held through the back-off.
        assert_eq!(text(&story.echo("after")), "after");
        assert_eq!(story.status()["generation"], generation + 1);
    }
    let ended = story.end();
    assert!(!ended.stderr.contains(CANARY), "{}", ended.stderr);
}
