//! K12 Stream drops, and servers that want to be left alone (`Retry-After`).

use std::path::Path;
use std::time::Duration;

use herm_host::{Deadline, Kind, Refusal, State};
use herm_testkit::fake_log;
use tokio::time::Instant;

use crate::support::{Case, SOON, came, text};

/// When requests with this in their body came, in milliseconds.
fn times(log: &Path, method: &str) -> Vec<f64> {
    let method = format!(r#""method":"{method}""#);
    let body = |entry: &fake_log::Entry| entry.data["body"].as_str().unwrap_or_default().to_owned();
    let entries = fake_log::read(log).into_iter();
    let requests = entries.filter(|entry| entry.event == "request");
    requests.filter(|entry| body(entry).contains(&method)).map(|entry| entry.ms).collect()
}

/// The GETs that came: when, and after which place.
fn gets(log: &Path) -> Vec<(f64, Option<String>)> {
    let entries = fake_log::read(log).into_iter();
    let gets = entries.filter(|e| e.event == "request" && e.data["method"] == "GET");
    gets.map(|e| (e.ms, e.data["headers"]["last-event-id"].as_str().map(str::to_owned))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_whose_stream_only_beats_ends_by_its_limit() {
    let second = Duration::from_secs(1);
    let case =
        Case::http_with("streams", &["beat=tools/list"], |server| server.limits.list = second);
    let started = Instant::now();
    let refused = case.connect().await.unwrap_err();
    assert!(refused.to_string().contains("the list (`list_timeout`) limit"), "{refused}");
    assert!(started.elapsed() < 4 * second, "{:?}", started.elapsed());
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn call_whose_stream_only_beats_ends_by_its_idle_limit() {
    let second = Duration::from_secs(1);
    let case =
        Case::http_with("streams", &["beat=tools/call"], |server| server.limits.call_idle = second);
    case.connect().await.unwrap();
    let started = Instant::now();
    let refused = case.call("echo", "{}").await.unwrap_err();
    assert!(matches!(refused, Refusal::TimedOut { deadline: Deadline::CallIdle, .. }), "{refused}");
    assert!(started.elapsed() < 4 * second, "{:?}", started.elapsed());
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn get_stream_that_is_cut_again_and_again_costs_delayed_reopenings_only() {
    let case = Case::http("streams", &["get=cut"]);
    case.connect().await.unwrap();
    case.seen("the stream is asked for again", |log| gets(log).len(), 4);
    case.echo("beside it").await;
    let gets = gets(&case.log);
    assert_eq!(gets[0].1, None);
    for pair in gets.windows(2) {
        let (after, place) = (pair[1].0 - pair[0].0, &pair[1].1);
        assert_eq!(place.as_deref(), Some("place"), "it survives streams without events");
        assert!(after >= 300.0, "asked for again after {after} ms");
    }
    let status = case.status();
    assert_eq!((status.state, status.generation), (State::Ready, 1), "{status:?}");
    assert_eq!((status.counters.losses, came(&case.log, "initialize")), (0, 1));
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn legacy_stream_that_ends_is_a_new_session() {
    let case = Case::http("b13", &["post=sse-only", "cut=1500"]);
    case.connect().await.unwrap();
    case.echo("before").await;
    case.seen("it is opened again without a call", |log| came(log, "tools/list"), 2);
    case.echo("after").await;
    let status = case.status();
    assert_eq!((status.generation, status.counters.losses), (2, 1), "{status:?}");
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_that_refuses_to_open_is_left_alone_as_long_as_it_asks() {
    for status in ["503", "429"] {
        let set = ["busy=initialize", "after=2", &format!("status={status}")];
        let case = Case::http_with("streams", &set, |server| {
            server.supervision.backoff_initial = Duration::from_millis(50);
        });
        let refused = case.connect().await.unwrap_err();
        assert_eq!(refused.kind(), Kind::Unavailable, "{refused}");
        assert_eq!(refused.retry_after(), Some(Duration::from_secs(2)), "{refused}");
        case.seen("it is opened later", |log| came(log, "tools/list"), 1);
        case.echo("at last").await;
        let opened = times(&case.log, "initialize");
        assert_eq!(opened.len(), 2, "{status}");
        let waited = opened[1] - opened[0];
        assert!(waited >= 2000.0, "{status}: asked again after {waited} ms");
        case.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_sent_to_a_server_that_wants_to_be_left_alone() {
    for status in ["503", "429"] {
        let set = ["busy=tools/call", "after=2", &format!("status={status}")];
        let case = Case::http("streams", &set);
        case.connect().await.unwrap();
        let refused = case.call("echo", "{}").await.unwrap_err();
        assert_eq!(refused.kind(), Kind::Unavailable, "{refused}");
        assert_eq!(refused.retry_after(), Some(Duration::from_secs(2)), "{refused}");
        let until = Instant::now() + SOON;
        let mut held = 0;
        let result = loop {
            match case.call("echo", r#"{"s":"again"}"#).await {
                Ok(result) => break result,
                Err(refused) => {
                    held += 1;
                    let after = refused.retry_after();
                    assert!(after.is_some_and(|after| !after.is_zero()), "{refused}");
                    assert!(refused.to_string().contains("left alone"), "{refused}");
                }
            }
            assert!(Instant::now() < until, "it is never asked again");
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        assert_eq!(text(&result), "again");
        assert!(held > 4, "{held} calls were refused, more than a breaker allows");
        let calls = times(&case.log, "tools/call");
        assert_eq!(calls.len(), 2, "{status}: only the first and the last were sent");
        assert!(calls[1] - calls[0] >= 2000.0, "{status}: {calls:?}");
        assert_eq!(came(&case.log, "initialize"), 1, "{status}");
        case.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answer_that_is_no_http_says_so() {
    let cells =
        [("status", "version"), ("headers", "too large"), ("body", "after 10 of 500 bytes")];
    for (bad, why) in cells {
        let case = Case::http("streams", &[&format!("bad={bad}")]);
        case.connect().await.unwrap();
        let refused = case.call("echo", "{}").await.unwrap_err();
        assert_eq!(refused.kind(), Kind::OutcomeUnknown, "{bad}: {refused}");
        let said = refused.to_string();
        assert!(said.contains("its HTTP is broken") && said.contains(why), "{bad}: {said}");
        case.end().await;
    }
}
