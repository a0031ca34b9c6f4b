//! B14 Pages and notices.

use std::time::Duration;

use tokio::time::Instant;

use herm_host::Kind;
use herm_testkit::{fake_log, wait_until};

use crate::support::{Case, SOON, came};

/// The names `t1` to `tN`.
fn numbered(count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("t{number}")).collect()
}

fn listings(log: &std::path::Path) -> usize {
    came(log, "tools/list")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_is_read() {
    let case = Case::stdio("b14a");
    case.connect().await.unwrap();
    assert_eq!(case.tools(), numbered(6));
    case.call("t6", "{}").await.unwrap();
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cursors_without_end_end_within_the_limit_and_are_told_of() {
    for (script, tools, warning) in
        [("b14b", 2, "came twice"), ("b14c", 6, "came twice"), ("b14d", 100, "more than 50 pages")]
    {
        let case = Case::stdio(script);
        let started = Instant::now();
        case.connect().await.unwrap_or_else(|why| panic!("{script}: {why}"));
        assert!(started.elapsed() < Duration::from_secs(6), "{script}: {:?}", started.elapsed());
        let listing = case.listing();
        assert_eq!(case.tools().len(), tools, "{script}: {:?}", case.tools());
        assert_eq!(listing.known, tools, "{script}: a page that came twice was counted twice");
        assert!(
            listing.warnings.iter().any(|text| text.contains(warning)),
            "{script}: {:?}",
            listing.warnings
        );
        case.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_a_list_is_never_shown_as_whole() {
    for (script, why) in [("b14e", "cursor expired"), ("b14f", "the list (`list_timeout`) limit")] {
        let case = Case::stdio(script);
        let started = Instant::now();
        let refused = case.connect().await.unwrap_err();
        assert_eq!(refused.kind(), Kind::Unavailable, "{script}: {refused}");
        assert!(refused.to_string().contains(why), "{script}: {refused}");
        assert!(started.elapsed() < Duration::from_secs(7), "{script}: {:?}", started.elapsed());
        assert!(case.tools().is_empty(), "{script}: {:?}", case.tools());
        case.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_refresh_keeps_the_last_good_list() {
    let case = Case::stdio("b14j");
    case.connect().await.unwrap();
    case.call("t1", "{}").await.unwrap();
    // The first listing, and the refresh twice: the second page of each is an error.
    case.seen("the refresh was tried twice", listings, 5);
    case.call("t2", "{}").await.unwrap();
    assert_eq!(case.tools(), numbered(2));
    assert_eq!(fake_log::spawns(&case.log), 1);
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn storm_of_notices_is_two_refreshes_at_most() {
    let case = Case::stdio("b14g");
    case.connect().await.unwrap();
    assert_eq!(case.tools(), numbered(2));
    case.call("t1", "{}").await.unwrap();
    wait_until(SOON, "the last list is there", || (case.tools().len() == 4).then_some(()));
    case.call("t4", "{}").await.unwrap();
    let listings = listings(&case.log);
    assert!(listings <= 3, "{listings} listings");
    assert_eq!(case.tools(), numbered(4));
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notices_before_and_during_the_first_listing_lose_no_tool() {
    let case = Case::stdio("b14h");
    case.connect().await.unwrap();
    wait_until(SOON, "the last list is there", || (case.tools() == numbered(4)).then_some(()));
    case.call("t4", "{}").await.unwrap();
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn running_call_is_not_disturbed_and_a_removed_tool_is_refused() {
    let case = Case::stdio("b14i");
    case.connect().await.unwrap();
    case.call("t1", "{}").await.unwrap();
    wait_until(SOON, "the list is refreshed", || (case.tools() == numbered(1)).then_some(()));
    let refused = case.call("t2", "{}").await.unwrap_err();
    assert_eq!(refused.kind(), Kind::NotFound, "{refused}");
    assert_eq!(refused.to_string(), "no tool is called `case.t2`");
    assert_eq!(came(&case.log, "tools/call"), 1, "the removed tool was called");
    assert_eq!(fake_log::spawns(&case.log), 1);
    case.end().await;
}
