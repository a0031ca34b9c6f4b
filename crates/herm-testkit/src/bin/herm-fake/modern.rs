//! A server of the modern era only, over stdio and (through `http::modern`) over HTTP.
//!
//! Tools: `echo`; `ask`, which needs the elicitation `user_name` and carries a request state; and
//! `loop`, which asks again for ever.

use serde_json::{Value, json};

use crate::message::{Message, error, result};
use crate::peer::Peer;

const VERSION: &str = "2026-07-28";
/// Text that a careless client would re-escape, trim or parse.
const STATE: &str = " {\"n\": 1.50e1}\\/é\u{2028}== ";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

pub(crate) fn run(peer: &mut Peer) -> u8 {
    while let Some(message) = peer.next() {
        if let Some(reply) = reply(&message) {
            peer.send(&reply);
        }
    }
    0
}

/// The reply to a request; none to anything else.
pub(crate) fn reply(message: &Message) -> Option<String> {
    let id = message.id.as_deref()?;
    if message.method.is_empty() {
        return None;
    }
    let reply = match refusal(message) {
        Some((code, text, data)) => error_with(id, code, &text, &data),
        None => answer(id, message),
    };
    Some(reply)
}

/// What every modern request must carry.
fn refusal(message: &Message) -> Option<(i32, String, Value)> {
    let meta = &message.params["_meta"];
    let asked = if message.method == "initialize" {
        &message.params["protocolVersion"]
    } else {
        &meta[VERSION_KEY]
    };
    if message.method == "initialize" || (asked.is_string() && asked != VERSION) {
        let data = json!({"supported": [VERSION], "requested": asked});
        return Some((-32022, "Unsupported protocol version".to_owned(), data));
    }
    for key in [VERSION_KEY, CAPABILITIES] {
        if meta[key].is_null() {
            return Some((-32602, format!("missing `_meta` key {key}"), Value::Null));
        }
    }
    if message.tool() == "ask" && meta[CAPABILITIES].get("elicitation").is_none() {
        let data = json!({"requiredCapabilities": {"elicitation": {}}});
        return Some((-32021, "Missing required client capability".to_owned(), data));
    }
    None
}

fn answer(id: &str, message: &Message) -> String {
    match message.method.as_str() {
        "server/discover" => complete(
            id,
            json!({
                "supportedVersions": [VERSION], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "fake-modern", "version": "0"}},
            }),
        ),
        "tools/list" => {
            complete(id, json!({"tools": tools(), "ttlMs": 0, "cacheScope": "private"}))
        }
        "tools/call" => match message.tool() {
            "echo" => complete(id, text(message.argument("s"))),
            "ask" => ask(id, message),
            "loop" => ask_again(id, message),
            other => error(id, -32602, &format!("unknown tool {other}")),
        },
        other => error(id, -32601, &format!("no method {other}")),
    }
}

fn tools() -> Value {
    json!([
        {"name": "echo", "description": "Gives the text back", "inputSchema": {"type": "object", "properties": {"s": {"type": "string"}}}},
        {"name": "ask", "description": "Asks for a name first", "inputSchema": {"type": "object"}},
        {"name": "loop", "description": "Never has enough", "inputSchema": {"type": "object"}},
    ])
}

fn ask(id: &str, message: &Message) -> String {
    let answer = &message.params["inputResponses"]["user_name"];
    let state = &message.params["requestState"];
    if answer.is_null() {
        return asks(id, STATE);
    }
    if state != STATE {
        return error(id, -32602, &format!("requestState was changed to {state}"));
    }
    let said = match answer["action"].as_str() {
        Some("accept") => {
            format!("hello {}", answer["content"]["name"].as_str().unwrap_or("nobody"))
        }
        Some(action) => format!("no name: {action}"),
        None => format!("no action in {answer}"),
    };
    complete(id, text(&said))
}

/// Round after round, counted in the state.
fn ask_again(id: &str, message: &Message) -> String {
    let state = message.params["requestState"].as_str().unwrap_or("round 0");
    let round: u32 = state.trim_start_matches("round ").parse().unwrap_or_default();
    asks(id, &format!("round {}", round + 1))
}

fn asks(id: &str, state: &str) -> String {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string", "default": "Ada"}}, "required": ["name"]});
    let params = json!({"mode": "form", "message": "Your name?", "requestedSchema": schema});
    let asked = json!({
        "resultType": "input_required",
        "inputRequests": {"user_name": {"method": "elicitation/create", "params": params}},
        "requestState": state,
    });
    result(id, &asked.to_string())
}

fn complete(id: &str, mut value: Value) -> String {
    value["resultType"] = json!("complete");
    result(id, &value.to_string())
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn error_with(id: &str, code: i32, text: &str, data: &Value) -> String {
    let error = json!({"code": code, "message": text, "data": data});
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
}
