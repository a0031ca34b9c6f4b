//! The modern server over HTTP: POST only, mirrored headers required.

use super::Site;
use super::request::Request;
use super::response::Reply;
use crate::message::{Message, error};
use crate::modern;

pub(crate) struct Modern;

impl Site for Modern {
    fn answer(&self, request: &Request, reply: &mut Reply<'_>) {
        if request.method != "POST" {
            return reply.empty(405);
        }
        let Some(message) = request.message() else {
            return reply.json(400, &error("null", -32700, "Parse error"));
        };
        let Some(id) = message.id.as_deref() else { return reply.empty(202) };
        if message.method != "initialize"
            && let Some(complaint) = mismatch(request, &message)
        {
            return reply.json(400, &error(id, -32020, &complaint));
        }
        match modern::reply(&message) {
            Some(body) => reply.json(status(&body), &body),
            None => reply.empty(202),
        }
    }
}

/// The status that belongs to an error of the modern era.
fn status(body: &str) -> u16 {
    let code = Message::read(body.as_bytes()).map(|m| m.value["error"]["code"].clone());
    match code.as_ref().and_then(serde_json::Value::as_i64) {
        Some(-32601) => 404,
        Some(_) => 400,
        None => 200,
    }
}

/// Which header differs from the body, if any.
fn mismatch(request: &Request, message: &Message) -> Option<String> {
    let version = message.params["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
    let name = message.params["name"].as_str().or_else(|| message.params["uri"].as_str());
    let named = matches!(message.method.as_str(), "tools/call" | "prompts/get" | "resources/read");
    let wanted = [
        ("mcp-protocol-version", version),
        ("mcp-method", Some(message.method.as_str())),
        ("mcp-name", if named { name } else { None }),
    ];
    let wrong =
        wanted.iter().find(|(header, want)| want.is_some() && request.header(header) != *want);
    wrong.map(|(header, want)| {
        format!("header {header} is {:?}, not {want:?}", request.header(header))
    })
}
