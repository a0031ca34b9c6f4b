//! B16 Schemas: one good tool `echo` and twenty with a schema that troubles some client. A call to
//! any of them answers with its arguments as text.

use crate::message::{result, text};
use crate::peer::Peer;
use crate::standard;

/// Name, and all that follows it in the tool's object.
const ODD: &[(&str, &str)] = &[
    ("empty", r#""inputSchema":{}"#),
    ("absent", r#""description":"no schema at all""#),
    ("null", r#""inputSchema":null"#),
    ("root-string", r#""inputSchema":"object""#),
    ("property-true", r#""inputSchema":{"type":"object","properties":{"a":true}}"#),
    ("property-text", r#""inputSchema":{"type":"object","properties":{"a":"object"}}"#),
    (
        "ref-to-defs",
        r##""inputSchema":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}"##,
    ),
    (
        "recursive",
        r##""inputSchema":{"type":"object","properties":{"child":{"$ref":"#"},"v":{"type":"string"}}}"##,
    ),
    (
        "any-of",
        r#""inputSchema":{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"number"}},"required":["b"]}]}"#,
    ),
    (
        "type-list",
        r#""inputSchema":{"type":"object","properties":{"a":{"type":["string","null"]}}}"#,
    ),
    ("integer", r#""inputSchema":{"type":"object","properties":{"a":{"type":"integer"}}}"#),
    (
        "number-enum",
        r#""inputSchema":{"type":"object","properties":{"a":{"type":"number","enum":[1,2.5,3]}}}"#,
    ),
    (
        "tuple",
        r#""inputSchema":{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"},{"type":"number"}]}}}"#,
    ),
    (
        "required-unknown",
        r#""inputSchema":{"type":"object","properties":{"a":{"type":"string"}},"required":["ghost"]}"#,
    ),
    (
        "old-dialect",
        r#""inputSchema":{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"type":"number","minimum":0,"exclusiveMinimum":true}}}"#,
    ),
    (
        "odd-names",
        r#""inputSchema":{"type":"object","properties":{"$ref":{"type":"string"},"type":{"type":"string"},"__proto__":{"type":"string"}}}"#,
    ),
    (
        "bare-one-of-output",
        r#""inputSchema":{"type":"object"},"outputSchema":{"oneOf":[{"type":"object"},{"type":"array"}]}"#,
    ),
    (
        "wrong-types",
        r#""description":null,"annotations":{"title":5,"readOnlyHint":"yes","destructiveHint":null},"inputSchema":{"type":"object"}"#,
    ),
];

pub(crate) fn run(peer: &mut Peer) -> u8 {
    while let Some(message) = peer.next() {
        if let Some(id) = message.asks("tools/list") {
            peer.send(&result(id, &list()));
        } else if let Some(id) = message.asks("tools/call")
            && message.tool() != "echo"
        {
            peer.send(&result(id, &text(&message.params["arguments"].to_string())));
        } else {
            standard::answer(peer, &message);
        }
    }
    0
}

fn list() -> String {
    let mut tools: Vec<String> =
        ODD.iter().map(|(name, rest)| format!(r#"{{"name":"{name}",{rest}}}"#)).collect();
    tools.push(deep(200));
    tools.push(big(2 << 20));
    // The good one in the middle: neither the first error nor the last may take it along.
    tools.insert(ODD.len() / 2, standard::ECHO.to_owned());
    let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
    standard::tools(&tools)
}

/// Objects in objects.
fn deep(levels: usize) -> String {
    let head = r#"{"type":"object","properties":{"a":"#.repeat(levels);
    let tail = "}}".repeat(levels);
    format!(r#"{{"name":"deep","inputSchema":{head}{{"type":"string"}}{tail}}}"#)
}

/// A long list of permitted values.
fn big(bytes: usize) -> String {
    let values: Vec<String> = (0..bytes / 16).map(|i| format!(r#""value-{i:07}""#)).collect();
    format!(
        r#"{{"name":"big","inputSchema":{{"type":"object","properties":{{"a":{{"enum":[{}]}}}}}}}}"#,
        values.join(",")
    )
}
