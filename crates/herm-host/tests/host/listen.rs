//! Change notices of stateless servers: one subscription a session, and nothing is missed.

use std::time::Duration;

use herm_host::State;
use herm_testkit::{fake_log, wait_until};
use tokio::time::Instant;

use crate::support::{Case, SOON, came, incoming};

const ASKED: &str = "subscriptions/listen";

fn cases() -> [Case; 2] {
    [Case::stdio("listen"), Case::http("listen", &[])]
}

async fn tell(case: &Case, what: &str) {
    case.call("t1", &format!(r#"{{"s":"{what}"}}"#)).await.unwrap();
}

fn has_tools(case: &Case, count: usize) {
    wait_until(SOON, "the new list", || (case.tools().len() == count).then_some(()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn change_that_is_told_on_a_subscription_is_in_the_list() {
    for case in cases() {
        case.connect().await.unwrap();
        assert_eq!(case.tools(), ["t1"]);
        assert_eq!(came(&case.log, ASKED), 1);
        let asked = incoming(&case.log, ASKED).remove(0);
        assert!(asked.contains(r#""notifications":{"toolsListChanged":true}"#), "{asked}");
        for tools in 2..=3 {
            tell(&case, "grow").await;
            has_tools(&case, tools);
        }
        assert_eq!(came(&case.log, ASKED), 1, "the subscription stands");
        let lists = came(&case.log, "tools/list");
        assert!(lists <= 4, "{lists} lists for two changes");
        case.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn change_between_two_subscriptions_is_not_missed() {
    let ends = [
        (Case::stdio("listen"), "end"),
        (Case::stdio("listen"), "cancel"),
        (Case::http("listen", &[]), "end"),
        (Case::http("listen", &[]), "cut"),
    ];
    for (case, end) in ends {
        case.connect().await.unwrap();
        tell(&case, end).await;
        has_tools(&case, 2);
        assert_eq!(came(&case.log, ASKED), 2, "{end}");
        tell(&case, "grow").await;
        has_tools(&case, 3);
        let status = case.status();
        assert_eq!((status.state, status.generation), (State::Ready, 1), "{end}: {status:?}");
        assert_eq!(status.counters.losses, 0, "{end}");
        case.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_that_knows_no_subscription_is_asked_once_a_session() {
    let case = Case::stdio("listen-refused");
    case.connect().await.unwrap();
    let started = Instant::now();
    // Longer than the delay before a second time.
    while started.elapsed() < Duration::from_millis(2500) {
        tell(&case, "nothing").await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(came(&case.log, ASKED), 1);
    case.host.restart(&case.name).await.unwrap();
    assert_eq!(came(&case.log, ASKED), 2);
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn standing_subscription_stops_neither_probes_nor_recycling() {
    let case = Case::with(
        "listen",
        |server| {
            server.upkeep.keepalive = Duration::from_millis(200);
            server.upkeep.idle = Some(Duration::from_secs(2));
        },
        |_| {},
    );
    case.connect().await.unwrap();
    case.seen("it is probed", |log| came(log, "server/discover"), 3);
    wait_until(SOON, "it is put to rest", || (case.status().state == State::Idle).then_some(()));
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscription_is_cancelled_on_leaving() {
    let case = Case::stdio("listen");
    case.connect().await.unwrap();
    case.host.restart(&case.name).await.unwrap();
    let cancelled = incoming(&case.log, "notifications/cancelled");
    assert_eq!(cancelled.len(), 1, "{cancelled:?}");
    let id = |text: &str, key: &str| {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        value.pointer(key).cloned()
    };
    let asked = incoming(&case.log, ASKED).remove(0);
    assert_eq!(id(&cancelled[0], "/params/requestId"), id(&asked, "/id"));
    assert_eq!(fake_log::spawns(&case.log), 2);
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn host_of_one_call_asks_for_no_subscription() {
    let case = Case::with("listen", |_| {}, |setup| setup.keep = false);
    case.connect().await.unwrap();
    tell(&case, "hello").await;
    assert_eq!(came(&case.log, ASKED), 0);
    case.end().await;
}
