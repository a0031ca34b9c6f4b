//! Calls that take their time, at once with others.
//!
//! Tools: `echo`; `wait` answers after `ms`; `silent` never answers; `chatty` sends progress each
//! `every` ms (200 unless told), `count` times, then answers (with `token` at `next` or `text` under
//! a token that is not the call's); `die7` writes `db locked` to standard error and exits with 7.
//! `once` and `once_safe` (read-only) exit with 7 unless the file `mark` is there, which they make;
//! else they answer `twice`.
//! A cancelled `chatty` goes on all the same: three more words, and a late answer.

use std::io::Write;

use crate::message::{Message, result, text};
use crate::peer::{Peer, Turn};
use crate::standard;

const TOOLS: [&str; 7] = [
    standard::ECHO,
    r#"{"name":"wait","inputSchema":{"type":"object","properties":{"ms":{"type":"string"}}}}"#,
    r#"{"name":"silent","inputSchema":{"type":"object"}}"#,
    r#"{"name":"chatty","inputSchema":{"type":"object","properties":{"count":{"type":"string"}}}}"#,
    r#"{"name":"die7","inputSchema":{"type":"object"}}"#,
    r#"{"name":"once","inputSchema":{"type":"object"}}"#,
    r#"{"name":"once_safe","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#,
];
const TICK_MS: u64 = 20;
/// Progress goes out each so many ticks, unless the call says something else.
const WORD: u64 = 10;

/// A call that is not answered yet.
struct Open {
    id: String,
    /// Where its progress goes, if it sends any.
    token: Option<String>,
    said: u64,
    /// Ticks between two words of progress.
    word: u64,
    /// Ticks until its answer.
    left: u64,
}

pub(crate) fn run(peer: &mut Peer) -> u8 {
    let mut open: Vec<Open> = Vec::new();
    loop {
        match peer.turn(TICK_MS) {
            Turn::Message(message) if message.tool() == "die7" => {
                drop(writeln!(std::io::stderr().lock(), "db locked"));
                return 7;
            }
            Turn::Message(message) if message.tool().starts_with("once") => {
                if std::fs::File::create_new(message.argument("mark")).is_ok() {
                    return 7;
                }
                peer.send(&result(message.id.as_deref().unwrap_or("0"), &text("twice")));
            }
            Turn::Message(message) => take(peer, &message, &mut open),
            Turn::Nothing => open.retain_mut(|call| tick(peer, call)),
            Turn::End => return 0,
        }
    }
}

fn take(peer: &Peer, message: &Message, open: &mut Vec<Open>) {
    if message.method == "notifications/cancelled" {
        let id = message.params["requestId"].to_string();
        for call in open.iter_mut().filter(|call| call.id == id && call.token.is_some()) {
            call.left = call.left.min(3 * call.word);
        }
        return;
    }
    if let Some(id) = message.asks("tools/list") {
        return peer.send(&result(id, &standard::tools(&TOOLS)));
    }
    let Some(id) = message.asks("tools/call") else { return standard::answer(peer, message) };
    let number = |name: &str| message.argument(name).parse::<u64>().unwrap_or_default();
    let word = if message.argument("every").is_empty() { WORD } else { number("every") / TICK_MS };
    let word = word.max(1);
    let (token, left) = match message.tool() {
        "wait" => (None, number("ms") / TICK_MS),
        "chatty" => {
            let token = &message.params["_meta"]["progressToken"];
            let token = match message.argument("token") {
                "next" => (token.as_u64().unwrap_or_default() + 1).to_string(),
                "text" => format!(r#""{token}x""#),
                _ => token.to_string(),
            };
            (Some(token), number("count") * word)
        }
        "silent" => return,
        _ => return standard::answer(peer, message),
    };
    open.push(Open { id: id.to_owned(), token, said: 0, word, left });
}

/// False once the call is answered.
fn tick(peer: &Peer, call: &mut Open) -> bool {
    call.left = call.left.saturating_sub(1);
    if call.left == 0 {
        let said = if call.token.is_some() { "talked" } else { "waited" };
        peer.send(&result(&call.id, &text(said)));
        return false;
    }
    if let Some(token) = &call.token
        && call.left.is_multiple_of(call.word)
    {
        call.said += 1;
        let params = format!(r#"{{"progressToken":{token},"progress":{}}}"#, call.said);
        peer.send(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#
        ));
    }
    true
}
