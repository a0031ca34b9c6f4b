//! B11 JSON-RPC manners: everything that a server may send unasked.
//!
//! Checks in the log: `ping-before-open`, `roots`, `unknown-request`, `ping-with-pending-id`.

use crate::message::{Message, error, result};
use crate::peer::Peer;
use crate::standard;

const PING_MS: u64 = 1000;
const PENDING_PING_MS: u64 = 500;

pub(crate) fn run(peer: &mut Peer) -> u8 {
    while let Some(message) = peer.next() {
        if let Some(id) = message.asks("initialize") {
            ping_first(peer);
            peer.send(&standard::initialize(&as_text(id), &message));
        } else if message.method == "notifications/initialized" {
            send_oddities(peer);
        } else if let Some(id) = message.asks("tools/call") {
            ping_with_its_id(peer, id);
            standard::answer(peer, &message);
        } else if message.is_response() {
            judge(peer, &message);
        } else {
            standard::answer(peer, &message);
        }
    }
    0
}

/// `1` as `"1"`; a text stays as it is.
fn as_text(id: &str) -> String {
    if id.starts_with('"') { id.to_owned() } else { format!("\"{id}\"") }
}

fn ping_first(peer: &mut Peer) {
    peer.send(r#"{"jsonrpc":"2.0","id":"srv-1","method":"ping"}"#);
    let answer = response(peer, r#""srv-1""#, PING_MS);
    let ok = answer.as_ref().is_some_and(|answer| answer.value["result"].is_object());
    peer.check("ping-before-open", ok, &format!("{answer:?}"));
}

fn send_oddities(peer: &Peer) {
    peer.send(&error("null", -32000, "for nobody"));
    peer.send(r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"no id"}}"#);
    peer.send(&result("99999", "{}"));
    peer.send(r#"{"jsonrpc":"2.0","method":"notifications/vendor/x","params":[1]}"#);
    peer.send(r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#);
    peer.send(r#"{"jsonrpc":"2.0","id":"7","method":"vendor/ask"}"#);
    let notice = r#"{"jsonrpc":"2.0","method":"notifications/vendor/y"}"#;
    peer.send(&format!("[{notice},{notice}]"));
}

fn ping_with_its_id(peer: &mut Peer, id: &str) {
    peer.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
    let answer = response(peer, id, PENDING_PING_MS);
    let ok = answer.as_ref().is_some_and(|answer| answer.value["result"].is_object());
    peer.check("ping-with-pending-id", ok, &format!("{answer:?}"));
}

/// The client's response with this id; what else comes meanwhile is dealt with.
fn response(peer: &mut Peer, id: &str, milliseconds: u64) -> Option<Message> {
    loop {
        let message = peer.next_within(milliseconds)?;
        if message.is_response() && message.id.as_deref() == Some(id) {
            return Some(message);
        }
        if message.is_response() {
            judge(peer, &message);
        } else {
            standard::answer(peer, &message);
        }
    }
}

fn judge(peer: &Peer, message: &Message) {
    let value = &message.value;
    let detail = value.to_string();
    match message.id.as_deref() {
        Some("7") => {
            let ok = value["result"].is_object() || value["error"].is_object();
            peer.check("roots", ok, &detail);
        }
        Some(r#""7""#) => {
            peer.check("unknown-request", value["error"]["code"] == -32601, &detail);
        }
        _ => peer.check("response-to-nothing", false, &detail),
    }
}
