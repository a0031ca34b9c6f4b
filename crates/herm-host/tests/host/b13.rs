//! B13 HTTP and SSE zoo: every reply that servers give, a working call behind each.

use std::path::Path;

use herm_core::era::Wire;
use herm_host::{Host, Kind, Setup};
use herm_testkit::{Sandbox, fake_http, fake_log};
use tokio::task::JoinSet;

use crate::support::{Case, call, http, limited, result, text};

const CELLS: [&str; 24] = [
    "notify=202",
    "notify=200-empty",
    "notify=204",
    "notify=200-object",
    "notify=200-null-error",
    "get=405",
    "get=404",
    "get=406",
    "get=501",
    "get=html",
    "get=closed",
    "get=silent",
    "reply=json-charset",
    "reply=sse-lf",
    "reply=sse-crlf",
    "reply=sse-cr",
    "reply=sse-split-crlf",
    "reply=sse-comments",
    "reply=sse-no-event",
    "reply=sse-no-space",
    "reply=sse-two-lines",
    "reply=sse-bom",
    "reply=sse-prime",
    "reply=sse-unknown-field",
];

/// HTTP requests with this method, each as its path.
fn requests(log: &Path, method: &str) -> Vec<String> {
    let entries = fake_log::read(log).into_iter();
    entries
        .filter(|entry| entry.event == "request" && entry.data["method"] == method)
        .map(|entry| entry.data["path"].as_str().unwrap_or_default().to_owned())
        .collect()
}

async fn cell(set: &'static str) {
    let case = Case::http_with("b13", &[set], |server| *server = limited(server.clone(), 20));
    case.connect().await.unwrap_or_else(|why| panic!("{set}: {why}"));
    for said in ["one", "two"] {
        case.echo(&format!("{set} {said}")).await;
    }
    let gets = requests(&case.log, "GET").len();
    match set {
        // A stream that ended is asked for again, with growing pauses.
        "get=closed" => assert!((1..10).contains(&gets), "{set}: {gets} GETs"),
        _ => assert_eq!(gets, 1, "{set}: asked once per connection"),
    }
    assert_eq!(case.status().skipped.count, 0, "{set}: {:?}", case.status().skipped);
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_cell_ends_with_a_working_call() {
    let mut running = JoinSet::new();
    for set in CELLS.into_iter().chain(["reply=sse-notification"]) {
        if running.len() == 4 {
            running.join_next().await.unwrap().unwrap();
        }
        running.spawn(cell(set));
    }
    running.join_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn event_without_its_blank_line_is_a_dropped_stream() {
    let case = Case::http("b13", &["reply=sse-unfinished"]);
    case.connect().await.unwrap();
    let refused = case.call("echo", r#"{"s":"half"}"#).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::OutcomeUnknown, "{refused}");
    assert!(refused.to_string().contains("stream ended before the answer"), "{refused}");
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sse_server_is_found_behind_a_refused_post_and_remembered() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    let running = fake_http(&sandbox, "b13", &["post=sse-only"], &log);
    for start in 1..=2 {
        let server = limited(http("old", running.url()), 20);
        let name = server.name.clone();
        let mut setup = Setup::new(vec![server]);
        setup.state = Some(sandbox.home());
        let host = Host::new(setup);
        let said = result(host.call(call(&name, "echo", r#"{"s":"old wire"}"#)).await).unwrap();
        assert_eq!(text(&said), "old wire");
        assert_eq!(host.probe(&name).await.wire, Some(Wire::Sse));
        host.stop().await;
        let guesses = requests(&log, "POST").iter().filter(|path| *path == "/mcp").count();
        assert_eq!(guesses, 1, "start {start}: the wire was not remembered");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusal_or_outage_is_no_reason_to_look_for_an_older_endpoint() {
    for (set, said) in [("post=401", "401"), ("post=403", "403"), ("post=500", "500")] {
        let case = Case::http("b13", &[set]);
        let refused = case.connect().await.unwrap_err();
        assert!(refused.to_string().contains(said), "{set}: {refused}");
        assert!(requests(&case.log, "GET").is_empty(), "{set}: an endpoint was looked for");
        assert_eq!(requests(&case.log, "POST").len(), 1, "{set}");
        case.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redirect_on_the_same_origin_repeats_body_and_credentials() {
    let case = Case::http("b13", &["post=307"]);
    case.connect().await.unwrap();
    case.echo("moved").await;
    let entries = fake_log::read(&case.log);
    let moved: Vec<_> = entries
        .iter()
        .filter(|entry| entry.event == "request" && entry.data["path"] == "/mcp/")
        .filter(|entry| entry.data["method"] == "POST")
        .collect();
    assert!(!moved.is_empty());
    for entry in moved {
        assert_eq!(entry.data["headers"]["authorization"], "Bearer of-the-test");
        assert!(entry.data["body"].as_str().unwrap().starts_with('{'));
    }
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_redirects_are_errors_that_name_themselves() {
    for (set, status) in [
        ("post=301", "(301)"),
        ("post=302", "(302)"),
        ("post=303", "(303)"),
        ("post=308-foreign", "(308)"),
    ] {
        let case = Case::http("b13", &[set]);
        let refused = case.connect().await.unwrap_err().to_string();
        assert!(refused.contains("redirects") && refused.contains(status), "{set}: {refused}");
        // The other origin logs whatever reaches it as a failed check.
        fake_log::assert_checks(&case.log, &[]);
        case.end().await;
    }
}
