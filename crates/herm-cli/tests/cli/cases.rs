//! The cases of broken servers, against `herm serve`, with `herm status` as the observer. Those with
//! many parts have files of their own.

use std::process::{Child, Stdio};
use std::time::Duration;

use herm_testkit::{Sandbox, fake, fake_log};
use serde_json::json;

use crate::client::SOON;
use crate::control::document;
use crate::serve::entry;
use crate::story::{Ended, SCALED, Story, came, details, fails, now, pause, starts, text};

/// Lines of the host's log about the server.
fn log_lines(ended: &Ended) -> Vec<String> {
    let log = std::fs::read_to_string(ended.sandbox.home().join("logs/herm.log")).unwrap();
    log.lines().filter(|line| line.contains("'case'")).map(str::to_owned).collect()
}

#[test]
fn b02_dead_on_arrival_is_told_by_status_and_started_ever_more_rarely() {
    let mut story = Story::stdio("b02", "");
    let begin = now();
    while begin.elapsed() < Duration::from_secs(15) {
        let tools = story.client.ask("tools/list", &json!({}))["result"]["tools"].take();
        assert_eq!(tools.as_array().unwrap().len(), 1, "{tools}");
        let answer = story.echo("anybody?");
        assert!(fails(&answer) && text(&answer).contains("exit code 3"), "{answer}");
        pause(Duration::from_millis(100));
    }
    let starts = starts(&story.log);
    assert!((6..=12).contains(&starts.len()), "{} starts", starts.len());
    let gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let least = [200.0, 400.0, 800.0, 1600.0];
    for (gap, least) in gaps.iter().zip(least) {
        assert!(*gap >= least * 0.98, "{gap} ms, at least {least}: {gaps:?}");
    }
    assert!(gaps[4..].iter().all(|gap| *gap >= 1960.0), "over the cap: {gaps:?}");
    let random: Vec<f64> = gaps.iter().zip(least).map(|(gap, least)| gap / least).collect();
    assert!(random.iter().any(|part| (part - random[0]).abs() > 0.02), "no jitter: {gaps:?}");
    // Never two at once: each ends before the next begins.
    let lives = fake_log::read(&story.log).into_iter().map(|entry| entry.event);
    let lives: Vec<String> = lives.filter(|event| event == "spawn" || event == "exit").collect();
    assert!(
        lives
            .chunks(2)
            .all(|life| life[0] == "spawn" && life.last().unwrap() == "exit" || life.len() == 1),
        "{lives:?}"
    );
    let status = story.reaches("parked");
    assert!(status["next_attempt_at"].is_string(), "{status}");
    assert_eq!((&status["reason"]["class"], &status["name"]), (&json!("exited"), &json!("case")));
    let reason = status["reason"]["text"].as_str().unwrap();
    for part in ["(open)", "exit code 3", "cfg missing"] {
        assert!(reason.contains(part), "no `{part}`: {reason}");
    }
    let lines = log_lines(&story.end());
    assert!(lines.len() <= 15, "{} lines in 15 s: {lines:#?}", lines.len());
}

#[test]
fn b02_a_program_that_is_not_there_harms_nobody_first_or_last_in_the_file() {
    // No probe of its own comes in the time of this test.
    let scaled = SCALED.replace("park_interval: 3, park_max: 3", "park_interval: 60, park_max: 60");
    assert_ne!(scaled, SCALED);
    let missing = format!("  case: {{command: no-such-program-anywhere, {scaled}}}\n");
    for first in [true, false] {
        let sandbox = Sandbox::new();
        // The fixture's own sibling comes last: one more behind it makes the failing entry the first,
        // or one more before it.
        let other = entry("other", &fake("good", &sandbox.root().join("other")), "");
        let cases = if first { missing.clone() + &other } else { other + &missing };
        let mut story = Story::of(sandbox, &cases, None);
        story.client.tools(&["mcp__other__echo"]);
        for _ in 0..20 {
            let tools = story.client.ask("tools/list", &json!({}))["result"]["tools"].take();
            assert_eq!(tools.as_array().unwrap().len(), 2, "{tools}");
            let answer = story.echo("anybody?");
            assert!(text(&answer).contains("`no-such-program-anywhere` was not found"), "{answer}");
            pause(Duration::from_millis(50));
        }
        let statuses = story.statuses();
        let status = &statuses[usize::from(!first)];
        assert_eq!((&status["name"], &status["state"]), (&json!("case"), &json!("parked")));
        assert_eq!(status["reason"]["class"], "not_found", "{status}");
        let reason = status["reason"]["text"].as_str().unwrap();
        for part in ["(spawn)", "`no-such-program-anywhere` was not found", "PATH searched: /"] {
            assert!(reason.contains(part), "no `{part}`: {reason}");
        }
        assert!(status["next_attempt_at"].is_string(), "{status}");
        // The first, and one that a call brought forward.
        assert!(status["counters"]["starts"].as_u64().unwrap() <= 2, "{status}");
        assert_eq!(fake_log::spawns(&story.sandbox.root().join("other")), 1);
        assert!(log_lines(&story.end()).len() <= 10);
    }
}

/// Calls from sessions of their own, begun now.
fn callers(story: &Story) -> Vec<Child> {
    let caller = |id| {
        let mut herm = story.sandbox.herm();
        herm.args(["call", "case.echo", &format!("s=c{id}")]).stdin(Stdio::null());
        herm.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    (0..3).map(caller).collect()
}

fn eight_first_calls(mut story: Story) {
    for id in 0..8 {
        story.begin(&format!("b{id}"), "echo", &json!({"s": id.to_string()}));
    }
    let callers = callers(&story);
    story.reaches("connecting");
    let (reloaded, code) = document(&story.sandbox, &["reload"]);
    assert_eq!((&reloaded["ok"], code), (&json!(true), Some(0)), "{reloaded}");
    for id in 0..8 {
        assert_eq!(text(&story.answer(&format!("b{id}"))), id.to_string());
    }
    for (id, caller) in callers.into_iter().enumerate() {
        let output = caller.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("c{id}\n"), "{output:?}");
    }
    assert_eq!(came(&story.log, "\"initialize\""), 1);
    assert_eq!(story.status()["counters"]["starts"], 1);
    let ended = story.end();
    // One process: of the host, or of the site.
    assert_eq!(fake_log::spawns(&ended.log), 1);
}

#[test]
fn b03_eight_first_calls_share_one_start() {
    eight_first_calls(Story::stdio("b03", ", lazy: true"));
}

#[test]
fn b03_eight_first_calls_share_one_opening_of_a_session() {
    eight_first_calls(Story::http("b03", &[], ", lazy: true"));
}

/// Calls until one is answered, and sees that each blip is short, and that none changes how the next
/// one is treated. Gives how many calls the breaker has refused.
fn recovers(story: &mut Story, fall: usize) -> usize {
    let begin = now();
    let mut open = 0;
    for call in 0.. {
        let started = now();
        let answer = story.echo("there");
        if !fails(&answer) {
            return open;
        }
        let said = text(&answer).to_owned();
        assert!(said.contains("'case'"), "{said}");
        if said.contains("unreachable after") {
            open += 1;
            assert!(call > 0, "the blips added up before fall {fall}: {said}");
            assert!(said.contains("Retry in "), "{said}");
        }
        if open > 0 {
            assert!(started.elapsed() < Duration::from_secs(1), "{:?} {said}", started.elapsed());
        }
        assert!(fall == 8 || begin.elapsed() < Duration::from_secs(4), "fall {fall}: {said}");
        assert!(begin.elapsed() < SOON, "fall {fall}: {said}");
        pause(Duration::from_millis(50));
    }
    open
}

/// When the fake made its last check of this name, on the machine's clock.
fn last(story: &Story, check: &str) -> f64 {
    let is = |entry: &fake_log::Entry| entry.event == "check" && entry.data["name"] == check;
    fake_log::read(&story.log).into_iter().rfind(is).unwrap().ms
}

#[test]
fn b04_an_outage_ends_by_itself_and_is_announced_once() {
    let mut story = Story::http("b04", &["blip=1000", "outage=6000"], "");
    story.client.tools(&["mcp__case__echo"]);
    let open = (1..=8).map(|fall| recovers(&mut story, fall)).last();
    assert!(open > Some(0), "the breaker never opened");
    let called = crate::story::incoming(&story.log, "\"there\"").last().unwrap().0;
    let after = called - last(&story, "up");
    // The parked server is looked at each 3 s, give or take a tenth.
    assert!(after < 5000.0 + 300.0, "a call worked only {after} ms after the return");
    assert_eq!(details(&story.log, "down").len(), 7);
    story.client.tools(&["mcp__case__echo"]);
    assert_eq!(story.status()["state"], "ready");
    let before = story.client.notices();
    let ended = story.end();
    // The tools of both servers; a list that is read again, and is the same, is no change.
    let notices = before + ended.notices();
    assert!(notices <= 2, "{notices} notices");
    // Each fall and each return, and a line for each 3 s of the outage.
    let lines = log_lines(&ended);
    assert!(lines.len() <= 2 * 7 + 2 + 4, "{} lines: {lines:#?}", lines.len());
}

/// Calls until the third generation answers; it has a name for the hole.
fn through_the_hole(mut story: Story) {
    story.client.tools(&["mcp__case__echo"]);
    assert_eq!(text(&story.echo("last words")), "last words");
    let begin = now();
    let mut said = Vec::new();
    loop {
        let started = now();
        let answer = story.echo("there");
        assert!(started.elapsed() < Duration::from_secs(6), "{answer}");
        if !fails(&answer) && came(&story.log, "\"initialize\"") == 3 {
            break;
        }
        said.push(text(&answer).to_owned());
        said.extend(story.status()["reason"]["text"].as_str().map(str::to_owned));
        assert!(begin.elapsed() < Duration::from_millis(7500), "{said:?}");
    }
    assert!(said.iter().any(|said| said.contains("tools/list")), "never named: {said:?}");
    let status = story.status();
    assert_eq!((&status["state"], &status["breaker"]), (&json!("ready"), &json!("closed")));
    assert_eq!(status["generation"], 3);
    assert_eq!(text(&story.echo("through")), "through");
    story.end();
}

#[test]
fn b06_a_black_hole_is_named_by_status_and_costs_one_rebuild() {
    through_the_hole(Story::stdio("b06", ""));
}

#[test]
fn b06_a_stream_that_only_flows_is_no_list() {
    through_the_hole(Story::http("b06", &[], ""));
}

/// `herm call` again and again for some seconds, without a host: the starts of the server.
fn loop_of_calls(script: &str, codes: [i32; 2]) -> usize {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    let more = format!(", {SCALED}");
    sandbox.config(&format!("mcp_servers:\n{}", entry("case", &fake(script, &log), &more)));
    let begin = now();
    let mut calls = 0;
    while begin.elapsed() < Duration::from_secs(8) {
        let call =
            sandbox.herm().args(["call", "case.echo"]).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&call.stderr).into_owned();
        assert!(call.status.code().is_some_and(|code| codes.contains(&code)), "{said}");
        assert!(said.contains("exit code 3"), "{said}");
        calls += 1;
    }
    let starts = fake_log::spawns(&log);
    assert!(calls >= starts, "{calls} calls");
    starts
}

#[test]
fn a_loop_of_calls_starts_a_dying_server_no_oftener_than_a_host() {
    let starts = loop_of_calls("b02", [7, 7]);
    assert!((4..=9).contains(&starts), "{starts} starts");
}

/// The command may be over before the server's teardown is: its loss counts all the same.
#[test]
fn a_loop_of_calls_starts_a_server_that_dies_once_open_no_oftener_than_a_host() {
    let starts = loop_of_calls("b02-opened", [1, 7]);
    assert!((3..=9).contains(&starts), "{starts} starts");
}
