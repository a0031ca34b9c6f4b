//! B16 Schemas.

use std::collections::BTreeMap;
use std::time::Duration;

use herm_host::Phase;
use serde_json::Value;

use crate::support::{Case, text};

/// The good tool, and those whose schema means an object.
const LISTED: [&str; 17] = [
    "absent",
    "any-of",
    "bare-one-of-output",
    "echo",
    "empty",
    "integer",
    "null",
    "number-enum",
    "odd-names",
    "old-dialect",
    "property-true",
    "recursive",
    "ref-to-defs",
    "required-unknown",
    "tuple",
    "type-list",
    "wrong-types",
];
/// The others, and a part of the reason.
const HIDDEN: [(&str, &str); 4] = [
    ("big", "over the 1048576 allowed"),
    ("deep", "nested deeper than 128"),
    ("property-text", "is a text, not a schema"),
    ("root-string", "the schema is"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_schema_costs_its_own_tool_at_most() {
    let case = Case::stdio("b16");
    let probe = case.host.probe(&case.name).await;
    assert!(probe.failed.is_none(), "{probe:?}");
    let list = probe.phases.iter().find(|(phase, _)| *phase == Phase::List).unwrap().1;
    assert!(list < Duration::from_secs(2), "{list:?}");
    let listing = case.listing();
    assert_eq!(listing.known, 21);
    let hidden: BTreeMap<&str, &str> =
        listing.hidden.iter().map(|h| (h.tool.as_str(), h.reason.as_str())).collect();
    let mut listed = case.tools();
    listed.sort();
    assert_eq!(listed, LISTED, "hidden: {hidden:?}");
    assert_eq!(hidden.len(), HIDDEN.len(), "{hidden:?}");
    for (tool, why) in HIDDEN {
        assert!(hidden[tool].contains(why), "{tool}: {}", hidden[tool]);
        let refused = case.call(tool, "{}").await.unwrap_err();
        assert!(refused.hint().unwrap().contains(why), "{tool}: {:?}", refused.hint());
    }
    for tool in &listing.tools {
        let definition: Value = serde_json::from_str(tool.view.raw.get()).unwrap();
        let name = &tool.view.name;
        assert_eq!(definition["inputSchema"]["type"], "object", "{name}");
        let result = case.call(name, r#"{"s":"x"}"#).await.unwrap();
        let said = if name == "echo" { "x" } else { r#"{"s":"x"}"# };
        assert_eq!(text(&result), said, "{name}");
    }
    // What the server wrote beside the root is still there.
    let tool = |name: &str| listing.tools.iter().find(|tool| tool.view.name == name).unwrap();
    assert!(
        tool("any-of").view.raw.get().contains(r#""anyOf":[{"type":"object","properties":{"a""#)
    );
    assert!(tool("odd-names").view.raw.get().contains(r#""__proto__":{"type":"string"}"#));
    case.end().await;
}
