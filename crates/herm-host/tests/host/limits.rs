//! Bounds and deadlines of calls, and what becomes of a server that dies.

use std::path::Path;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use herm_core::config::Server;
use herm_host::{Cause, Deadline, Host, Kind, LinkError, Refusal, Request, Setup, State, Target};
use herm_testkit::fake_log;
use serde_json::Value;

use crate::support::{Case, call, came, child, gone, incoming, limited, result, text};

fn seconds(idle: u64, absolute: u64) -> impl FnOnce(&mut Server) {
    move |server| {
        server.limits.call_idle = Duration::from_secs(idle);
        server.limits.call_absolute = Duration::from_secs(absolute);
    }
}

fn calls(log: &Path) -> usize {
    came(log, "tools/call")
}

fn cancelled(log: &Path) -> usize {
    came(log, "notifications/cancelled")
}

/// The ids of the calls of a tool, and the ids that were cancelled.
fn ids(log: &Path, tool: &str) -> (Vec<Value>, Vec<Value>) {
    let parse = |text: &String| serde_json::from_str::<Value>(text).unwrap();
    let called = incoming(log, "tools/call").iter().map(parse).collect::<Vec<_>>();
    let called =
        called.iter().filter(|m| m["params"]["name"] == tool).map(|m| m["id"].clone()).collect();
    let cancelled = incoming(log, "notifications/cancelled");
    (called, cancelled.iter().map(|m| parse(m)["params"]["requestId"].clone()).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn seventeenth_call_waits_for_a_place() {
    let case = Case::with("calls", |server| server.limits.concurrent_calls = 16, |_| {});
    case.connect().await.unwrap();
    let all = join_all((0..17).map(|_| case.call("wait", r#"{"ms":"500"}"#))).await;
    assert!(all.iter().all(Result::is_ok), "{all:?}");
    let entries = fake_log::read(&case.log);
    let place = |event: &str, part: &str, number: usize| {
        let found = entries.iter().enumerate().filter(|(_, entry)| {
            entry.event == event && entry.data["text"].as_str().is_some_and(|t| t.contains(part))
        });
        found.map(|(at, _)| at).nth(number - 1).unwrap()
    };
    let first_answer = place("out", "waited", 1);
    assert!(place("in", "tools/call", 16) < first_answer, "sixteen did not run at once");
    assert!(place("in", "tools/call", 17) > first_answer, "the seventeenth did not wait");
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn full_queue_is_busy_at_once() {
    let change = |server: &mut Server| {
        server.limits.concurrent_calls = 1;
        server.limits.queue = Duration::from_secs(2);
    };
    let case = Case::with("calls", change, |_| {});
    case.connect().await.unwrap();
    let all = join_all((0..258).map(|_| case.call("silent", "{}"))).await;
    let count =
        |is: fn(&Refusal) -> bool| all.iter().filter(|one| one.as_ref().is_err_and(is)).count();
    let queue = |why: &Refusal| matches!(why, Refusal::TimedOut { deadline: Deadline::Queue, .. });
    let idle =
        |why: &Refusal| matches!(why, Refusal::TimedOut { deadline: Deadline::CallIdle, .. });
    let busy = |why: &Refusal| matches!(why, Refusal::Busy { running: 1, queued: 256, .. });
    assert_eq!((count(busy), count(queue), count(idle)), (1, 256, 1));
    assert_eq!(calls(&case.log), 1, "a queued call was sent");
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_call_is_cancelled_once_with_its_id() {
    let case = Case::stdio("calls");
    case.connect().await.unwrap();
    {
        let arrived = async {
            while calls(&case.log) == 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            ended = case.call("silent", "{}") => panic!("{ended:?}"),
            () = arrived => {}
        }
    }
    case.seen("the cancel arrived", cancelled, 1);
    case.echo("later").await;
    let (called, cancelled) = ids(&case.log, "silent");
    assert_eq!(called, cancelled);
    assert_eq!(called.len(), 1);
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn call_dropped_before_it_was_sent_runs_no_further() {
    let case = Case::stdio("calls");
    case.connect().await.unwrap();
    for round in 0..100 {
        assert!(case.call("silent", "{}").now_or_never().is_none());
        if round % 10 == 0 {
            case.echo("between").await;
        }
    }
    case.echo("last").await;
    // Cancels go by the same way, so the last answer is behind them; the bell may ring later.
    case.seen(
        "all are cancelled",
        |log| usize::from(ids(log, "silent").0.len() == ids(log, "silent").1.len()),
        1,
    );
    let (called, cancelled) = ids(&case.log, "silent");
    assert_eq!(called, cancelled);
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_call_beside_a_chatty_one_times_out_alone() {
    let case = Case::with("calls", seconds(1, 10), |_| {});
    case.connect().await.unwrap();
    let (sender, mut progress) = tokio::sync::mpsc::channel(64);
    let mut chatty = call(&case.name, "chatty", r#"{"count":"12"}"#);
    chatty.progress = Some(sender);
    let (chatty, silent) = tokio::join!(case.host.call(chatty), case.call("silent", "{}"));
    assert_eq!(text(&result(chatty).unwrap()), "talked");
    let silent = silent.unwrap_err();
    assert!(matches!(silent, Refusal::TimedOut { deadline: Deadline::CallIdle, .. }), "{silent}");
    assert!(progress.recv().await.unwrap().params.get().contains("progressToken"));
    let (called, cancelled) = ids(&case.log, "silent");
    assert_eq!(called, cancelled);
    let status = case.status();
    assert_eq!((status.state, status.generation), (State::Ready, 1));
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_of_a_token_that_is_not_ours_is_no_life() {
    let case = Case::with("calls", seconds(1, 10), |_| {});
    case.connect().await.unwrap();
    for token in ["next", "text"] {
        let arguments = format!(r#"{{"count":"1000000","token":"{token}"}}"#);
        let refused = case.call("chatty", &arguments).await.unwrap_err();
        assert!(refused.to_string().contains("within 1 s: the call idle"), "{token}: {refused}");
    }
    case.echo("later").await;
    assert_eq!(fake_log::spawns(&case.log), 1);
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exposed_name_starts_its_server_on_the_first_call() {
    let case = Case::stdio("calls");
    let target = |name: &str| Request::new(Target::Exposed(name.to_owned()));
    let refused = case.host.call(target("mcp__nowhere__echo")).await.unwrap_err();
    assert_eq!((refused.kind(), fake_log::spawns(&case.log)), (Kind::NotFound, 0), "{refused}");
    result(case.host.call(target("mcp__case__echo")).await).unwrap();
    let refused = case.host.call(target("mcp__case__ecko")).await.unwrap_err();
    assert!(refused.hint().unwrap().contains("`mcp__case__echo`"), "{:?}", refused.hint());
    assert_eq!(fake_log::spawns(&case.log), 1);
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_progress_ends_at_the_absolute_limit() {
    let case = Case::with("calls", seconds(1, 3), |_| {});
    case.connect().await.unwrap();
    let refused = case.call("chatty", r#"{"count":"1000000"}"#).await.unwrap_err();
    assert!(refused.to_string().contains("within 3 s: the call absolute"), "{refused}");
    case.seen("the cancel arrived", cancelled, 1);
    // Progress and a result that come after the end belong to nobody.
    case.echo("later").await;
    let (called, cancelled) = ids(&case.log, "chatty");
    assert_eq!(called, cancelled);
    assert_eq!(fake_log::spawns(&case.log), 1);
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn death_in_a_call_is_told_with_its_reason_and_healed_by_the_next() {
    let quick = |server: &mut Server| {
        server.supervision.backoff_initial = Duration::from_millis(50);
        server.supervision.park_after = 9;
    };
    let case = Case::with("calls", quick, |_| {});
    case.connect().await.unwrap();
    for deaths in 1..=3 {
        let refused = case.call("die7", "{}").await.unwrap_err();
        assert_eq!(refused.kind(), Kind::OutcomeUnknown, "{refused}");
        assert!(refused.to_string().contains("exit code 7"), "{refused}");
        let Refusal::OutcomeUnknown {
            cause: Cause::Link(LinkError::Exited { stderr, .. }), ..
        } = &refused
        else {
            panic!("{refused:?}");
        };
        assert_eq!(stderr.lines().last(), Some("db locked"));
        // At once: the old one may still be on its way out.
        case.echo("next").await;
        assert_eq!(fake_log::spawns(&case.log), 1 + deaths);
    }
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_first_calls_start_one_server() {
    let case = Case::stdio("calls");
    join_all((0..8).map(|_| case.echo("first"))).await;
    assert_eq!(fake_log::spawns(&case.log), 1);
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn safe_mode_and_disabled_start_nothing() {
    let sandbox = herm_testkit::Sandbox::new();
    let log = sandbox.root().join("log");
    let server = limited(child("off", &herm_testkit::fake("good", &log)), 5);
    let name = server.name.clone();
    let mut disabled = server.clone();
    disabled.enabled = false;
    for (server, safe_mode, said) in
        [(server, true, "safe mode is on"), (disabled, false, "is disabled")]
    {
        let mut setup = Setup::new(vec![server]);
        setup.safe_mode = safe_mode;
        let host = Host::new(setup);
        let refused = host.call(call(&name, "echo", "{}")).await.unwrap_err();
        assert_eq!(refused.kind(), Kind::Refused, "{refused}");
        assert!(refused.to_string().contains(said), "{refused}");
        let connected = host.connect(std::slice::from_ref(&name)).await.remove(0).1;
        assert!(connected.unwrap_err().to_string().contains(said));
        if safe_mode {
            assert!(host.probe(&name).await.failed.is_some());
        }
        host.stop().await;
        assert_eq!(fake_log::spawns(&log), 0, "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hosts_side_by_side_do_not_touch_each_other() {
    let (one, other) = (Case::stdio("calls"), Case::stdio("calls"));
    one.connect().await.unwrap();
    other.connect().await.unwrap();
    let (waits, silent) =
        tokio::join!(one.call("wait", r#"{"ms":"300"}"#), other.call("wait", r#"{"ms":"300"}"#));
    assert!(waits.is_ok() && silent.is_ok());
    one.end().await;
    other.echo("goes on").await;
    other.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_host_leaves_no_process() {
    let case = Case::stdio("calls");
    case.connect().await.unwrap();
    let Case { host, log, sandbox, .. } = case;
    drop(host);
    let marker = log.to_string_lossy().into_owned();
    herm_testkit::wait_until(crate::support::SOON, "the child is gone", || {
        herm_testkit::processes_with(&marker).is_empty().then_some(())
    });
    gone(&marker);
    drop(sandbox);
}

/// `--timeout 2` came back after the sixty seconds of the start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_of_the_callers_own_includes_the_start() {
    let case = Case::stdio("b01-mute");
    let mut request = call(&case.name, "echo", "{}");
    request.deadline = Some(Duration::from_millis(300));
    match case.host.call(request).await {
        Err(why @ Refusal::TimedOut { deadline: Deadline::CallAbsolute, .. }) => {
            assert_eq!(why.kind(), Kind::Timeout);
        }
        other => panic!("{other:?}"),
    }
    case.end().await;
}
