//! B17 Results and arguments: what a server answers passes as it wrote it.

use herm_host::{Kind, Request, Target};
use herm_testkit::fake_log;
use serde_json::Value;

use crate::support::{Case, result, text};

/// Tool, and its result to the byte.
const RAW: [(&str, &str); 13] = [
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
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_pass_byte_for_byte() {
    let case = Case::stdio("b17");
    for (tool, raw) in RAW {
        assert_eq!(case.call(tool, "{}").await.unwrap(), raw, "{tool}");
    }
    let many: Value = serde_json::from_str(&case.call("many-blocks", "{}").await.unwrap()).unwrap();
    assert_eq!(many["content"].as_array().unwrap().len(), 10_000);
    let image: Value = serde_json::from_str(&case.call("image", "{}").await.unwrap()).unwrap();
    let data = image["content"][0]["data"].as_str().unwrap();
    assert!(data.len() > (2 << 20) && data.starts_with("iVBORw0KGgo"), "{}", data.len());
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reserved_keys_of_meta_end_with_us_and_a_vendors_pass() {
    let case = Case::stdio("b17");
    assert_eq!(
        case.call("meta", "{}").await.unwrap(),
        r#"{"content":[{"type":"text","text":"ok"}],"_meta":{"vendor.example/key":1,"herm/cleaned":{"dropped":["io.modelcontextprotocol/made-up"]}}}"#
    );
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn result_over_the_cap_is_an_error_that_names_the_cap() {
    let case = Case::stdio("b17");
    let refused = case.call("text-30mib", "{}").await.unwrap_err();
    assert_eq!(refused.kind(), Kind::Protocol, "{refused}");
    let said = refused.to_string();
    assert!(said.contains("16777216 bytes") && said.contains("`max_message_bytes`"), "{said}");
    case.echo("the link goes on").await;
    assert_eq!(fake_log::spawns(&case.log), 1);
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arguments_are_an_object_even_if_absent() {
    let case = Case::stdio("b17");
    let target = Target::Tool(case.name.clone(), "args-none".to_owned());
    let sent = text(&result(case.host.call(Request::new(target)).await).unwrap());
    assert!(sent.contains(r#""arguments":{}"#), "{sent}");
    for arguments in ["[]", "7", "null"] {
        let refused = case.call("args-none", arguments).await.unwrap_err();
        assert_eq!(refused.kind(), Kind::Usage, "{arguments}: {refused}");
    }
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn null_is_sent_only_where_the_schema_allows_it() {
    let case = Case::stdio("b17");
    for (tool, sent) in
        [("args-strict", r#""arguments":{}"#), ("args-nullable", r#""arguments":{"s":null}"#)]
    {
        let params = text(&case.call(tool, r#"{"s":null}"#).await.unwrap());
        assert!(params.contains(sent), "{tool}: {params}");
    }
    case.end().await;
}
