//! B08 Dirty stdout: noise around messages, and messages in strange pieces.
//!
//! Calls in order of arrival: 1 and 2 are answered in reverse order in one write (a lone first one
//! after 500 ms, so that one caller alone can go through), 3 comes one byte a write, 4 is 5 MiB of
//! `big_text`, and every later one is ordinary. All others echo `s`.

use herm_testkit::big_text;

use crate::message::{Message, result, text};
use crate::peer::Peer;
use crate::{pause, standard};

const BIG: usize = 5 << 20;
const BOM: &str = "\u{feff}";
const ALONE_MS: u64 = 500;

pub(crate) fn run(peer: &mut Peer) -> u8 {
    peer.send_bytes(b"Starting\n\n{\"level\":\"info\"}\n42\nnull\n");
    let mut calls = 0;
    let mut unread = None;
    while let Some(message) = unread.take().or_else(|| peer.next()) {
        if let Some(id) = message.asks("initialize") {
            let reply = standard::initialize(id, &message);
            peer.send_bytes(format!("{BOM}{reply}\r\n").as_bytes());
        } else if let Some(id) = message.asks("tools/list") {
            list(peer, id);
        } else if message.asks("tools/call").is_some() {
            calls += 1;
            match calls {
                1 => {
                    let second = peer.next_within(ALONE_MS);
                    unread = two_in_reverse(peer, &message, second);
                    calls += usize::from(unread.is_none());
                }
                3 => byte_by_byte(peer, &message),
                4 => {
                    let id = message.id.unwrap_or_default();
                    peer.send(&result(&id, &text(&big_text(BIG))));
                    peer.send("[]");
                }
                _ => standard::answer(peer, &message),
            }
        } else {
            standard::answer(peer, &message);
        }
    }
    0
}

/// A line that is no UTF-8, then a list that is cut in the middle of a character.
fn list(peer: &Peer, id: &str) {
    peer.send_bytes(b"\xff\xfe\n");
    let tool = standard::ECHO.replacen('{', "{\"description\":\"grins \u{1f600}\",", 1);
    let reply = format!("{}\n", result(id, &standard::tools(&[&tool])));
    let middle = reply.find('\u{1f600}').unwrap_or_default() + 2;
    peer.send_bytes(&reply.as_bytes()[..middle]);
    pause(200);
    peer.send_bytes(&reply.as_bytes()[middle..]);
}

/// Answers both in one write, the later first. What came second but is no call is given back.
fn two_in_reverse(peer: &Peer, first: &Message, second: Option<Message>) -> Option<Message> {
    let first = standard::reply(first).unwrap_or_default();
    match second {
        Some(second) if second.asks("tools/call").is_some() => {
            let second = standard::reply(&second).unwrap_or_default();
            peer.send_bytes(format!("{second}\n{first}\n").as_bytes());
            None
        }
        other => {
            peer.send(&first);
            // A silent second place counts as used, or a single caller would never reach the third.
            other
        }
    }
}

fn byte_by_byte(peer: &Peer, message: &Message) {
    let reply = format!("{}\n", standard::reply(message).unwrap_or_default());
    for byte in reply.as_bytes() {
        peer.send_bytes(&[*byte]);
    }
}
