//! Case B07, progress: honest, endless, wrong, with the numbers of the case.

use std::ops::Range;
use std::time::{Duration, Instant};

use herm_testkit::{fake_log, wait_until};
use serde_json::{Value, json};

use crate::client::{Client, SOON, is_notice};
use crate::story::{Story, came, fails, incoming, kind, now, outgoing, text};

/// Each word of progress comes so many milliseconds after the other.
const EVERY: &str = "500";

fn chatty(story: &mut Story, id: &str, count: &str, token: &str) {
    let arguments = json!({"count": count, "every": EVERY, "token": token});
    story.begin(id, "chatty", &arguments);
}

/// The answers to what was begun in this moment, as they come, with their time.
fn answers(client: &mut Client, ids: &[&str], begin: Instant) -> Vec<(String, Value, Duration)> {
    let one = |_: &&str| {
        let answer = client.find("an answer", |m| ids.iter().any(|id| m["id"] == **id));
        (answer["id"].as_str().unwrap().to_owned(), answer, begin.elapsed())
    };
    ids.iter().map(one).collect()
}

fn timed_out(answer: &Value, took: Duration, limit: &str, within: Range<u128>) {
    assert!(fails(answer) && kind(answer) == "timeout", "{answer}");
    assert!(text(answer).contains(limit), "{answer}");
    assert!(within.contains(&took.as_millis()), "{took:?}: {answer}");
}

/// The id that herm gave to the call with this part.
fn id(story: &Story, part: &str) -> Value {
    let calls = incoming(&story.log, part);
    let [(_, call)] = &calls[..] else { panic!("{calls:?}") };
    let call: Value = serde_json::from_str(call).unwrap();
    assert!(!call["params"]["_meta"]["progressToken"].is_null(), "no token: {call}");
    call["id"].clone()
}

fn cancelled(story: &Story) -> Vec<Value> {
    let sent = incoming(&story.log, "notifications/cancelled");
    let id = |(_, text): &(f64, String)| {
        serde_json::from_str::<Value>(text).unwrap()["params"]["requestId"].clone()
    };
    sent.iter().map(id).collect()
}

#[test]
fn honest_progress_counts_wrong_progress_does_not_and_silence_harms_nobody_else() {
    let mut story = Story::stdio("calls", "");
    story.client.tools(&["mcp__case__chatty"]);
    let begin = now();
    chatty(&mut story, "honest", "18", "");
    chatty(&mut story, "text", "1000", "text");
    story.begin("silent", "silent", &json!({}));
    let answers = answers(&mut story.client, &["honest", "text", "silent"], begin);
    for (id, answer, took) in &answers {
        if id == "honest" {
            assert_eq!(text(answer), "talked");
            assert!((8500..11_000).contains(&took.as_millis()), "{took:?}");
        } else {
            timed_out(answer, *took, "call idle", 4900..6000);
        }
    }
    assert_eq!(answers[2].0, "honest", "the others waited for it, or it for them");
    let mut of_ours = cancelled(&story);
    of_ours.sort_by_key(Value::to_string);
    let parts = [r#""token":"text""#, r#""name":"silent""#];
    let mut wanted = parts.map(|part| id(&story, part));
    wanted.sort_by_key(Value::to_string);
    assert_eq!(of_ours, wanted, "each of them once");
    assert_eq!(text(&story.echo("up")), "up");
    let status = story.status();
    assert_eq!((&status["state"], &status["breaker"]), (&json!("ready"), &json!("closed")));
    assert_eq!(fake_log::spawns(&story.log), 1);
    story.end();
}

#[test]
fn endless_progress_ends_at_the_absolute_limit_and_what_comes_later_is_nobodys() {
    let mut story = Story::stdio("calls", "");
    story.client.tools(&["mcp__case__chatty"]);
    let begin = now();
    chatty(&mut story, "endless", "100000", "");
    // The token after its own is nobody's: it is the last call.
    chatty(&mut story, "next", "1000", "next");
    let answers = answers(&mut story.client, &["endless", "next"], begin);
    let limits = [("next", "call idle", 4900..6000), ("endless", "call absolute", 11_000..13_000)];
    for ((id, answer, took), (ends, limit, within)) in answers.iter().zip(limits) {
        assert_eq!(id, ends, "{answer}");
        timed_out(answer, *took, limit, within);
    }
    story.seen("notifications/cancelled", 2);
    let log = story.log.clone();
    wait_until(SOON, "the late answers are out", || {
        (outgoing(&log, "talked").len() == 2).then_some(())
    });
    let cancel = incoming(&log, "notifications/cancelled")[1].0;
    let late =
        outgoing(&log, "notifications/progress").iter().filter(|(at, _)| *at > cancel).count();
    assert!(late >= 2, "{late} late words");
    assert_eq!(text(&story.echo("later")), "later");
    let parts = [r#""token":"next""#, r#""token":"""#];
    assert_eq!(cancelled(&story), parts.map(|part| id(&story, part)), "each of them once");
    assert_eq!(fake_log::spawns(&log), 1);
    let status = story.status();
    assert_eq!(
        (&status["state"], &status["counters"]["late_answers"], &status["counters"]["losses"]),
        (&json!("ready"), &json!(2), &json!(0)),
        "{status}"
    );
    assert_eq!(came(&log, r#""method":"initialize""#), 1);
    let ended = story.end();
    let late: Vec<_> = ended.rest.iter().filter(|message| !is_notice(message)).collect();
    assert!(late.is_empty(), "passed on to a caller that is gone: {late:?}");
}
