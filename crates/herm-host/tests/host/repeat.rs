//! A call whose server died in it: done twice only where that does no harm.

use std::time::Duration;

use herm_core::config::{Server, Trust};
use herm_host::Kind;
use herm_testkit::fake_log;

use crate::support::{Case, came, text};

fn quick(server: &mut Server) {
    server.supervision.backoff_initial = Duration::from_millis(50);
}

fn mark(case: &Case) -> String {
    serde_json::json!({ "mark": case.sandbox.root().join("mark") }).to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_call_of_a_read_only_tool_is_sent_once_more_on_a_new_session() {
    let case = Case::with("calls", quick, |_| {});
    case.connect().await.unwrap();
    let answer = case.call("once_safe", &mark(&case)).await.unwrap();
    assert_eq!(text(&answer), "twice");
    assert_eq!(came(&case.log, "tools/call"), 2);
    assert_eq!(fake_log::spawns(&case.log), 2);
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_call_of_any_other_tool_is_not_done_twice() {
    let case = Case::with("calls", quick, |_| {});
    case.connect().await.unwrap();
    let refused = case.call("once", &mark(&case)).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::OutcomeUnknown, "{refused}");
    assert_eq!(came(&case.log, "tools/call"), 1);
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_untrusted_server_s_word_repeats_nothing() {
    let untrusted = |server: &mut Server| {
        quick(server);
        server.trust = Trust::Untrusted;
    };
    let case = Case::with("calls", untrusted, |_| {});
    case.connect().await.unwrap();
    let refused = case.call("once_safe", &mark(&case)).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::OutcomeUnknown, "{refused}");
    assert_eq!(came(&case.log, "tools/call"), 1);
    case.end().await;
}
