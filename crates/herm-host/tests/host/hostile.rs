//! The 57 ways of `herm-hostile`: each ends with an answer, or an error with its reason, within the
//! deadline, and nothing is left running.

use std::time::Duration;

use herm_host::{Host, Kind, Setup};
use herm_testkit::{binary, processes_with, wait_until};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::support::{call, limited, result, stdio};

const LIMIT: u64 = 3;

/// What a mode must end as: a part of the answer, or a kind of failure with a part of its text.
#[derive(Debug)]
enum Ends {
    /// The call's result holds this.
    Answer(&'static str),
    /// The call is refused.
    Call(Kind, &'static str),
    /// The server cannot be used at all.
    Connect(&'static str),
}

fn expected(mode: &str) -> Ends {
    use Ends::{Answer, Call, Connect};
    match mode {
        "never-init" => Connect("no answer to `initialize` within 3 s"),
        "version-from-future" => Connect("the server speaks 2099-01-01"),
        // Refused with a list of older versions: asked again with the newest of them, refused again.
        "legacy-only-init-error" => Connect("Unsupported protocol version"),
        "pretty-printed" => Call(Kind::Protocol, "JSON over several lines"),
        "big-50mb" => Call(Kind::Protocol, "16777216 bytes"),
        "never-reply" | "late-reply" => Call(Kind::Timeout, "within 3 s: the call idle"),
        "die-on-call" | "die-mid-line" => Call(Kind::OutcomeUnknown, "exit code 3"),
        "close-stdout-stay-alive" => Call(Kind::OutcomeUnknown, "closed its output"),
        "null-id-error" => Call(Kind::Protocol, "Parse error"),
        "result-and-error" => Call(Kind::Protocol, "x (1)"),
        "result-null" => Call(Kind::Protocol, "no JSON object: null"),
        "result-string" => Call(Kind::Protocol, "no JSON object: \"done\""),
        "error-string-code" => Call(Kind::Protocol, "x"),
        "error-without-message" => Call(Kind::Protocol, "-32000"),
        "stdin-not-read" => Connect("tools/list"),
        "invalid-utf8-in-text" => Answer("caf\u{fffd} (latin-1)"),
        "big-15mb" => Answer("xxxx"),
        "deep-nesting" => Answer("[[[[[["),
        "big-number" => Answer("12345678901234567890123"),
        "huge-exponent" => Answer("1e400"),
        "lone-surrogate" => Answer("cut in the middle of an emoji"),
        "unknown-content-type" => Answer(r#"{"type":"video","uri":"x:1"}"#),
        "extra-fields" => Answer(r#""vendorTop":{"a":1},"_meta":{"v/k":1}"#),
        _ => Answer(r#"{"content":[{"type":"text","text":"ok"}]}"#),
    }
}

/// Runs one mode; gives what was wrong with how it ended.
async fn run(mode: String, marker: String) -> Option<String> {
    let program = binary("herm-hostile");
    let command = [program.to_str().unwrap(), &mode, &marker];
    let server = limited(stdio("hostile", &command), LIMIT);
    let name = server.name.clone();
    let host = Host::new(Setup::new(vec![server]));
    let started = Instant::now();
    let connected = host.connect(std::slice::from_ref(&name)).await.remove(0).1;
    let tools = host.catalogue().tools().count();
    let called = match &connected {
        Ok(()) => Some(result(host.call(call(&name, "echo_0", r#"{"message":"hi"}"#)).await)),
        Err(_) => None,
    };
    let took = started.elapsed();
    host.stop().await;
    let wanted = expected(&mode);
    let right = match (&wanted, &connected, &called) {
        (Ends::Connect(part), Err(why), None) => why.to_string().contains(part),
        (Ends::Answer(part), Ok(()), Some(Ok(result))) => result.contains(part),
        (Ends::Call(kind, part), Ok(()), Some(Err(why))) => {
            why.kind() == *kind && why.to_string().contains(part)
        }
        _ => false,
    };
    let listed = match mode.as_str() {
        "bad-tool-in-list" | "bool-schema" | "no-schema" | "null-description" => 2,
        _ => 1,
    };
    let short = |text: String| text.chars().take(300).collect::<String>();
    if !right {
        let called = called.map(|called| called.map(short));
        return Some(format!("{mode}: wanted {wanted:?}, met {connected:?}, {called:?}"));
    }
    if connected.is_ok() && tools != listed {
        return Some(format!("{mode}: {tools} tools are offered, {listed} are good"));
    }
    (took > Duration::from_secs(3 * LIMIT)).then(|| format!("{mode}: took {took:?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_hostile_mode_ends_with_an_answer_or_a_reason() {
    let marker = format!("herm-hostile-test-{}", std::process::id());
    let mut wrong = Vec::new();
    let mut running = JoinSet::new();
    let modes = include_str!("hostile-modes.txt");
    assert_eq!(modes.lines().count(), 57);
    for mode in modes.lines() {
        if running.len() == 8 {
            wrong.extend(running.join_next().await.unwrap().unwrap());
        }
        running.spawn(run(mode.to_owned(), marker.clone()));
    }
    wrong.extend(running.join_all().await.into_iter().flatten());
    assert!(wrong.is_empty(), "{} modes end wrong:\n{}", wrong.len(), wrong.join("\n"));
    wait_until(Duration::from_secs(5), "no hostile server is left", || {
        processes_with(&marker).is_empty().then_some(())
    });
}
