//! B17 Results and arguments: a tool for each shape of result, named after it, and three tools that
//! answer with the raw `params` of the call as text: `args-none`, `args-strict` (optional text `s`,
//! null forbidden) and `args-nullable` (null allowed).

use herm_testkit::big_text;

use crate::message::{Message, result, text};
use crate::peer::Peer;
use crate::standard;

/// Name and result.
const FIXED: &[(&str, &str)] = &[
    ("structure-only", r#"{"content":[],"structuredContent":{"answer":42}}"#),
    (
        "text-and-other-structure",
        r#"{"content":[{"type":"text","text":"ok"}],"structuredContent":{"answer":42}}"#,
    ),
    (
        "text-equals-structure",
        r#"{"content":[{"type":"text","text":"{\"answer\": 42}"}],"structuredContent":{"answer":42}}"#,
    ),
    ("is-error", r#"{"content":[{"type":"text","text":"disk full"}],"isError":true}"#),
    ("no-content", r#"{"structuredContent":{"answer":42}}"#),
    ("nothing", "{}"),
    ("audio", r#"{"content":[{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"}]}"#),
    (
        "embedded-text",
        r#"{"content":[{"type":"resource","resource":{"uri":"test://text","mimeType":"text/plain","text":"inside"}}]}"#,
    ),
    (
        "embedded-blob",
        r#"{"content":[{"type":"resource","resource":{"uri":"test://blob","mimeType":"application/octet-stream","blob":"AAEC/w=="}}]}"#,
    ),
    (
        "link",
        r#"{"content":[{"type":"resource_link","uri":"test://linked","name":"linked","mimeType":"text/plain"}]}"#,
    ),
    (
        "unknown-type",
        r#"{"content":[{"type":"x-new","payload":{"k":1}},{"type":"text","text":"ok"}]}"#,
    ),
    ("no-type", r#"{"content":[{"text":"no type"},{"type":"text","text":"ok"}]}"#),
    ("lone-surrogate", r#"{"content":[{"type":"text","text":"cut \ud83d here"}]}"#),
    (
        "meta",
        r#"{"content":[{"type":"text","text":"ok"}],"_meta":{"vendor.example/key":1,"io.modelcontextprotocol/made-up":2}}"#,
    ),
];

/// Tools whose result is made when it is asked for.
const MADE: [&str; 3] = ["image", "text-30mib", "many-blocks"];

pub(crate) fn run(peer: &mut Peer) -> u8 {
    while let Some(message) = peer.next() {
        if let Some(id) = message.asks("tools/list") {
            peer.send(&result(id, &list()));
        } else if let Some(id) = message.asks("tools/call") {
            peer.send(&result(id, &call(&message)));
        } else {
            standard::answer(peer, &message);
        }
    }
    0
}

fn list() -> String {
    let plain = FIXED.iter().map(|(name, _)| *name).chain(MADE).chain(["args-none"]);
    let mut tools: Vec<String> = plain
        .map(|name| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#))
        .collect();
    for (name, kind) in [("args-strict", r#""string""#), ("args-nullable", r#"["string","null"]"#)]
    {
        tools.push(format!(
            r#"{{"name":"{name}","inputSchema":{{"type":"object","properties":{{"s":{{"type":{kind}}}}}}}}}"#
        ));
    }
    tools.push(standard::ECHO.to_owned());
    let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
    standard::tools(&tools)
}

fn call(message: &Message) -> String {
    if let Some((_, result)) = FIXED.iter().find(|(name, _)| *name == message.tool()) {
        return (*result).to_owned();
    }
    match message.tool() {
        "image" => image(2 << 20),
        "text-30mib" => text(&big_text(30 << 20)),
        "many-blocks" => {
            let block = r#"{"type":"text","text":"block"}"#;
            format!(r#"{{"content":[{}]}}"#, vec![block; 10_000].join(","))
        }
        "echo" => text(message.argument("s")),
        _ => text(&message.raw_params),
    }
}

/// A picture of about that many bytes: the start of a PNG and zeros.
fn image(bytes: usize) -> String {
    let data = "A".repeat(bytes / 3 * 4);
    format!(
        r#"{{"content":[{{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo{data}A"}}]}}"#
    )
}
