//! The ordinary server that the scripts deviate from: a legacy handshake, one tool `echo`.

use serde_json::Value;

use crate::message::{Message, error, result, text};
use crate::peer::Peer;

pub(crate) const ECHO: &str =
    r#"{"name":"echo","inputSchema":{"type":"object","properties":{"s":{"type":"string"}}}}"#;
const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

pub(crate) fn run(peer: &mut Peer) -> u8 {
    while let Some(message) = peer.next() {
        answer(peer, &message);
    }
    0
}

/// Answers a request in the ordinary way; anything else is ignored.
pub(crate) fn answer(peer: &Peer, message: &Message) {
    if let Some(reply) = reply(message) {
        peer.send(&reply);
    }
}

pub(crate) fn reply(message: &Message) -> Option<String> {
    let id = message.id.as_deref()?;
    let reply = match message.method.as_str() {
        "" => return None,
        "initialize" => initialize(id, message),
        "tools/list" => result(id, &tools(&[ECHO])),
        "tools/call" => result(id, &text(message.argument("s"))),
        "ping" => result(id, "{}"),
        _ => error(id, -32601, "Method not found"),
    };
    Some(reply)
}

/// The reply to `initialize`, with `id` as its token.
pub(crate) fn initialize(id: &str, message: &Message) -> String {
    let asked = message.params["protocolVersion"].as_str().unwrap_or_default();
    let version = if VERSIONS.contains(&asked) { asked } else { "2025-06-18" };
    let version = Value::from(version);
    result(
        id,
        &format!(
            r#"{{"protocolVersion":{version},"capabilities":{{"tools":{{"listChanged":true}}}},"serverInfo":{{"name":"fake","version":"0"}}}}"#
        ),
    )
}

/// One page of tools without a cursor.
pub(crate) fn tools(tools: &[&str]) -> String {
    format!(r#"{{"tools":[{}]}}"#, tools.join(","))
}
