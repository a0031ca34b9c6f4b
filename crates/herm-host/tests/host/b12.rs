//! B12 Session gone.

use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

use herm_core::config::Revision;
use herm_host::{Deadline, Kind, Refusal};
use herm_testkit::{fake_log, wait_until};

use crate::support::{Case, SOON, came, incoming, scaled};

/// What the checks of this name say, in order.
fn details(log: &Path, check: &str) -> Vec<String> {
    let entries = fake_log::read(log).into_iter();
    entries
        .filter(|entry| entry.event == "check" && entry.data["name"] == check)
        .map(|entry| entry.data["detail"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forgotten_session_is_opened_again_and_the_call_runs_once() {
    for set in ["case=a", "case=d"] {
        let case = Case::http("b12", &[set]);
        case.connect().await.unwrap();
        case.echo("once").await;
        assert_eq!(came(&case.log, "initialize"), 2, "{set}");
        assert_eq!(details(&case.log, "executed"), ["s2"], "{set}");
        let checks = ["version-header", "initialize-without-session", "executed"];
        fake_log::assert_checks(&case.log, &checks);
        let log = case.log.clone();
        // The log lives as long as the sandbox.
        let Case { sandbox, host, .. } = case;
        host.stop().await;
        wait_until(SOON, "the DELETE", || (!details(&log, "deleted").is_empty()).then_some(()));
        assert_eq!(details(&log, "deleted"), ["s2"], "{set}");
        drop(sandbox);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_that_is_never_known_costs_one_opening_a_call() {
    let case = Case::http("b12", &["case=b"]);
    case.connect().await.unwrap();
    for calls in 1..=4 {
        let refused = case.call("echo", "{}").await.unwrap_err();
        assert_eq!(refused.kind(), Kind::Unavailable, "{refused}");
        let openings = came(&case.log, "initialize");
        assert!(openings <= 1 + calls, "{openings} openings after {calls} calls");
    }
    assert!(details(&case.log, "executed").is_empty());
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_that_is_never_known_is_opened_ten_times_in_ten_seconds_at_most() {
    let case = Case::http_with("b12", &["case=b"], scaled);
    case.connect().await.unwrap();
    let calls = async {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(10) {
            case.call("echo", "{}").await.unwrap_err();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    Box::pin(case.beside(calls)).await;
    let openings = came(&case.log, "initialize");
    assert!((4..=10).contains(&openings), "{openings} openings");
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn not_found_without_a_session_is_a_plain_error() {
    let case = Case::http("b12", &["case=c"]);
    case.connect().await.unwrap();
    let refused = case.call("echo", "{}").await.unwrap_err();
    assert_eq!(refused.kind(), Kind::Protocol, "{refused}");
    assert!(refused.to_string().contains("Session not found"), "{refused}");
    assert_eq!(came(&case.log, "initialize"), 1);
    assert_eq!(came(&case.log, "tools/call"), 1);
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_credentials_are_shown_with_the_words_of_the_server() {
    let case = Case::http("b12", &["case=e"]);
    case.connect().await.unwrap();
    let refused = case.call("echo", "{}").await.unwrap_err();
    assert_eq!(refused.kind(), Kind::LoginNeeded, "{refused}");
    let said = refused.to_string();
    assert!(said.contains("401") && said.contains("token expired for this test"), "{said}");
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn older_versions_in_a_refusal_are_tried_once() {
    let case = Case::http("b12", &["case=f"]);
    case.connect().await.unwrap();
    assert_eq!(case.status().revision, Some(Revision::V2025_06_18));
    assert_eq!(came(&case.log, "initialize"), 2);
    case.echo("an older version").await;
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_lost_beside_a_running_call_does_not_run_it_twice() {
    let case = Case::http("b12", &["case=g"]);
    case.connect().await.unwrap();
    let running = async {
        let refused = case.call("echo", r#"{"s":"slow"}"#).await.unwrap_err();
        assert_eq!(refused.kind(), Kind::OutcomeUnknown, "{refused}");
    };
    let dropped = async {
        let arrived = async {
            while details(&case.log, "executed").len() < 2 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            ended = case.call("echo", r#"{"s":"dropped"}"#) => panic!("{ended:?}"),
            () = arrived => {}
        }
    };
    tokio::join!(running, dropped);
    let slow = incoming(&case.log, "tools/call").into_iter().filter(|sent| sent.contains("slow"));
    assert_eq!(slow.count(), 1, "the call was sent again although it ran");
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn second_sending_gets_no_second_limit() {
    let case = Case::http_with("b12", &["case=h"], |server| {
        server.limits.call_absolute = Duration::from_millis(2500);
        // The new session is there within what is left of the call's time.
        server.supervision.backoff_initial = Duration::from_millis(50);
    });
    case.connect().await.unwrap();
    let started = Instant::now();
    let refused = case.call("echo", r#"{"s":"late"}"#).await.unwrap_err();
    assert!(
        matches!(refused, Refusal::TimedOut { deadline: Deadline::CallAbsolute, .. }),
        "{refused}"
    );
    assert!(refused.to_string().contains("within 2.5 s"), "{refused}");
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_number_of_refused_calls_open_one_session() {
    let case = Case::http("b12", &["case=i"]);
    case.connect().await.unwrap();
    let said: Vec<String> = (0..16).map(|n| format!("call {n}")).collect();
    futures_util::future::join_all(said.iter().map(|said| case.echo(said))).await;
    assert_eq!(came(&case.log, "initialize"), 2);
    assert_eq!(details(&case.log, "executed"), vec!["s2"; 16]);
    for said in &said {
        let sent = incoming(&case.log, "tools/call");
        let count = sent.iter().filter(|sent| sent.contains(&format!(r#""{said}""#))).count();
        assert!(count <= 2, "{said} was sent {count} times");
    }
    let status = case.status();
    assert_eq!((status.generation, status.counters.losses), (2, 0), "{status:?}");
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_session_is_deleted_once() {
    let case = Case::http_with("b12", &["case=j"], |server| {
        server.upkeep.idle = Some(Duration::from_millis(1500));
    });
    case.connect().await.unwrap();
    for _ in 0..9 {
        case.host.restart(&case.name).await.unwrap();
    }
    case.seen("the recycled session is ended", |log| details(log, "deleted").len(), 10);
    case.echo("another").await;
    let log = case.log.clone();
    let Case { sandbox, host, .. } = case;
    host.stop().await;
    let sessions: Vec<String> = (1..=11).map(|n| format!("s{n}")).collect();
    assert_eq!(details(&log, "deleted"), sessions);
    assert_eq!(came(&log, "initialize"), sessions.len());
    drop(sandbox);
}
