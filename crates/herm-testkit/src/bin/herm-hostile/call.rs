//! Misbehaviour in the answer to `tools/call`.

use std::time::Duration;

use super::request::Request;
use super::{Then, error, line, out, reply, wait};

const OK: &str = r#"{"content":[{"type":"text","text":"ok"}]}"#;

pub(crate) fn answer(mode: &str, request: &Request<'_>) -> Then {
    let id = request.id;
    match mode {
        "never-reply" => {}
        "die-on-call" => return Then::Exit(3),
        "die-mid-line" => {
            out(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":["#).as_bytes());
            return Then::Exit(3);
        }
        "close-stdout-stay-alive" => {
            close_stdout();
            wait(Duration::from_secs(20));
            return Then::Exit(0);
        }
        _ => {
            if !odd_bytes(mode, id) && !odd_envelope(mode, id) && !odd_result(mode, id) {
                before_answer(mode, request);
                reply(id, OK);
            }
        }
    }
    Then::GoOn
}

/// Puts nothing where the pipe was: the reader sees the end, and this process lives on.
fn close_stdout() {
    if let Ok(nowhere) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(&nowhere);
    }
}

/// Lines that are no line of JSON. False when the mode is about something else, as below.
fn odd_bytes(mode: &str, id: &str) -> bool {
    match mode {
        "invalid-utf8-in-text" => {
            let head = r#","result":{"content":[{"type":"text","text":"caf"#;
            let mut bytes = format!(r#"{{"jsonrpc":"2.0","id":{id}{head}"#).into_bytes();
            bytes.extend_from_slice(b"\xe9 (latin-1)\"}]}}\n");
            out(&bytes);
        }
        "crlf" => {
            out(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{OK}}}\r\n").as_bytes());
        }
        "pretty-printed" => line(&format!(
            "{{\n  \"jsonrpc\": \"2.0\",\n  \"id\": {id},\n  \"result\": {{\"content\": []}}\n}}"
        )),
        "two-messages-one-line" => line(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":"x"}}}}{{"jsonrpc":"2.0","id":{id},"result":{OK}}}"#
        )),
        "big-15mb" => reply(id, &text_result(&"x".repeat(15_000_000))),
        "big-50mb" => reply(id, &text_result(&"x".repeat(50_000_000))),
        _ => return false,
    }
    true
}

fn odd_envelope(mode: &str, id: &str) -> bool {
    match mode {
        "string-id" => reply(&format!("\"{}\"", id.trim_matches('"')), OK),
        "float-id" => reply(&format!("{id}.0"), OK),
        "null-id-error" => error("null", r#"{"code":-32700,"message":"Parse error"}"#),
        "result-and-error" => line(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{OK},"error":{{"code":1,"message":"x"}}}}"#
        )),
        "no-jsonrpc" => line(&format!(r#"{{"id":{id},"result":{OK}}}"#)),
        "wrong-jsonrpc" => line(&format!(r#"{{"jsonrpc":"1.0","id":{id},"result":{OK}}}"#)),
        "batch" => line(&format!(r#"[{{"jsonrpc":"2.0","id":{id},"result":{OK}}}]"#)),
        "dup-keys" => line(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}},"result":{OK}}}"#
        )),
        "error-string-code" => error(id, r#"{"code":"E_FAIL","message":"x"}"#),
        "error-without-message" => error(id, r#"{"code":-32000}"#),
        "dup-reply" => {
            reply(id, OK);
            reply(id, &text_result("SECOND"));
        }
        _ => return false,
    }
    true
}

fn odd_result(mode: &str, id: &str) -> bool {
    let result = match mode {
        "result-null" => "null".to_owned(),
        "result-string" => "\"done\"".to_owned(),
        "deep-nesting" => {
            let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
            format!(r#"{{"content":[],"structuredContent":{{"v":{deep}}}}}"#)
        }
        "big-number" => r#"{"content":[],"structuredContent":{"big":12345678901234567890123,"dec":0.1000000000000000055511151231257827}}"#.to_owned(),
        "huge-exponent" => r#"{"content":[],"structuredContent":{"v":1e400}}"#.to_owned(),
        "lone-surrogate" => text_result(r"cut in the middle of an emoji \ud83d"),
        "unknown-content-type" => {
            r#"{"content":[{"type":"text","text":"ok"},{"type":"video","uri":"x:1"}]}"#.to_owned()
        }
        "extra-fields" => r#"{"content":[{"type":"text","text":"ok","vendorField":1,"annotations":{"priority":0.5,"vendorHint":true}}],"vendorTop":{"a":1},"_meta":{"v/k":1}}"#.to_owned(),
        _ => return false,
    };
    reply(id, &result);
    true
}

/// What comes before a good answer.
fn before_answer(mode: &str, request: &Request<'_>) {
    match mode {
        "garbage-before-reply" => garbage(),
        "banner-without-newline" => out(b"loading model..."),
        "invalid-utf8-line" => out(b"\xff\xfe\x80 broken\n"),
        "endless-line-200mb" => endless_line(),
        "late-reply" => wait(Duration::from_millis(3500)),
        "unknown-id-first" => {
            reply("987654", &text_result("WRONG"));
            reply("\"zzz\"", &text_result("WRONG"));
        }
        "progress-order" => progress(request.field("progressToken").unwrap_or("0")),
        "json-log-lines" => json_log_lines(),
        "notification-flood" => notification_flood(),
        "request-flood" => request_flood(),
        _ => {}
    }
}

fn garbage() {
    line("DEBUG: handling tools/call {\"id\": 99}");
    for noise in ["", "[]", "42", "null", "\"text\"", "{}", "{\"jsonrpc\":\"2.0\"}"] {
        line(noise);
    }
}

fn endless_line() {
    let chunk = "x".repeat(1 << 20);
    out(b"{\"jsonrpc\":\"2.0\",\"id\":");
    for _ in 0..200 {
        out(chunk.as_bytes());
    }
    line("");
}

fn progress(token: &str) {
    for step in 1..=200 {
        line(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{step}}}}}"#
        ));
    }
}

/// A logger that prints JSON on standard output: well formed, but no JSON-RPC.
fn json_log_lines() {
    for time in 0..20_000 {
        line(&format!(r#"{{"level":30,"time":{time},"msg":"working"}}"#));
    }
}

/// 200,000 notifications, about 200 MB.
fn notification_flood() {
    let data = "x".repeat(900);
    let one = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":"{data}"}}}}"#
    );
    let block = format!("{one}\n").repeat(100);
    for _ in 0..2_000 {
        out(block.as_bytes());
    }
}

/// 200,000 requests to the client.
fn request_flood() {
    let text = "x".repeat(500);
    let one = |number: u32| {
        format!(
            r#"{{"jsonrpc":"2.0","id":"r{number}","method":"sampling/createMessage","params":{{"maxTokens":1,"messages":[{{"role":"user","content":{{"type":"text","text":"{text}"}}}}]}}}}"#
        )
    };
    for block in 0..1_000 {
        let lines: Vec<String> = (0..200).map(|i| one(block * 200 + i)).collect();
        line(&lines.join("\n"));
    }
}

fn text_result(text: &str) -> String {
    format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#)
}
