//! An MCP stdio server that misbehaves in one chosen way: `herm-hostile MODE`.
//!
//! `herm-hostile --list` prints the modes. Everything that it does is bounded: no mode lives longer
//! than 25 s or writes more than 200 MB. It reads and writes JSON by hand, so that no library
//! repairs what it is to break.

mod call;
mod open;
mod request;

use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::time::Duration;

use request::Request;

const MODES: &[&str] = &[
    "honest",
    "garbage-before-init",
    "garbage-before-reply",
    "banner-without-newline",
    "invalid-utf8-line",
    "invalid-utf8-in-text",
    "bom",
    "crlf",
    "pretty-printed",
    "two-messages-one-line",
    "big-15mb",
    "big-50mb",
    "endless-line-200mb",
    "never-init",
    "never-reply",
    "late-reply",
    "die-on-call",
    "die-mid-line",
    "close-stdout-stay-alive",
    "notify-before-init",
    "request-before-init",
    "ping-before-init",
    "dup-reply",
    "unknown-id-first",
    "string-id",
    "float-id",
    "null-id-error",
    "result-and-error",
    "no-jsonrpc",
    "wrong-jsonrpc",
    "batch",
    "dup-keys",
    "deep-nesting",
    "big-number",
    "huge-exponent",
    "lone-surrogate",
    "unknown-content-type",
    "extra-fields",
    "result-null",
    "result-string",
    "error-string-code",
    "error-without-message",
    "bad-tool-in-list",
    "bool-schema",
    "no-schema",
    "null-description",
    "cursor-loop",
    "empty-cursor",
    "json-log-lines",
    "notification-flood",
    "request-flood",
    "progress-order",
    "stdin-not-read",
    "stubborn-child",
    "legacy-only-init-error",
    "version-from-future",
    "version-old",
];

/// What the program does after an answer.
enum Then {
    GoOn,
    Exit(u8),
}

fn main() -> ExitCode {
    let mode = std::env::args().nth(1).unwrap_or_else(|| "honest".to_owned());
    if mode == "--list" {
        line(&MODES.join("\n"));
        return ExitCode::SUCCESS;
    }
    if !MODES.contains(&mode.as_str()) {
        tell(&format!("herm-hostile: no mode `{mode}`; `--list` prints them"));
        return ExitCode::from(2);
    }
    if mode == "stubborn-child" {
        start_stubborn_child();
    }
    for text in std::io::stdin().lock().lines() {
        let Ok(text) = text else { break };
        let shown: String = text.chars().take(300).collect();
        tell(&format!("<- {shown}"));
        let Some(request) = Request::read(&text) else { continue };
        if let Then::Exit(code) = answer(&mode, &request) {
            return ExitCode::from(code);
        }
    }
    ExitCode::SUCCESS
}

fn answer(mode: &str, request: &Request<'_>) -> Then {
    match request.method {
        "initialize" => {
            open::initialize(mode, request.id);
            if mode == "stdin-not-read" {
                wait(Duration::from_secs(25));
                return Then::Exit(0);
            }
        }
        "tools/list" => open::list(mode, request.id),
        "tools/call" => return call::answer(mode, request),
        "ping" => reply(request.id, "{}"),
        "" => {}
        _ => error(request.id, r#"{"code":-32601,"message":"Method not found"}"#),
    }
    Then::GoOn
}

/// A grandchild that outlives everything it can, like a server under a package runner.
#[expect(clippy::disallowed_methods, reason = "the stray process is what this mode is about")]
fn start_stubborn_child() {
    let child = std::process::Command::new("sh")
        .args(["-c", "trap '' TERM HUP INT; sleep 25"])
        .stdin(std::process::Stdio::null())
        .spawn();
    drop(child);
}

#[expect(clippy::disallowed_methods, reason = "one thread, which is meant to block")]
fn wait(time: Duration) {
    std::thread::sleep(time);
}

/// Writes bytes as they are. A client that has gone away is no reason to fail.
fn out(bytes: &[u8]) {
    let mut stdout = std::io::stdout().lock();
    drop(stdout.write_all(bytes).and_then(|()| stdout.flush()));
}

fn line(text: &str) {
    out(format!("{text}\n").as_bytes());
}

fn tell(text: &str) {
    drop(writeln!(std::io::stderr().lock(), "{text}"));
}

fn reply(id: &str, result: &str) {
    line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
}

fn error(id: &str, error: &str) {
    line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#));
}
