//! The MCP server of `herm demo`: three tools over standard input and output.
//!
//! Plain and blocking: one line in, at most one line out, until the input ends.

use std::io::{self, BufRead, Read, Write};
use std::process::ExitCode;

use serde_json::{Value, json};

/// A message has no more bytes than this.
const MAX_LINE: u64 = 1 << 20;
/// Revisions that it speaks, newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Serves until standard input ends.
pub(crate) fn run() -> ExitCode {
    match serve(&mut io::stdin().lock(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE, // whoever started us is gone, and nobody reads why
    }
}

fn serve(input: &mut dyn BufRead, output: &mut dyn Write) -> io::Result<()> {
    let mut server = Server::default();
    loop {
        let mut line = Vec::new();
        if input.take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if let Some(answer) = server.answer(&line) {
            output.write_all(format!("{answer}\n").as_bytes())?;
            output.flush()?;
        }
    }
}

/// What it remembers between calls.
#[derive(Debug, Default)]
struct Server {
    calls: u64,
}

/// Code and message of a JSON-RPC error.
type Fault = (i64, String);

impl Server {
    /// The answer to one line; none to a notification.
    fn answer(&mut self, line: &[u8]) -> Option<Value> {
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            return Some(failed(&Value::Null, &(-32700, "no JSON".to_owned())));
        };
        let id = message.get("id")?;
        let method = message.get("method")?.as_str()?;
        Some(match self.result(method, message.get("params").unwrap_or(&Value::Null)) {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(fault) => failed(id, &fault),
        })
    }

    fn result(&mut self, method: &str, params: &Value) -> Result<Value, Fault> {
        match method {
            "initialize" => Ok(opened(params)),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({"tools": tools()})),
            "tools/call" => {
                let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
                self.call(name, params.get("arguments").unwrap_or(&Value::Null))
            }
            other => Err((-32601, format!("no such method: {other}"))),
        }
    }

    fn call(&mut self, name: &str, arguments: &Value) -> Result<Value, Fault> {
        self.calls += 1;
        Ok(match name {
            "add" => {
                let number = |key| arguments.get(key).and_then(Value::as_f64);
                match number("a").zip(number("b")) {
                    Some((a, b)) => text(&(a + b).to_string(), false),
                    None => text("`a` and `b` must be numbers", true),
                }
            }
            "greet" => match arguments.get("name").and_then(Value::as_str) {
                Some(name) => text(&format!("Hello, {name}!"), false),
                None => text("`name` must be a text", true),
            },
            "count" => text(&format!("{} calls since the start", self.calls), false),
            other => return Err((-32602, format!("Unknown tool: {other}"))),
        })
    }
}

fn failed(id: &Value, (code, message): &Fault) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

fn text(text: &str, is_error: bool) -> Value {
    json!({"content": [{"type": "text", "text": text}], "isError": is_error})
}

fn opened(params: &Value) -> Value {
    let asked = params.get("protocolVersion").and_then(Value::as_str);
    let version = asked.filter(|asked| VERSIONS.contains(asked)).unwrap_or(VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "herm-demo", "version": env!("CARGO_PKG_VERSION")},
    })
}

fn tools() -> Value {
    json!([
        {"name": "add", "description": "Add two numbers.", "annotations": {"readOnlyHint": true},
         "inputSchema": {"type": "object", "required": ["a", "b"], "properties": {
             "a": {"type": "number", "description": "The first"},
             "b": {"type": "number", "description": "The second"}}}},
        {"name": "greet", "description": "Greet somebody by name.",
         "annotations": {"readOnlyHint": true},
         "inputSchema": {"type": "object", "required": ["name"],
             "properties": {"name": {"type": "string", "description": "Whom"}}}},
        {"name": "count", "description": "Count the calls since this server was started.",
         "annotations": {"readOnlyHint": true},
         "inputSchema": {"type": "object", "properties": {}}},
    ])
}

#[cfg(test)]
mod tests {
    use super::serve;

    #[test]
    fn it_answers_requests_and_nothing_else() {
        let input = [
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":40}}}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"greet","arguments":{}}}"#,
            r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"count"}}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"server/discover"}"#,
            "junk",
        ];
        let mut output = Vec::new();
        serve(&mut input.join("\n").as_bytes(), &mut output).unwrap();
        let output = String::from_utf8(output).unwrap();
        insta::assert_snapshot!(output.replace(env!("CARGO_PKG_VERSION"), "VERSION"), @r#"
        {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"herm-demo","version":"VERSION"}}}
        {"jsonrpc":"2.0","id":"x","result":{"content":[{"type":"text","text":"42"}],"isError":false}}
        {"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"`name` must be a text"}],"isError":true}}
        {"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"3 calls since the start"}],"isError":false}}
        {"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"no such method: server/discover"}}
        {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no JSON"}}
        "#);
    }
}
