//! A legacy server that asks its client back in the middle of a call.
//!
//! Tool `ask` with `kind`: `elicitation` (default), `sampling` or `roots`. The answer is text: the
//! JSON that the client replied with, or why it was not asked.

use serde_json::Value;

use crate::message::{Message, result, text};
use crate::peer::Peer;
use crate::standard;

const TOOL: &str = r#"{"name":"ask","description":"Asks the client back","inputSchema":{"type":"object","properties":{"kind":{"type":"string","enum":["elicitation","sampling","roots"]}}}}"#;
const LIMIT_MS: u64 = 30_000;

pub(crate) fn run(peer: &mut Peer) -> u8 {
    let mut declared = Value::Null;
    while let Some(message) = peer.next() {
        if message.method == "initialize" {
            declared = message.params["capabilities"].clone();
        }
        if let Some(id) = message.asks("tools/list") {
            peer.send(&result(id, &standard::tools(&[TOOL, standard::ECHO])));
        } else if let Some(id) = message.asks("tools/call")
            && message.tool() == "ask"
        {
            let answer = ask(peer, message.argument("kind"), &declared);
            peer.send(&result(id, &text(&answer)));
        } else {
            standard::answer(peer, &message);
        }
    }
    0
}

fn ask(peer: &mut Peer, kind: &str, declared: &Value) -> String {
    let (capability, request) = match kind {
        "sampling" => (
            "sampling",
            r#""method":"sampling/createMessage","params":{"maxTokens":10,"messages":[{"role":"user","content":{"type":"text","text":"say hi"}}]}"#,
        ),
        "roots" => ("roots", r#""method":"roots/list""#),
        _ => (
            "elicitation",
            r#""method":"elicitation/create","params":{"message":"Your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","default":"Ada"}},"required":["name"]}}"#,
        ),
    };
    if declared.get(capability).is_none() {
        return format!("not asked: the client did not declare `{capability}`");
    }
    peer.send(&format!(r#"{{"jsonrpc":"2.0","id":"ask-1",{request}}}"#));
    wait(peer).map_or_else(|| "no answer".to_owned(), |answer| answer.to_string())
}

/// The client's response to `ask-1`: its result or error. Other traffic goes on meanwhile.
fn wait(peer: &mut Peer) -> Option<Value> {
    loop {
        let message: Message = peer.next_within(LIMIT_MS)?;
        if message.is_response() && message.id.as_deref() == Some(r#""ask-1""#) {
            let answer = message.value.get("result").or_else(|| message.value.get("error"));
            return answer.cloned();
        }
        standard::answer(peer, &message);
    }
}
