//! The spellings of one message as an event stream.

use super::response::Reply;
use crate::pause;

pub(crate) const SPELLINGS: [&str; 13] = [
    "sse-lf",
    "sse-crlf",
    "sse-cr",
    "sse-split-crlf",
    "sse-comments",
    "sse-no-event",
    "sse-no-space",
    "sse-two-lines",
    "sse-bom",
    "sse-prime",
    "sse-unknown-field",
    "sse-notification",
    "sse-unfinished",
];
const LOG: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"busy"}}"#;

/// Writes `body` as a stream in this spelling, and closes.
pub(crate) fn write(reply: &mut Reply<'_>, spelling: &str, body: &str) {
    reply.stream(&[]);
    if spelling == "sse-split-crlf" {
        return split_in_line_ends(reply, body);
    }
    let plain = format!("event: message\ndata: {body}\n\n");
    let text = match spelling {
        "sse-crlf" => plain.replace('\n', "\r\n"),
        "sse-cr" => plain.replace('\n', "\r"),
        "sse-comments" => format!(": hb\n\n: hb\n{plain}: hb\n"),
        "sse-no-event" => format!("data: {body}\n\n"),
        "sse-no-space" => format!("event:message\ndata:{body}\n\n"),
        "sse-two-lines" => in_two_lines(body),
        "sse-bom" => format!("\u{feff}{plain}"),
        "sse-prime" => format!("id: 1\ndata: \n\n{plain}"),
        "sse-unknown-field" => format!("foo: 1\n{plain}"),
        "sse-notification" => format!("event: message\ndata: {LOG}\n\n{plain}"),
        "sse-unfinished" => format!("event: message\ndata: {body}\n"),
        _ => plain,
    };
    reply.raw(text.as_bytes());
}

/// A CR at the end of one packet, its LF at the start of the next.
fn split_in_line_ends(reply: &mut Reply<'_>, body: &str) {
    for piece in ["event: message\r", &format!("\ndata: {body}\r"), "\n\r", "\n"] {
        reply.raw(piece.as_bytes());
        pause(20);
    }
}

/// JSON may be cut where it has no text: after the first comma, which every message has behind its
/// version.
fn in_two_lines(body: &str) -> String {
    let (head, tail) = body.split_once(',').unwrap_or((body, ""));
    format!("event: message\ndata: {head},\ndata: {tail}\n\n")
}
