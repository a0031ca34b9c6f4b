//! What is said, and which kind it is.

use std::time::Duration;

use herm_core::name::ServerName;

use super::{Cause, Deadline, Kind, Phase, Refusal, seconds};
use crate::status::State;
use crate::transport::LinkError;

fn server() -> ServerName {
    "x".parse().unwrap()
}

fn spawn(error: LinkError) -> Refusal {
    Refusal::Unavailable {
        server: server(),
        phase: Phase::Spawn,
        cause: Cause::Link(error),
        retry_after: None,
    }
}

fn told(refusal: &Refusal) -> String {
    format!("{}\n{}", refusal.brief(), refusal.hint().unwrap_or_default())
}

fn not_found(command: &str, path: &str) -> String {
    told(&spawn(LinkError::NotFound { command: command.to_owned(), path: path.to_owned() }))
}

#[test]
fn a_missing_program_is_told_by_how_it_was_named() {
    insta::assert_snapshot!(not_found("nowhere", "/usr/bin:/bin"), @r"
    `nowhere` was not found; PATH searched: /usr/bin:/bin (spawn)
    install `nowhere`, or give its full path in `command`
    ");
    insta::assert_snapshot!(not_found("npx -y @acme/foo", "/w/npx -y @acme/foo"), @r"
    `npx -y @acme/foo` was not found: there is no `/w/npx -y @acme/foo` (spawn)
    arguments belong in `args`: `command: npx`, `args: [...]`
    ");
    insta::assert_snapshot!(not_found("/opt/server", "/opt/server"), @r"
    `/opt/server` was not found (spawn)
    correct `command`
    ");
    insta::assert_snapshot!(not_found("./server", "/w/./server"), @r"
    `./server` was not found: there is no `/w/./server` (spawn)
    correct `command`
    ");
    let folder = spawn(LinkError::Directory { path: "/opt".to_owned() });
    insta::assert_snapshot!(told(&folder), @r"
    `/opt` is a directory, no program (spawn)
    name a program in `command`, not a folder
    ");
}

#[test]
fn a_page_where_an_endpoint_should_be_is_told_by_its_title() {
    let http = |status, body: &str| {
        told(&spawn(LinkError::Http {
            status,
            body: body.to_owned(),
            rpc: false,
            challenges: Vec::new(),
            retry_after: None,
        }))
    };
    let page = "<!doctype html> <html><head><title>Oops</title></head><body><p>Gone</p>";
    insta::assert_snapshot!(http(500, page), @r#"
    HTTP 500: an HTML page, titled "Oops" (spawn)
    see that `url` is the server's MCP endpoint
    "#);
    insta::assert_snapshot!(http(503, "later"), @r"
    HTTP 503: later (spawn)
    the server is in trouble: look at its own log
    ");
}

#[test]
fn a_hint_after_a_test_does_not_name_the_test() {
    let refusals = [
        spawn(LinkError::Dropped),
        Refusal::NotNow {
            server: server(),
            state: State::Parked,
            failures: 2,
            retry_after: Some(Duration::from_secs(9)),
            why: Some(Box::new(spawn(LinkError::Dropped))),
        },
        Refusal::BreakerOpen { server: server(), failures: 3, retry_after: Duration::from_secs(9) },
    ];
    for refusal in refusals {
        assert!(refusal.hint().unwrap().contains("`herm test x`"), "{refusal:?}");
        let after = refusal.hint_after_test().unwrap();
        assert!(after.contains("`herm logs x`") && !after.contains("herm test"), "{after}");
    }
}

#[test]
fn a_login_that_is_wanted_is_one_also_while_nothing_is_tried() {
    let why = Refusal::LoginNeeded { server: server(), status: 401, body: String::new() };
    let parked = Refusal::NotNow {
        server: server(),
        state: State::Parked,
        failures: 1,
        retry_after: None,
        why: Some(Box::new(why)),
    };
    assert_eq!(parked.kind(), Kind::LoginNeeded);
}

#[test]
fn no_time_is_shown_as_nothing() {
    let cells = [
        (Duration::from_micros(100), "under 1 ms"),
        (Duration::from_millis(1), "1 ms"),
        (Duration::from_millis(99), "99 ms"),
        (Duration::from_millis(100), "0.1 s"),
        (Duration::from_millis(2_500), "2.5 s"),
        (Duration::from_secs(60), "60 s"),
        (Duration::ZERO, "0 s"),
    ];
    for (time, shown) in cells {
        assert_eq!(seconds(time), shown, "{time:?}");
    }
    let late = Refusal::TimedOut {
        server: server(),
        deadline: Deadline::CallAbsolute,
        after: Duration::from_millis(1),
    };
    assert!(late.to_string().contains("did not answer within 1 ms: "), "{late}");
}
