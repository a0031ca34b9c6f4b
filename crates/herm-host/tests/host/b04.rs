//! B04 Six blips, then a long outage.

use std::time::Duration;

use herm_host::{Refusal, State};
use herm_testkit::fake_log;
use tokio::time::{Instant, sleep};

use crate::support::{Case, scaled};

const PASS: Duration = Duration::from_millis(50);

/// Calls until one is answered; gives how long that took, and the failed calls with their time.
async fn until_it_answers(case: &Case) -> (Duration, Vec<(Duration, Refusal)>) {
    let started = Instant::now();
    let mut failed = Vec::new();
    loop {
        let one = Instant::now();
        match case.call("echo", r#"{"s":"there"}"#).await {
            Ok(_) => return (started.elapsed(), failed),
            Err(why) => failed.push((one.elapsed(), why)),
        }
        assert!(started.elapsed() < Duration::from_secs(30), "{:?}", failed.last());
        sleep(PASS).await;
    }
}

/// When the fake came up last, on the machine's clock.
fn last(case: &Case, event: &str) -> f64 {
    let is = |entry: &fake_log::Entry| entry.event == "check" && entry.data["name"] == event;
    fake_log::read(&case.log).into_iter().rfind(is).expect("it was logged").ms
}

async fn drive(case: &Case) {
    for blip in 1..=6 {
        // The call is answered, and all is reset behind it.
        let (took, failed) = until_it_answers(case).await;
        assert!(took < Duration::from_secs(4), "blip {blip} lasted {took:?}: {failed:?}");
        // The breaker and back-off of one blip are none of the next one's.
        if let Some((_, first)) = failed.first() {
            assert!(
                !matches!(first, Refusal::BreakerOpen { .. } | Refusal::NotNow { .. }),
                "{first}"
            );
        }
        sleep(PASS).await;
    }
    until_it_answers(case).await;
    sleep(PASS).await;
    let (took, failed) = until_it_answers(case).await;
    assert!(took > Duration::from_secs(7), "the outage lasted {took:?}");
    let open = failed.iter().position(|(_, why)| matches!(why, Refusal::BreakerOpen { .. }));
    let open = open.expect("the breaker opens");
    for (took, why) in &failed[open..] {
        assert!(took.as_millis() < 1000, "{took:?}: {why}");
        assert!(why.to_string().contains("'case'"), "{why}");
        // The one call that is let through to see is told what it met.
        let seen = matches!(why, Refusal::Unavailable { .. });
        assert!(seen || why.retry_after().is_some(), "{why}");
    }
    let called = fake_log::read(&case.log).into_iter().rfind(|entry| {
        entry.event == "request"
            && entry.data["body"].as_str().unwrap_or_default().contains("there")
    });
    let after = called.unwrap().ms - last(case, "up");
    assert!(after < 5300.0, "the call worked only {after} ms after the return");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blips_do_not_add_up_and_an_outage_ends_by_itself() {
    let case = Case::http_with("b04", &[], scaled);
    case.connect().await.unwrap();
    Box::pin(case.beside(drive(&case))).await;
    assert_eq!(case.status().state, State::Ready);
    assert_eq!(case.tools(), ["echo"]);
    case.end().await;
}
