//! Misbehaviour in the handshake and in the list of tools.

use super::{error, line, out, reply};

const TOOL: &str = r#"{"name":"echo_0","description":"d","inputSchema":{"type":"object"}}"#;

pub(crate) fn initialize(mode: &str, id: &str) {
    match mode {
        "never-init" => return,
        "garbage-before-init" => {
            line("Starting server v1.2 on stdio ...");
            line("\u{1b}[33mwarn\u{1b}[0m deprecated");
            line("");
        }
        "notify-before-init" => {
            line(
                r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hi"}}"#,
            );
            line(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
            line(r#"{"jsonrpc":"2.0","method":"$/custom","params":{"x":1}}"#);
        }
        "request-before-init" => {
            line(r#"{"jsonrpc":"2.0","id":"s1","method":"roots/list"}"#);
            line(
                r#"{"jsonrpc":"2.0","id":"s2","method":"sampling/createMessage","params":{"maxTokens":1,"messages":[]}}"#,
            );
        }
        "ping-before-init" => line(r#"{"jsonrpc":"2.0","id":"p1","method":"ping"}"#),
        "legacy-only-init-error" => {
            return error(
                id,
                r#"{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2024-11-05"]}}"#,
            );
        }
        "bom" => out("\u{feff}".as_bytes()),
        _ => {}
    }
    let version = match mode {
        "version-from-future" => "2099-01-01",
        "version-old" => "2024-11-05",
        _ => "2025-11-25",
    };
    let capabilities = r#"{"tools":{"listChanged":true},"logging":{},"experimental":{"x":{}},"vendorCap":{"y":1}}"#;
    reply(
        id,
        &format!(
            r#"{{"protocolVersion":"{version}","capabilities":{capabilities},"serverInfo":{{"name":"hostile","version":"0"}}}}"#
        ),
    );
}

pub(crate) fn list(mode: &str, id: &str) {
    let tools = match mode {
        "bad-tool-in-list" => format!(
            r#"[{TOOL},{{"name":42,"inputSchema":{{"type":"object"}}}},{{"name":"ok2","inputSchema":{{"type":"object"}}}}]"#
        ),
        "bool-schema" => format!(
            r#"[{TOOL},{{"name":"b","inputSchema":{{"type":"object","properties":{{"any":true}},"additionalProperties":false}},"outputSchema":true}}]"#
        ),
        "no-schema" => format!(r#"[{TOOL},{{"name":"n"}}]"#),
        "null-description" => format!(
            r#"[{TOOL},{{"name":"n","description":null,"annotations":null,"inputSchema":{{"type":"object"}}}}]"#
        ),
        "extra-fields" => r#"[{"name":"echo_0","vendor":{"k":1},"securitySchemes":[{"type":"oauth2"}],"annotations":{"readOnlyHint":true,"vendorHint":"x"},"execution":{"taskSupport":"optional"},"inputSchema":{"type":"object"},"_meta":{"openai/widget":"w"}}]"#.to_owned(),
        _ => format!("[{TOOL}]"),
    };
    let cursor = match mode {
        "cursor-loop" => r#","nextCursor":"again""#,
        "empty-cursor" => r#","nextCursor":"""#,
        _ => "",
    };
    reply(id, &format!(r#"{{"tools":{tools}{cursor}}}"#));
}
