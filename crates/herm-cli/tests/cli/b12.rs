//! Case B12, the session that is gone.

use std::time::Duration;

use herm_testkit::fake_log;
use serde_json::json;

use crate::control::run;
use crate::story::{Story, came, details, fails, incoming, kind, now, pause, text};

const INITIALIZE: &str = r#""method":"initialize""#;
const CALL: &str = r#""method":"tools/call""#;

fn story(case: &str) -> Story {
    let mut story = Story::http("b12", &[&format!("case={case}")], "");
    story.client.tools(&["mcp__case__echo"]);
    story
}

#[test]
fn a_forgotten_session_is_opened_again_and_the_caller_sees_one_success() {
    // 404, and 400 with text.
    for case in ["a", "d"] {
        let mut story = story(case);
        assert_eq!(text(&story.echo("once")), "once", "{case}");
        assert_eq!(came(&story.log, INITIALIZE), 2, "{case}");
        assert_eq!(came(&story.log, "notifications/initialized"), 2, "{case}");
        assert_eq!(details(&story.log, "executed"), ["s2"], "{case}");
        let sent: Vec<String> = incoming(&story.log, CALL).into_iter().map(|sent| sent.1).collect();
        assert!(sent.len() == 2 && sent.iter().all(|sent| sent.contains(r#""once""#)), "{sent:?}");
        let checks = ["version-header", "initialize-without-session", "executed"];
        fake_log::assert_checks(&story.log, &checks);
        let status = story.status();
        assert_eq!((&status["state"], &status["counters"]["losses"]), (&json!("ready"), &json!(0)));
        let ended = story.end();
        assert_eq!(
            details(&ended.log, "deleted"),
            ["s2"],
            "{case}: one DELETE, of the last session"
        );
    }
}

#[test]
fn a_session_that_is_never_known_is_opened_once_a_call_and_ever_more_rarely() {
    let mut story = story("b");
    let begin = now();
    let mut calls = 0;
    while begin.elapsed() < Duration::from_secs(10) {
        let started = now();
        let answer = story.echo("anybody?");
        assert!(fails(&answer) && text(&answer).contains("'case'"), "{answer}");
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}: {answer}", started.elapsed());
        calls += 1;
        let openings = came(&story.log, INITIALIZE);
        assert!(openings <= 1 + calls, "{openings} openings after {calls} calls");
        pause(Duration::from_millis(50));
    }
    let openings = came(&story.log, INITIALIZE);
    assert!((4..=10).contains(&openings), "{openings} openings, {calls} calls");
    assert_eq!(details(&story.log, "executed"), Vec::<String>::new());
    story.end();
}

#[test]
fn not_found_without_a_session_is_a_plain_error() {
    let mut story = story("c");
    let answer = story.echo("there?");
    assert!(fails(&answer) && text(&answer).contains("Session not found"), "{answer}");
    assert_eq!((came(&story.log, INITIALIZE), came(&story.log, CALL)), (1, 1));
    assert_eq!(story.status()["state"], "ready");
    let ended = story.end();
    assert_eq!(details(&ended.log, "deleted"), Vec::<String>::new(), "there was no session");
}

#[test]
fn a_refusal_of_credentials_is_told_with_status_and_body() {
    let mut story = story("e");
    let answer = story.echo("me?");
    assert!(fails(&answer) && kind(&answer) == "login_needed", "{answer}");
    let (_, said, code) = run(&story.sandbox, &["call", "case.echo", "s=me?"]);
    assert_eq!(code, Some(6), "{said}");
    for part in ["401", "token expired for this test"] {
        assert!(text(&answer).contains(part), "no `{part}`: {answer}");
        assert!(said.contains(part), "no `{part}`: {said}");
    }
    assert_eq!(came(&story.log, INITIALIZE), 1);
    story.end();
}

#[test]
fn older_versions_in_a_refusal_are_tried_once() {
    let mut story = story("f");
    assert_eq!(text(&story.echo("an older one")), "an older one");
    assert_eq!(came(&story.log, INITIALIZE), 2);
    let status = story.status();
    assert_eq!(status["protocol"], "2025-06-18", "{status}");
    story.end();
}
