//! B06 Handshake, then a black hole.

use std::time::Duration;

use herm_host::{BreakerState, State};
use herm_testkit::fake_log;
use tokio::time::{Instant, sleep};

use crate::support::{Case, came, scaled};

/// Three seconds to connect, three to list, a back-off and a second.
const REPLACED: Duration = Duration::from_millis(7500);

/// Calls one after the other until the third generation answers. Gives the texts of failures and
/// reasons met on the way.
async fn through_the_hole(case: &Case, openings: usize) -> Vec<String> {
    let begin = Instant::now();
    let mut said = Vec::new();
    loop {
        let started = Instant::now();
        let answer = case.call("echo", r#"{"s":"there"}"#).await;
        let took = started.elapsed();
        assert!(took < Duration::from_secs(6), "a call took {took:?}: {answer:?}");
        match answer {
            Ok(_) if came(&case.log, "initialize") >= openings => break,
            Ok(_) => {}
            Err(why) => said.push(why.to_string()),
        }
        said.extend(case.status().reason.map(|reason| reason.text));
        assert!(begin.elapsed() < REPLACED, "still in the hole: {said:?}");
        sleep(Duration::from_millis(20)).await;
    }
    said
}

async fn ends(case: &Case, said: &[String]) {
    assert!(said.iter().any(|text| text.contains("tools/list")), "{said:?}");
    let status = case.status();
    assert_eq!((status.state, status.breaker), (State::Ready, BreakerState::Closed), "{status:?}");
    assert_eq!(status.generation, 3);
    for number in 0..3 {
        case.echo(&number.to_string()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_that_never_comes_costs_one_rebuild() {
    let case = Case::with("b06", scaled, |_| {});
    case.echo("last words").await;
    let said = Box::pin(case.beside(through_the_hole(&case, 3))).await;
    ends(&case, &said).await;
    assert_eq!(fake_log::spawns(&case.log), 3);
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stream_that_only_flows_is_no_list() {
    let case = Case::http_with("b06", &[], scaled);
    case.echo("last words").await;
    let said = Box::pin(case.beside(through_the_hole(&case, 3))).await;
    ends(&case, &said).await;
    assert_eq!(came(&case.log, "initialize"), 3);
    case.end().await;
}
